//! Blob files of E3SM-IO, and the maps that they are written by.
//!
//! | module | holds |
//! |---|---|
//! | [`grammar`] | what the header of a subfile says |
//! | [`subfile`] | where the blobs and variables of a subfile are |
//! | [`sealed`] | the seal of a subfile, with which blobs are compared |
//! | [`mod@verify`] | checks a set, and reports everything that it finds |
//! | [`mod@map`] | decomposition maps |

mod before;
mod canonical;
mod container;
mod definition;
mod dump;
mod facts;
mod finding;
mod flaw;
mod fnv;
pub mod grammar;
mod header;
pub mod map;
mod regions;
pub mod sealed;
pub mod subfile;
mod sums;
mod tables;
pub mod verdict;
pub mod verify;

pub use definition::{Compared, Definition};
pub use dump::dump;
pub use facts::{flaw_facts, table_facts};
pub use finding::{FindingKind, Of, SetFinding};
pub use flaw::Flaw;
pub use grammar::Grammar;
pub use header::{Dimids, encode};
pub use regions::map;
pub use sealed::Sealed;
pub use subfile::{Container, Subfile};
pub use verdict::{Jury, Verdict};
pub use verify::{Summary, verify};

use crate::cdf;
