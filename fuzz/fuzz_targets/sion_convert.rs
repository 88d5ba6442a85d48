//! See `striae_fuzz::sion_convert`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::sion_convert(data));
