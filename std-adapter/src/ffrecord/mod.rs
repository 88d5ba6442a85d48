//! ffrecord files: opens, lists, reads and checks samples; writes, packs, extracts, verifies.
//!
//! ```
//! use striae::ffrecord::{Builder, File};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("train.ffr");
//! let mut writer = Builder::new().create(&path)?;
//! for sample in [&b"first"[..], b"", b"third"] {
//!     writer.write(sample)?;
//! }
//! writer.finish()?; // until here there is no file of that name
//!
//! let file = File::open(&path)?;
//! assert_eq!(file.n(), 3);
//! assert_eq!(file.read_checked(2)?, b"third");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dump;
mod extract;
mod file;
mod pack;
mod recognize;
mod tables;
pub mod verify;
mod write;

pub use crate::crc32::crc32;
pub use crate::error::ffrecord::ErrorKind;
pub use crate::store::Durability;
pub use crate::verb::Extracted;
pub use extract::Extract;
pub use file::{File, Samples};
pub use pack::Pack;
pub use striae_core::ffrecord::{Error, Head, Sample};
pub use write::{Builder, Writer, Written};

pub(crate) use recognize::is_ffrecord;
