//! See `striae_fuzz::sion_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(sion_plain);
