//! See `striae_fuzz::gsd_verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::gsd_verify(data));
