//! See `striae_fuzz::sion_recover`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_recover);
