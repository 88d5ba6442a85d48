//! Reading past the page cache, aligned by the library (`spec/align.md`).
//!
//! Whoever has spans (a task's bytes, rows of a chunk, a sample) asks for them; what the device
//! needs aligned is planned by [`striae_core::align`]. Results are slices of pooled buffers,
//! without a copy.
//!
//! # Rungs
//! How a file is read depends on what the kernel and the file system let be done: by io_uring, by
//! Linux AIO, by threads, or through the page cache. A [`DirectFile`] begins at the highest
//! [`Rung`] that it may, steps down at every refusal, and says where it stands
//! ([`DirectFile::rung`]) and why ([`DirectFile::steps`]; a line of the log). Where AIO does not
//! read asynchronously, as on tmpfs, a line of the log says that, too.
//!
//! ```
//! use striae::direct::{DirectFile, Order};
//! use striae_core::span::Span;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/gsd/v21_sparse_chunks.gsd");
//! let file = DirectFile::open(path)?;
//! // Of any length, at any offset.
//! let spans = [Span::new(0, 4).unwrap(), Span::new(1, 2).unwrap()];
//! let batch = file.read_spans(&spans)?; // all at once
//! assert_eq!(batch.get(1), Some(&[0x65, 0xDF][..]));
//!
//! let mut stream = file.stream(spans, Order::Asked)?; // one after another, in bounded memory
//! while let Some(piece) = stream.next_piece()? {
//!     assert_eq!(Some(piece.bytes), batch.get(piece.request as usize));
//! }
//! # Ok::<(), striae::Error>(())
//! ```
//!
//! # What it is not good for
//! What is read again and again is faster through the page cache, which [`Policy::Off`] uses.
//! Before Linux 5.19, a process that has reads under way must not fork (open(2), notes on
//! O_DIRECT).

mod aio;
mod batch;
mod copying;
mod device;
mod engine;
mod file;
mod handles;
mod lane;
mod memory;
#[cfg(test)]
mod miri;
#[cfg(test)]
mod model;
mod options;
mod queue;
mod ring;
mod standing;
mod stream;
#[cfg(test)]
mod tests;
mod workers;
mod writer;

pub use batch::Batch;
pub(crate) use copying::{DirectCopy, To};
pub use file::DirectFile;
pub use options::OpenOptions;
pub use standing::{Policy, Rung, Step};
pub use stream::{Order, Piece, Stream};
pub use striae_core::align::Alignment;
pub use writer::Writer;
