//! Laws of core, one program: formats read and written, whole, cut and hostile.
//!
//! What is here needs nothing but core and `tests/kit`, so that it also runs on big-endian and
//! 32-bit hosts.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests: a panic fails them, and figures are for people"
)]

mod align;
mod blob;
mod block_store;
mod cdf;
mod edges;
mod edges_blob;
mod edges_cdf;
mod edges_gsd;
mod edges_sion;
mod edges_stores;
mod ffrecord;
mod golden;
mod gsd_check_entry;
mod gsd_element;
mod gsd_golden;
mod gsd_hostile;
mod gsd_judge;
mod gsd_loggers;
mod gsd_names;
mod gsd_stock;
mod gsd_upgrade;
mod gsd_writer;
mod hdf5;
mod hostile;
mod layout_laws;
mod limits;
mod recover;
mod requests;
mod requests_of_sets;
mod sion_book;
mod sion_fixed;
mod source;
mod stores;
mod traces;
mod versions;
mod wear;
mod writer;
mod writer_layout;

use proptest::prelude::ProptestConfig;
use striae_kit::hosts;

/// So many random inputs, and on a slow host a quarter of them. No seeds are stored, so that the
/// tests run where there is no file system.
fn config(cases: u32) -> ProptestConfig {
    let cases = if hosts::is_slow() { cases / 4 } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
