//! SIONlib files: the task-local streams of a parallel program in one or a few shared files.
//!
//! A physical file starts with META1, which says how many tasks there are and how large a chunk
//! each of them has; then come blocks, each with one chunk for every task; behind them META2 says
//! how much of each chunk is used. A task's stream is the used part of its chunks, one after
//! another. The whole format is in `spec/sion.md`.
//!
//! | module | holds |
//! |---|---|
//! | [`raw`] | the structures as they stand in the file |
//! | [`meta1`], [`meta2`], [`mapping`] | checked readings of them |
//! | [`layout`] | where everything is: numbers in, spans out |
//! | [`varheader`] | META2 and what stands behind it: how much it is, and in its place |
//! | [`position`] | stream position to (chunk, offset) and back |
//! | [`open`], [`locate`] | machines: open a physical file, find one task |
//! | [`reader`], [`set`] | a [`Physical`] file, a set of them ([`Reader`]) |
//! | [`tasks`], [`lengths`] | lists of tasks, lengths of a task's chunks |
//! | [`stream`] | a task's bytes as `embedded_io::Read + Seek` |
//! | [`keyval`] | key-value records in a stream |
//! | [`filename`] | names of the files of a set |
//! | [`chunksizes`], [`groups`] | chunk sizes and collector groups as SIONlib's writers choose them |
//! | [`filegroups`] | which task is in which file of a set, and of its buddy sets |
//! | [`book`] | what a writer knows of a physical file |
//! | [`cursor`], [`pen`] | where a task writes next, what a writer knows of a task |
//! | [`create`], [`tables`], [`visible`] | machines: make a physical file, write META2, make it visible |
//! | [`publish`] | the machine that does what a Book says: commit, close, enter a block |
//! | [`writer`] | a physical file that is written ([`Writer`]) |
//! | [`seal`] | checksums of metadata and chunks |
//! | [`verdict`] | what a seal is, and what it says of its file |
//! | [`recover`] | what is left of unclosed and damaged files |
//!
//! Written by SIONlib 1.x, fileformat_version 2 to 5. The layout of SIONlib 2 is another format and
//! is refused.

pub mod book;
pub mod chunksizes;
pub mod create;
pub mod cursor;
pub mod error;
pub mod filegroups;
pub mod filename;
pub mod groups;
pub mod keyval;
pub mod layout;
pub mod lengths;
pub mod locate;
pub mod mapping;
pub mod meta1;
pub mod meta2;
pub mod open;
pub mod pen;
pub mod position;
pub mod publish;
pub mod raw;
pub mod reader;
pub mod recover;
pub mod seal;
pub mod set;
pub mod stream;
pub mod tables;
pub mod tasks;
pub mod varheader;
pub mod verdict;
pub mod visible;
pub mod writer;

pub use book::Book;
pub use chunksizes::ChunkRule;
pub use error::Error;
pub use filegroups::{BuddySet, EvenFiles, FileGroups};
pub use groups::{Group, Grouping, Request};
pub use keyval::{Record, Records};
pub use layout::{Blocks, Chunks, Layout};
pub use locate::Task;
pub use meta1::{Attributes, FormatVersion, KeyvalMode, Meta1};
pub use meta2::Meta2;
pub use open::Head;
pub use pen::{Finished, Pen};
pub use reader::{Opened, Physical, TASKS_WINDOW, Unclosed};
pub use seal::{Seal, SealState};
pub use set::{Reader, check_set};
pub use stream::{Spans, Stream};
pub use tasks::Listed;
pub use varheader::{Varheader, VarheaderShape};
pub use writer::{Memory, Options, Writer};

/// Why reading from a store `S` failed: the store, the file, or the caller's buffer.
pub type ReadError<S> = crate::step::DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why reading from an asynchronous store `S`, or writing to it, failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = crate::step::DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
