//! Classic netCDF files.
//!
//! | module | holds |
//! |---|---|
//! | [`header`] | a header in memory |
//! | `items` | its dimensions, attributes and variables |
//! | `records` | the records that a file has |
//! | [`recover`] | saves what is left of a damaged file |
//! | [`values`] | values of every type, and their byte order |

mod dump;
mod finding;
pub mod header;
mod items;
mod map;
mod records;
pub mod recover;
#[cfg(feature = "blob")]
mod twin;
pub mod values;
mod verify;

pub use dump::dump;
#[cfg(feature = "blob")]
pub(crate) use dump::each_line;
pub use finding::{FindingKind, error_facts};
pub use header::Header;
pub use items::{Attribute, Dimension, Variable};
#[cfg(feature = "blob")]
pub(crate) use map::Variables;
pub use map::map;
pub use values::{Element, OwnedValues};
#[cfg(feature = "blob")]
pub(crate) use verify::verify_header;
pub use verify::{Summary, verify};
