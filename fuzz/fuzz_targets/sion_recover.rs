//! See `striae_fuzz::sion_recover`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::sion_recover(data));
