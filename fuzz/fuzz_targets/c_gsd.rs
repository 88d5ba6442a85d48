//! See `striae_fuzz::c_gsd`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(c_gsd);
