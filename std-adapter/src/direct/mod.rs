//! Reading past the page cache, aligned by the library (`spec/align.md`).
//!
//! A caller asks for spans of any alignment (the bytes of a task, rows of a chunk, a sample), and
//! [`striae_core::align`] plans the aligned reads that the device needs. Results are slices of
//! pooled buffers, without a copy.
//!
//! # Rungs
//! How a file is read depends on what the kernel and the file system allow: io_uring, Linux AIO,
//! threads, or the page cache. A [`DirectFile`] begins at the highest allowed [`Rung`] and steps
//! down at every refusal. [`DirectFile::rung`] is the present rung, and [`DirectFile::steps`] and
//! the log have the reasons. If AIO does not read asynchronously, as on tmpfs, the log says so.
//!
//! ```
//! use striae::direct::{DirectFile, Order};
//! use striae_core::span::Span;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/v21_sparse_chunks.gsd");
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
//! # Limits
//! Data that are read again and again are faster through the page cache, which [`Policy::Off`]
//! uses.
//!
//! Each caller at a time has a ring, which pins the memory that it registers with io_uring: 32 MiB
//! at most, or as much as a stream may have ([`OpenOptions::memory`]) if that is more. It counts
//! for `ulimit -l`. What a [`Batch`] has given back may be pinned until the next read with its
//! ring, or until the file is dropped.
//!
//! A process must not fork while direct reads are under way, with any kernel: that "can result in
//! data corruption" (open(2), notes on O_DIRECT). Only memory that is registered with io_uring is
//! safe from it, and not all memory is registered. A dropped [`Stream`] may leave reads under way;
//! the drop of the [`DirectFile`] waits for them. A child of fork(2) must not read with a
//! [`DirectFile`] of its parent, whose ring it shares. If the parent has one thread, the child may
//! drop it.

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
pub(crate) use copying::{Destination, DirectCopy};
pub use file::DirectFile;
pub use options::OpenOptions;
pub use standing::{Policy, Rung, Step};
pub use stream::{Order, Piece, Stream};
pub use striae_core::align::Alignment;
pub use writer::Writer;
