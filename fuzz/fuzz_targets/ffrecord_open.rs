//! See `striae_fuzz::ffrecord_open`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(ffrecord_open);
