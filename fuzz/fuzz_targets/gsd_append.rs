//! See `striae_fuzz::gsd_append`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(gsd_append);
