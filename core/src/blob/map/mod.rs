//! Decomposition maps: which elements of an array each process has (`spec/blob.md#maps`).
//!
//! | module | holds |
//! |---|---|
//! | [`text`] | the text files of PIO, `.dat`, one decomposition each |
//! | [`table`] | the netCDF files of E3SM-IO, all decompositions of a case |
//! | [`check`] | requests outside of the array, overlaps and holes |
//! | [`error`] | errors |
//!
//! A map gives each process, a *rank*, a list of [`Request`]s. E3SM-IO writes the elements of a
//! rank in the order of its list, after [`sort_and_merge`] unless it got the option `-q`.

pub mod check;
pub mod error;
mod grid;
pub mod table;
pub mod text;

pub use check::{Fault, Faults};
pub use error::{Error, Flaw};
pub use grid::{Grid, Join, Request, sort_and_merge};
pub use table::{Place, Ranks, Rule, Table};
pub use text::{Event, Parser};
