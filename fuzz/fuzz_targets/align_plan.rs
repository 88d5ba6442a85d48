//! See `striae_fuzz::align_plan`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::align_plan(data));
