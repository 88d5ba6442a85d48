//! See `striae_fuzz::gsd_recover`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::gsd_recover(data));
