//! See `striae_fuzz::blob_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(blob_open);
