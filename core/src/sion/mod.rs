//! SIONlib files: the task-local streams of a parallel program in one or a few shared files.
//!
//! A physical file starts with META1: the number of tasks and the chunksize of each task. Blocks
//! follow; each block holds one chunk of every task. META2 follows the last block and says how many
//! bytes of each chunk are used. A task's stream is the used part of its chunks, in order. The
//! whole format is in `spec/sion.md`.
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures as they are stored |
//! | | [`error`], [`filename`] | errors; names of the files of a set |
//! | | [`layout`] | where everything is: numbers in, spans out |
//! | | [`position`] | stream position to (chunk, offset) and back |
//! | disk | [`meta1`], [`meta2`], [`mapping`] | checked views of the metadata |
//! | | [`varheader`] | the lengths and the place of META2, mapping and seal |
//! | | [`filegroups`] | the file of each task, in a set and in its buddy sets |
//! | verdict | [`seal`] | checksums of metadata and chunks |
//! | | [`verdict`] | whether a seal is whole, and whether its file matches it |
//! | read | [`open`], [`locate`] | machines: open a physical file, find one task |
//! | | [`tasks`], [`lengths`] | lists of tasks, lengths of a task's chunks |
//! | | [`stream`] | a task's bytes as `embedded_io::Read + Seek` |
//! | | [`keyval`] | key-value records in a stream |
//! | | [`reader`], [`set`] | read a physical file ([`Physical`]) or a set ([`Reader`]) |
//! | recover | [`recover`] | recover streams of unclosed and damaged files |
//! | write | [`chunksizes`], [`groups`] | chunk sizes and collector groups, as SIONlib chooses them |
//! | | [`cursor`], [`tables`] | where a task writes next; META2 as it is written |
//! | | [`pen`] | a writer's state of a task |
//! | | [`visible`] | make META2 visible |
//! | | [`book`] | a writer's state of a physical file |
//! | | [`create`] | create a file |
//! | | [`publish`] | carry out a [`Book`]'s plan: commit, close, enter a block |
//! | | [`writer`] | write a physical file ([`Writer`]) |
//! | | [`fixed`] | write one whose tasks are known when a program is compiled ([`FixedWriter`]) |
//!
//! These are the files of SIONlib 1.x, with fileformat_version 2 to 5. SIONlib 2 has another
//! layout; its files are refused.

mod disk;
pub mod error;
pub mod filename;
mod kind;
pub mod layout;
pub mod position;
pub mod raw;
mod read;
pub mod recover;
pub mod verdict;
mod write;

pub use disk::{filegroups, mapping, meta1, meta2, varheader};
pub use read::{keyval, lengths, locate, open, reader, set, stream, tasks};
pub use verdict::seal;
pub use write::{
    book, chunksizes, create, cursor, fixed, groups, pen, publish, tables, visible, writer,
};

pub use book::Book;
pub use chunksizes::ChunkRule;
pub use disk::head::Head;
#[cfg(feature = "async")]
pub use error::AsyncError;
pub use error::{Error, ReadError, WriteError};
pub use filegroups::{BuddySet, EvenFiles, FileGroups};
pub use fixed::{FixedWriter, Shape};
pub use groups::{Group, Grouping, Request};
pub use keyval::{Record, Records};
pub use layout::{Blocks, Chunks, Layout};
pub use locate::Task;
pub use meta1::{Attributes, FormatVersion, KeyvalMode, Meta1};
pub use meta2::Meta2;
pub use pen::{Finished, Pen};
pub use read::find_seal::FindSeal;
pub use read::physical::{Physical, Unclosed};
pub use read::sealed::SealState;
pub use reader::{Opened, TASKS_WINDOW};
pub use seal::Seal;
pub use set::{Reader, check_set};
pub use stream::{Spans, Stream};
pub use tasks::Listed;
pub use varheader::{Varheader, VarheaderShape};
pub use writer::{Memory, Options, Writer};
