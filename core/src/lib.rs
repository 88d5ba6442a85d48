//! Where every byte is: the formats of striae, without any input or output.
//!
//! striae reads and writes published ways of putting many streams into few files. This crate holds
//! what all of its adapters share: on-disk structures, checked readings of them, offset
//! mathematics, and the order of steps in which a file is opened. It opens nothing, allocates
//! nothing, logs nothing and knows no clock; it builds for a Cortex-M as for a cluster node.
//!
//! # The layers, from the bytes up
//!
//! | layer | modules | what it does |
//! |---|---|---|
//! | foundation | [`endian`], [`span`], [`field`] | stored integers, byte ranges, the specification's tables |
//! | integrity | [`integrity`] | checksums |
//! | moving bytes | [`store`], [`step`] | positional stores; machines that say what they want next |
//! | devices | `align` | reads and writes that are aligned, for whoever has spans |
//! | formats | `sion`, `gsd`, `ffrecord` | one folder a format, the same kinds of module in each |
//!
//! Inside a format, `raw` holds the structures of the specification, the views (`meta1`, ...) are
//! checked readings of bytes, `layout` turns numbers into [`span::Span`]s, the machines (`open`,
//! ...) are work in several steps, and `reader` is what most callers want.
//!
//! # Example
//!
#![cfg_attr(feature = "sion", doc = "```")]
#![cfg_attr(not(feature = "sion"), doc = "```ignore")]
//! use embedded_io::Read;
//! use striae_core::sion::{Opened, Physical};
//!
//! # const FILE: &[u8] = include_bytes!("../../tests/golden/sion/s01_one_task.sion");
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
//! # Promises
//!
//! - `#![no_std]`, no allocation, `#![forbid(unsafe_code)]`.
//! - A file may hold any bytes: the answer is a correct reading or a typed error, never a panic,
//!   and no work or memory is proportional to a number that the file merely claims.
//! - Errors name the field, its offset and its value.
//!
//! # Features
//!
//! `sion`, `gsd`, `ffrecord`, `align` (default): SIONlib, GSD and ffrecord files, aligned reading and writing. `defmt`: `defmt::Format` for errors and small types.
//! Features only add.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
extern crate std;

pub mod endian;
pub mod field;
pub mod integrity;
pub mod span;
pub mod step;
pub mod store;

#[cfg(any(feature = "gsd", feature = "align"))]
mod sort;

#[cfg(feature = "align")]
pub mod align;
#[cfg(feature = "ffrecord")]
pub mod ffrecord;
#[cfg(feature = "gsd")]
pub mod gsd;
#[cfg(feature = "sion")]
pub mod sion;
