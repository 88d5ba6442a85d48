//! See `striae_fuzz::cdf_open`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::cdf_open(data));
