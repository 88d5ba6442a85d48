//! See `striae_fuzz::sion_verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::sion_verify(data));
