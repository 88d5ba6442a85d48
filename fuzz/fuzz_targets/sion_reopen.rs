//! See `striae_fuzz::sion_reopen`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::sion_reopen(data));
