//! Checks that need more than one of striae's crates; `tests/run` runs them and all others.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests: a panic fails them, and figures are for people"
)]

mod asynchronous;
mod blank;
mod fuzz_mutate;
mod fuzz_replay;
mod limits;
mod power_cut;
mod power_cut_blob;
mod power_cut_cdf;
mod power_cut_gsd;
mod reached;
mod reached_errors;
mod rooms;
mod sion_dump;
mod sion_verify;
mod spec_tables;
mod style;
mod swapped;
