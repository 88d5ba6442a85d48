//! See `striae_fuzz::map_text`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::map_text(data));
