//! See `striae_fuzz::blob_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(blob_plain);
