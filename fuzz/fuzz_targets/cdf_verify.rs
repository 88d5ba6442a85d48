//! See `striae_fuzz::cdf_verify`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(cdf_verify);
