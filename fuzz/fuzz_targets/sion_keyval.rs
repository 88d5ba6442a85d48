//! See `striae_fuzz::sion_keyval`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_keyval);
