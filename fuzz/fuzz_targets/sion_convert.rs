//! See `striae_fuzz::sion_convert`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(striae_fuzz::sion_convert);
