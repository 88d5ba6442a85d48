//! Classic netCDF files (CDF-1, CDF-2, CDF-5): opens, lists, reads variables and regions of them,
//! writes.
//!
//! ```
//! use striae::cdf::{File, Region};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/cdf1_onerec_short.nc");
//! let file = File::open(path)?;
//! let variable = file.variable("r")?;
//! assert_eq!(variable.shape(), [4, 3]); // 4 records of 3 values
//! let all: Vec<i16> = file.read(variable)?;
//! assert_eq!(all, (0..12).collect::<Vec<_>>());
//!
//! let region = Region { start: &[2, 0], count: &[2, 2], stride: None };
//! let mut values = [0; 4];
//! file.read_into(variable, region, &mut values)?;
//! assert_eq!(values, [6_i16, 7, 9, 10]);
//! # Ok::<(), striae::Error>(())
//! ```

pub(crate) mod demand;
pub mod dump;
pub(crate) mod extract;
mod file;
pub mod recover;
mod runs;
pub mod verify;
mod writer;

pub use crate::error::cdf::ErrorKind;
pub use crate::store::Durability;
pub use crate::verb::Extracted;
pub use extract::Extract;
pub use file::{File, OpenOptions, whole};
pub use striae_core::cdf::{
    Alignment, AttrDef, Define, Definition, DimDef, Error, Fill, Flaw, Head, Layout, Region, Slab,
    Type, Values, VarDef, Version,
};
pub use striae_inspect::cdf::{Attribute, Dimension, Element, Header, OwnedValues, Variable};
pub use writer::{Builder, Writer};
