//! See `striae_fuzz::gsd_verify`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_verify);
