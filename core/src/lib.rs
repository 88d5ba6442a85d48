//! The file formats of striae: where every byte is, without any input or output.
//!
//! striae reads and writes published file formats that put many streams into few files. This crate
//! holds what all of its adapters share: structures as they are stored, checked views of them,
//! offset arithmetic, and the order of the steps that open or write a file. It opens nothing,
//! allocates nothing, logs nothing and has no clock; it builds for a Cortex-M as well as for a
//! cluster node.
//!
//! # The layers, from the bytes up
//!
//! | layer | modules | what it does |
//! |---|---|---|
//! | foundation | [`endian`], [`span`], [`field`] | stored integers, byte ranges, the specification's tables |
//! | integrity | [`integrity`] | checksums |
//! | moving bytes | [`store`], [`step`] | stores that read and write by offset; machines and drivers |
//! | following pointers | [`source`] | parsers that are called again when bytes are missing |
//! | devices | `align` | plans of aligned reads and writes |
//! | formats | `sion`, `gsd`, `ffrecord`, `cdf`, `hdf5`, `blob` | a folder each, with like modules |
//!
//! Inside a format, `raw` holds the structures of the specification. The views (`meta1`, ...) check
//! bytes and give access to them. `layout` turns numbers into [`span::Span`]s. Most callers want
//! the `Reader` of a format, and `sion::Writer`, `gsd::Logger` or `cdf::Writer`.
//!
//! ffrecord has no writer here, and of HDF5 `Container` writes only what surrounds a subfile's
//! header and blobs. `blob` has neither reader nor writer: it has the places of elements, the
//! machines that find blobs, and what every writer of a set computes. The package `striae-inspect`
//! joins the header of a subfile with the tables of its blobs (`blob::subfile`); the package
//! `striae` writes ffrecord, and reads and writes sets of blob files.
//!
//! # Reading is machines, writing is text
//!
//! What reads and judges is a machine: it says which bytes it wants, and is fed with them. So it
//! runs over a slice, a card, an asynchronous store, the ranks of a job, or a web server.
//!
//! ```text
//! loop {
//!     match open.poll() {
//!         ReadStep::Read { offset, need, .. } => open.feed(&fetch(offset, need))?,
//!         ReadStep::Done(head) => return Ok(head),
//!     }
//! }
//! ```
//!
//! What writes is text, whose lines are in the order of the steps on the disk. It is written once,
//! under `#[twin]`, which makes the blocking function of the asynchronous one:
//!
//! ```text
//! async fn replace_header(&mut self, shadow: &Shadow) -> Result<(), Failed<S::Error>> {
//!     self.disk.write(offset, shadow.as_bytes()).await?;
//!     self.disk.sync().await?;
//!     self.tail.is_torn = true; // from here on the header may be the new one
//!     self.disk.show(&shadow.new).await?;
//!     self.disk.sync().await?;
//!     self.tail.is_torn = false;
//!     Ok(())
//! }
//! ```
//!
//! `core/examples/both_forms.rs` does both for a format of its own.
//!
//! # Example
//!
#![cfg_attr(feature = "sion", doc = "```")]
#![cfg_attr(not(feature = "sion"), doc = "```ignore")]
//! use striae_core::sion::{Opened, Physical};
//!
//! # const FILE: &[u8] = include_bytes!("../doc/s01_one_task.sion");
//! let mut window = [0; 2048]; // the only memory that opening and searching may use
//! let Opened::Closed(file) = Physical::open(FILE, &mut window)? else { panic!("not closed") };
//! let task = file.task(0, &mut window)?;
//! let mut stream = file.stream(task);
//! let mut first = [0; 4];
//! stream.read(&mut first)?;
//! assert_eq!(first, [11, 18, 25, 32]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Asynchronous code
//!
//! With the feature `async`, functions that read or write a store have an asynchronous twin:
//! `open_async`, `write_async`, `drive_read_async`, ... The stores are `AsyncReadAt` and
//! `AsyncWriteAt` in [`store`]. Dropping a future before it is ready counts as a failed call: the
//! file is as the last commit left it, and the caller can go on. These have no twin:
//!
//! | blocking only | instead |
//! |---|---|
//! | `cdf::Reader::{dims, attrs, variables}` | `cdf::Scan` by `drive_read_async`: all of a header |
//! | `hdf5::Reader::{links, attributes}` | `hdf5::Links`, `hdf5::Attributes` in a `source::Restart` |
//! | `sion::Stream::spans` | `next_span_async`, again and again |
//! | `embedded_io`'s `Read` and `Seek` of streams | their own `read_async` and `seek_to` |
//! | `blob::map::Table`, `sion::seal::checksum_of`, `sion::recover` | |
//!
#![cfg_attr(all(feature = "sion", feature = "async"), doc = "```")]
#![cfg_attr(not(all(feature = "sion", feature = "async")), doc = "```ignore")]
//! use striae_core::sion::writer::WINDOW;
//! use striae_core::sion::{AsyncError, Attributes, Finished, Memory, Options, Pen, Writer};
//! use striae_core::store::AsyncWriteAt;
//!
//! /// In a firmware this is an `#[embassy_executor::task]`, `Receiver` that of an `embassy_sync`
//! /// channel that an interrupt sends to, and `card` a `SeekStore` of a file on a card.
//! async fn log<S: AsyncWriteAt>(card: S, samples: Receiver) -> Result<S, AsyncError<S>> {
//!     let (mut pens, mut ledger) = ([Pen::EMPTY; 1], [Finished::EMPTY; 4]);
//!     let mut window = [0; WINDOW];
//!     let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
//!     let (attributes, tasks) = (Attributes::default(), &[(0, 4096)][..]);
//!     let options = Options { sealed: true, ..Options::default() };
//!     let mut log =
//!         Writer::create_async(card, &attributes, b"log", tasks, memory, options).await?;
//!     while let Some(sample) = samples.receive().await {
//!         log.write_record_async(0, &sample).await?;
//!         log.commit_async().await?; // from here on, whatever happens, this sample can be read
//!     }
//!     log.close_async().await?;
//!     Ok(log.into_store())
//! }
//! # use std::task::{Context, Poll, Waker};
//! # use striae_core::sion::{Opened, Physical};
//! # use striae_core::store::{FixedSize, ReadAt, Ready, WriteAt};
//! # struct Receiver(std::cell::Cell<u8>);
//! # impl Receiver {
//! #     async fn receive(&self) -> Option<[u8; 2]> {
//! #         self.0.set(self.0.get() + 1);
//! #         (self.0.get() < 5).then_some([self.0.get(); 2])
//! #     }
//! # }
//! # #[derive(Default)]
//! # struct Card(Vec<u8>);
//! # impl ReadAt for Card {
//! #     type Error = FixedSize;
//! #     fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
//! #         self.0.as_slice().read_at(offset, buf)
//! #     }
//! #     fn size(&self) -> Result<u64, FixedSize> { self.0.as_slice().size() }
//! # }
//! # impl WriteAt for Card {
//! #     fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
//! #         let end = offset as usize + bytes.len();
//! #         self.0.resize(self.0.len().max(end), 0);
//! #         self.0[offset as usize..end].copy_from_slice(bytes);
//! #         Ok(())
//! #     }
//! #     fn set_size(&mut self, n: u64) -> Result<(), FixedSize> { Ok(self.0.resize(n as usize, 0)) }
//! #     fn sync(&mut self) -> Result<(), FixedSize> { Ok(()) }
//! # }
//! # let log = std::pin::pin!(log(Ready(Card::default()), Receiver(0.into())));
//! # let Poll::Ready(card) = log.poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
//! # let mut window = [0; WINDOW];
//! # let Opened::Closed(file) = Physical::open(card?.0, &mut window)? else { panic!() };
//! # let mut bytes = [0; 8];
//! # file.stream(file.task(0, &mut window)?).read_all(&mut bytes)?;
//! # assert_eq!(bytes, [1, 1, 2, 2, 3, 3, 4, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Promises
//!
//! - `#![no_std]`, no allocation, `#![forbid(unsafe_code)]`.
//! - A file may hold any bytes: the result is a correct reading or a typed error, never a panic. No
//!   work and no memory is proportional to a number that the file only claims.
//! - Errors name the field, its offset and its value.
//!
//! # Features
//!
//! `sion`, `gsd`, `ffrecord`, `cdf`, `blob` and `align` (all default): SIONlib, GSD, ffrecord and
//! classic netCDF files, blob files of E3SM-IO with the HDF5 of their subfiles, and aligned reading
//! and writing. `async`: asynchronous stores, readers and writers, and `embedded_io_async`.
//! `defmt`: `defmt::Format` for errors and small types. Features only add.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(target_pointer_width = "16")]
compile_error!("striae-core needs addresses of at least 32 bits");

#[cfg(test)]
extern crate std;

// The packages whose types and traits are in the interfaces here.
#[cfg(feature = "defmt")]
pub use defmt;
pub use embedded_io;
#[cfg(feature = "async")]
pub use embedded_io_async;
pub use zerocopy;

pub mod endian;
pub mod error;
pub mod field;
pub mod integrity;
pub mod source;
pub mod span;
pub mod step;
pub mod store;

#[cfg(feature = "gsd")]
mod exact;
#[cfg(any(feature = "gsd", feature = "blob", feature = "align"))]
mod sort;
mod words;

#[cfg(feature = "align")]
pub mod align;
#[cfg(feature = "blob")]
pub mod blob;
#[cfg(feature = "cdf")]
pub mod cdf;
#[cfg(feature = "ffrecord")]
pub mod ffrecord;
#[cfg(feature = "gsd")]
pub mod gsd;
#[cfg(feature = "blob")]
pub mod hdf5;
#[cfg(feature = "sion")]
pub mod sion;

/// The examples of the README run.
#[cfg(all(doctest, feature = "gsd"))]
#[doc = include_str!("../README.md")]
struct Readme;
