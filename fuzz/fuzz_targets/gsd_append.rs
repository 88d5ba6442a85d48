//! See `striae_fuzz::gsd_append`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::gsd_append(data));
