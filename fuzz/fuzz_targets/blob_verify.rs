//! See `striae_fuzz::blob_verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::blob_verify(data));
