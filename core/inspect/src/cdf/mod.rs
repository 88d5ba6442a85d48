//! Classic netCDF files.
//!
//! | module | holds |
//! |---|---|
//! | [`header`] | a header in memory |
//! | [`values`] | values of every type, and their byte order |

pub mod header;
mod map;
pub mod values;

pub use header::{Attribute, Dimension, Header, Variable};
pub use map::map;
pub use values::{Element, OwnedValues};
