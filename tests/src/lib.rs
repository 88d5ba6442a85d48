//! Checks that need more than one of striae's crates: see `tests/`.

/// The first page's examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
