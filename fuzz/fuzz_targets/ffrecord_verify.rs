//! See `striae_fuzz::ffrecord_verify`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(ffrecord_verify);
