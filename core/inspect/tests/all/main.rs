//! Files in memory, whole and damaged: what is verified, recovered and dumped of them.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests: a panic fails them, and figures are for people"
)]

mod blob;
mod cdf;
mod cdf_padding;
mod cdf_recover;
mod edges;
mod gsd;
mod gsd_entries;
mod gsd_places;
mod holes;
mod map;
mod requests;
mod sion;
