//! GSD files: open, find chunks, read their values, follow a writer; write.
//!
//! ```
//! use striae::gsd::{Builder, Chunk, ChunkType, File, Version};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.gsd");
//! let schema = Version { major: 1, minor: 0 };
//! let mut writer = Builder::new().application("example").schema("none", schema).create(&path)?;
//! writer.write("position", &[0.5_f32; 6], 3)?;
//! writer.end_frame()?;
//! writer.close()?;
//!
//! let file = File::open(&path)?;
//! let chunk: Chunk = file.chunk(0, "position")?;
//! assert_eq!((chunk.kind, chunk.n, chunk.m), (ChunkType::F32, 2, 3));
//! assert_eq!(file.header().schema_version, schema);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checked;
pub mod convert;
pub mod dump;
mod extract;
mod file;
pub mod hoomd;
pub mod recover;
mod select;
mod values;
pub mod verify;
mod window;
mod write;

pub use crate::error::gsd::ErrorKind;
pub use crate::store::{Durability, WriteOptions};
pub use crate::verb::Extracted;
pub use extract::Extract;
pub use file::{Chunks, File, OpenOptions};
pub use striae_core::gsd::{Chunk, ChunkType, Error, Head, Header, Label, State, Version};
pub use striae_hoomd::{Element, Name, NameList};
pub use striae_inspect::gsd::Stale;
pub use write::{Builder, ChunkWriter, FileOptions, FileWriter, Reopen};
