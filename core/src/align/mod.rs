//! Plans of reads and writes with the alignment that a device requires (`spec/align.md`).
//!
//! Direct input and output bypasses the page cache and accepts only offsets, lengths and addresses
//! that are multiples of the device's alignment. A caller that has [`Span`]s (a task's bytes, rows
//! of a chunk, a sample) gets the aligned reads, and the part of each read that it asked for. This
//! module only computes; adapters do the reading.
//!
//! | module | holds |
//! |---|---|
//! | [`rules`] | the alignment of a device |
//! | [`plan`] | many requests: the reads that serve all of them |
//! | [`split`] | one request: head, body and tail; the body can go straight to the caller's memory |
//! | [`write`](mod@write) | one write: blocks at its ends that are read first or padded, and the file's length after it |
//! | [`error`] | errors |
//!
//! ```
//! use striae_core::align::{Alignment, Plan, Rules, Run};
//! use striae_core::span::Span;
//!
//! // A file of 10 000 bytes on a disk of 512-byte sectors.
//! let rules = Rules::new(Alignment::of(512), 10_000)?;
//! let samples = [Span::new(9_000, 1_000).unwrap(), Span::new(700, 50).unwrap()];
//! let mut memory = [Run::EMPTY; 2];
//! let plan = Plan::new(&samples, rules, &mut memory)?;
//!
//! let reads: Vec<_> = plan.reads().map(|read| (read.span.offset(), read.span.len())).collect();
//! assert_eq!(reads, [(512, 512), (8_704, 1_536)]);
//! let parts: Vec<_> = plan.parts(samples[0]).unwrap().collect();
//! assert_eq!((parts[0].read, parts[0].skip, parts[0].len), (1, 296, 1_000));
//! # Ok::<(), striae_core::align::Error>(())
//! ```
//!
//! [`Span`]: crate::span::Span

pub mod error;
pub mod plan;
pub mod rules;
pub mod split;
pub mod write;

pub use error::Error;
pub use plan::{Part, Plan, Read, Rest, Run};
pub use rules::{Alignment, Rules};
pub use split::Split;
pub use write::{Edge, Write};
