//! See `striae_fuzz::hoomd_read`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::hoomd_read(data));
