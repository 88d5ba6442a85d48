//! See `striae_fuzz::sion_keyval`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::sion_keyval(data));
