//! See `striae_fuzz::blob_verify`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(blob_verify);
