//! See `striae_fuzz::cdf_write`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(cdf_write);
