//! See `striae_fuzz::hdf5_open`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| striae_fuzz::hdf5_open(data));
