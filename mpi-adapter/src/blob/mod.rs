//! A blob set of E3SM-IO that all ranks write, or read.
//!
//! | type | is |
//! |---|---|
//! | [`Builder`] | how a set is made |
//! | [`Writer`] | a set that all ranks write, or append to |
//! | [`Set`] | a set that all ranks read |
//! | [`Convert`] | the canonical file of a set, made by all ranks |
//!
//! Each rank gives the requests of its own blob only. Sums and scans of their numbers give every
//! rank the places of all that it writes: its rows of the maps and its elements. So no rank has the
//! map of another, and nothing but a few numbers is sent. The set is that of
//! [`striae::blob::Builder`] for the same requests, byte for byte.
//!
//! The subfiles are made in a hidden folder. Rank 0 gives them their names after all ranks have
//! agreed that they are complete: until then, no file of the set has changed.

mod append;
mod builder;
mod convert;
mod lost;
mod plan;
mod set;
mod writer;

pub use builder::Builder;
pub use convert::{Convert, Converted};
pub use lost::Lost;
pub use set::{Part, Set};
pub use striae::blob::{Container, OpenOptions, Request};
pub use writer::Writer;

use crate::error::{Code, Failure};
use std::fmt;

/// An argument that no set can have.
fn refused(text: impl fmt::Display) -> Failure {
    Failure::new(Code::Refused, text)
}

/// A number that no file can have.
fn size() -> Failure {
    Failure::new(Code::Full, "the set would be larger than any file")
}

/// An error of striae's files.
fn of_striae(what: &str, error: &striae::Error) -> Failure {
    match error.kind() {
        striae::error::ErrorKind::Io(io) => {
            Failure::new(Code::of_io(io), format_args!("{what}: {error}"))
        }
        _ => refused(format_args!("{what}: {error}")),
    }
}
