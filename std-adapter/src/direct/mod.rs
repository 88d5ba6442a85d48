//! Reading past the page cache, aligned by the library (`spec/align.md`).
//!
//! Whoever has spans (a task's bytes, rows of a chunk, a sample) asks for them; what the device needs
//! aligned is planned by [`striae_core::align`]. Results are slices of pooled buffers, without a copy.
//!
//! # Rungs
//! How a file is read depends on what the kernel and the file system let be done. A [`DirectFile`] begins
//! at the highest [`Rung`] that it may, steps down at every refusal, and says where it stands and why.
//!
//! ```
//! use striae::direct::DirectFile;
//! use striae_core::span::Span;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/gsd/v21_sparse_chunks.gsd");
//! let file = DirectFile::open(path)?;
//! let batch = file.read_spans(&[Span::new(0, 4).unwrap(), Span::new(8, 8).unwrap()])?;
//! assert_eq!(batch.get(0), Some(&[0xDF, 0x65, 0xDF, 0x65][..]));
//! # Ok::<(), striae::Error>(())
//! ```

mod batch;
mod copying;
mod device;
mod engine;
mod file;
mod handles;
mod lane;
mod memory;
mod options;
mod ring;
mod standing;
mod stream;
#[cfg(test)]
mod tests;
mod workers;

pub use batch::Batch;
pub(crate) use copying::{DirectCopy, To};
pub use file::DirectFile;
pub use options::OpenOptions;
pub use standing::{Policy, Rung, Step};
pub use stream::{Order, Piece, Stream};
