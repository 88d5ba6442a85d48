//! See `striae_fuzz::hoomd_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(hoomd_plain);
