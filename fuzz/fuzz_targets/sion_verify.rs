//! See `striae_fuzz::sion_verify`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_verify);
