//! See `striae_fuzz::hoomd_read`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(hoomd_read);
