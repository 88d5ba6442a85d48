//! What tests of several of striae's crates share, and its fuzz targets.
//!
//! Whoever uses it is an integration test or another crate: in the unit tests of core, core would
//! be two crates, whose types differ.
#![forbid(unsafe_code)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "part of tests: a panic fails them, and names say what there is"
)]

// Golden files, and files that are made byte by byte.
pub mod cdf_defined;
pub mod golden_sets;
pub mod gsd_files;
pub mod gsd_stock;
pub mod piled;
pub mod sion_file;
#[cfg(feature = "hoomd")]
pub mod wanted;

// Laws of all that is read.
pub mod aligned;
pub mod cdf_opening;
#[cfg(feature = "inspect")]
pub mod cdf_verifying;
pub mod cdf_writing;
pub mod everything;
pub mod ffrecord_opening;
pub mod gsd_everything;
pub mod hdf5_opening;
pub mod history;
#[cfg(feature = "inspect")]
pub mod map_making;
pub mod map_texts;

// Where files are, and what happens to them there.
#[cfg(feature = "adapter")]
pub mod adapter;
pub mod bay;
pub mod far;
pub mod growing;
pub mod hosts;
pub mod power;
#[cfg(feature = "waiting")]
pub mod waiting;
