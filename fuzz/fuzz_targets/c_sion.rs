//! See `striae_fuzz::c_sion`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::c_sion(data));
