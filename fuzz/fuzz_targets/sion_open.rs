//! See `striae_fuzz::sion_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_open);
