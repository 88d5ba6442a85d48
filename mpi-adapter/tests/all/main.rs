//! Ranks that are threads, one program of tests. Ranks that are processes are the program `mpi`,
//! whose root is beside this one since they share `common`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests: a panic fails them"
)]

mod blob;
mod blob_append;
mod blob_convert;
mod blob_read;
mod collect;
mod collective;
mod common;
mod differ;
mod direct;
mod directory;
mod disks;
mod faults;
mod frames;
mod gsd;
mod gsd_and_blob;
mod gsd_power;
mod set;
mod sion;
mod sion_buddies;
mod sion_grouped;
mod sion_locks;
mod sion_mapped;
mod sion_merged;
mod sion_outside;
mod sion_placed;
mod sion_read;
mod sion_reopen;
mod sion_rounds;
mod sion_rules;
mod sion_set;
mod sion_set_power;
mod sion_survive;
mod world;

/// So many random inputs; no seeds are stored.
fn config(cases: u32) -> proptest::prelude::ProptestConfig {
    proptest::prelude::ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}
