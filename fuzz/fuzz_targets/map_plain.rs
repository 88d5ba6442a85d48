//! See `striae_fuzz::map_plain`.
#![cfg_attr(feature = "libfuzzer", no_main)]
striae_fuzz::target!(map_plain);
