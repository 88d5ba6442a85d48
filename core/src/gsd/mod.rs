//! GSD files: frames of named chunks; each commit survives a crash of the writer (`spec/gsd.md`).
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures as they are stored |
//! | | [`kind`], [`element`] | versions, types of values |
//! | | [`error`], [`layout`] | errors; blocks and lengths: numbers in, spans out |
//! | disk | [`header`], [`chunk`], [`names`] | header and versions, chunks, the name list |
//! | | [`record`], [`shadow`] | the commit record; whether it is valid, and the commit after it |
//! | | [`checksums`] | checksums of a frame |
//! | verdict | [`verdict`] | the judgement of a file, which opening and inspecting share |
//! | | [`check_entry`] | the judgement of an index entry |
//! | read | [`open`], [`find`] | machines: open a file, find a chunk |
//! | | [`entries`] | lists of chunks |
//! | | [`reader`] | read a file ([`Reader`]) |
//! | | [`name_table`] | names by their bytes |
//! | write | [`create`], [`book`] | create a file; what a writer knows, and its steps in a store |
//! | | [`writer`], [`stream`] | write a file ([`Writer`]), write a chunk in pieces |
//! | | [`logger`] | a writer for devices ([`Logger`]) |
//! | | [`fixed`] | a smaller one, of names known when a program is compiled ([`FixedLogger`]) |
//!
//! These are the file layers 1.0, 2.0 and 2.1, which gsd 1.0 to 5.0 write; layer 0.3 is read as gsd
//! reads it.

mod disk;
pub mod element;
pub mod error;
pub mod kind;
pub mod layout;
pub mod raw;
mod read;
pub mod verdict;
mod write;

pub use disk::{checksums, chunk, header, names, record, shadow};
pub use read::{entries, find, name_table, open, reader};
pub use verdict::check_entry;
pub use write::{book, create, fixed, logger, stream, writer};

pub use checksums::Checksums;
pub use chunk::Chunk;
pub use create::Attributes;
pub use element::Element;
pub use entries::Chunks;
#[cfg(feature = "async")]
pub use error::AsyncError;
pub use error::{Error, ReadError, WriteError};
pub use fixed::{FixedLogger, OwnLogger, Shape};
pub use header::{Header, Label, Version};
pub use kind::ChunkType;
pub use logger::Logger;
pub use name_table::{NamePlace, NameTable};
pub use read::names::Names;
pub use reader::Reader;
pub use record::Record;
pub use stream::ChunkWriter;
pub use verdict::{Basis, Head, State};
pub use writer::{Slot, Writer};
