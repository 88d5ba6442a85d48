//! See `striae_fuzz::align_plan`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(align_plan);
