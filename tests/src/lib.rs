//! Checks that need more than one of striae's crates; they are in `tests/tests`, and `tests/run`
//! runs them and all others. What they share is here.
#![forbid(unsafe_code)]

pub mod power;
pub mod waiting;
