//! See `striae_fuzz::ffrecord_open`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::ffrecord_open(data));
