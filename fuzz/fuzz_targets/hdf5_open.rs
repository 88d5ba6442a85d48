//! See `striae_fuzz::hdf5_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(hdf5_open);
