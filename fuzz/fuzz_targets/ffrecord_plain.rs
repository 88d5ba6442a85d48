//! See `striae_fuzz::ffrecord_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(ffrecord_plain);
