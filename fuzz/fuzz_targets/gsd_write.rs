//! See `striae_fuzz::gsd_write`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_write);
