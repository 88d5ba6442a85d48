//! See `striae_fuzz::c_sion`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(c_sion);
