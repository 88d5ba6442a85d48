//! Blob files of E3SM-IO: reads and writes decomposed arrays in any number of subfiles, and the
//! maps that they are written by.
//!
//! ```
//! use striae::blob::Set;
//! use striae::cdf::Region;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/blob_h1.h5");
//! let set = Set::open(path)?; // path.0000, path.0001, ...
//! let variable = set.variable("U")?;
//! let all: Vec<f64> = set.read(variable)?;
//!
//! let region = Region { start: &[0, 0, 1], count: &[1, variable.shape()[1], 1], stride: None };
//! let column: Vec<f64> = set.read_region(variable, region)?;
//! assert_eq!(column[0], all[1]);
//! assert!(set.is_whole()); // no subfile is missing or damaged
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod canonical;
mod convert;
mod demand;
pub mod dump;
mod extract;
pub mod map;
mod names;
mod pack;
mod plan;
mod read;
pub mod recover;
mod runs;
mod set;
mod subfile;
mod tasks;
pub mod verify;

pub use crate::error::blob::ErrorKind;
pub use crate::error::build::BuildError;
pub use builder::old::{OldSet, OldSubfile, OldVariable};
pub use builder::{Builder, Rank, SetOptions, Writer};
pub use convert::{Convert, Converted, Pieces};
pub use extract::Extract;
pub use map::Map;
pub use pack::Pack;
pub use set::{Decomposition, Lost, OpenOptions, Set};
pub use striae_core::blob::Error;
pub use striae_core::blob::map::Request;
pub use striae_inspect::blob::{Container, Flaw};

pub use names::subfiles_of;

pub(crate) use names::first_subfile;
pub(crate) use subfile::{HDF5_MAGIC, is_blob};

use striae_inspect::blob::{Definition, grammar};
