//! See `striae_fuzz::map_text`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(map_text);
