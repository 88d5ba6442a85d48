//! See `striae_fuzz::ffrecord_verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::ffrecord_verify(data));
