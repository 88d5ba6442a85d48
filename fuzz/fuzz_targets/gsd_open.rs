//! See `striae_fuzz::gsd_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_open);
