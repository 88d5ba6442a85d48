//! See `striae_fuzz::sion_set`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_set);
