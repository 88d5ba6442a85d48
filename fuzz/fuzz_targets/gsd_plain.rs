//! See `striae_fuzz::gsd_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_plain);
