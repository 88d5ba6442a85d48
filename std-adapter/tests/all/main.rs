//! striae's library and program on real files, one program of tests.
//!
//! Limits, signals and filters are those of a process: where a test needs one, it runs this program
//! once more as a child (`striae_kit::adapter`). `tests/direct` is a program of its own.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests: a panic fails them, and figures are for people"
)]

mod address;
mod bench;
mod blob;
mod blob_append;
mod blob_buffer;
mod blob_live;
mod blob_map;
mod blob_map_made;
mod blob_sealed;
mod blob_text_map;
mod blob_written;
mod cdf;
mod cdf_write;
mod direct_verbs;
mod direct_write;
mod ffrecord;
mod gsd;
mod gsd_hoomd;
mod gsd_repair;
mod gsd_write;
mod library;
mod posix;
mod program;
mod recognized;
mod recorded;
mod recover;
mod run;
mod signals;
mod sion_ahead;
mod write;

/// A folder for many small files: in memory if the system has a place there, since a sync of a
/// disk takes longer than all else that these tests do.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
