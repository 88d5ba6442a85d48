//! See `striae_fuzz::cdf_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(cdf_plain);
