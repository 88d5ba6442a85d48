//! See `striae_fuzz::cdf_verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::cdf_verify(data));
