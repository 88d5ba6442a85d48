//! See `striae_fuzz::c_gsd`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::c_gsd(data));
