//! See `striae_fuzz::gsd_recover`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_recover);
