//! See `striae_fuzz::sion_write`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_write);
