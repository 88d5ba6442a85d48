//! See `striae_fuzz::cdf_write`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::cdf_write(data));
