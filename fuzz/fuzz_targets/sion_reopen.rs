//! See `striae_fuzz::sion_reopen`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_reopen);
