//! See `striae_fuzz::cdf_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(cdf_open);
