//! See `striae_fuzz::sion_convert`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_convert);
