//! Errors of GSD files.

use super::Party;
use crate::finding::Finding;
use crate::shown::Shown;
use std::io;
use striae_core::gsd::{ChunkType, Error};
use striae_core::texts;
use striae_inspect::gsd::FindingKind;

texts! {
    /// What is wrong with a GSD file, besides the errors of all files.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// The file is no GSD file or is damaged, or the caller asked for something that it lacks.
    Format(error: Error) => "{error}";
    /// The file is damaged: the first finding of a check.
    Damaged(finding: Box<Finding<FindingKind>>) => "{}", finding.what;
    /// A chunk is damaged, or lacks what the caller asked for.
    Chunk { frame: u64, name: Box<[u8]>, error: Error } =>
        "chunk {} of frame {frame}: {error}", Shown::new(name);
    /// A frame has no chunk of the name.
    NoChunk { frame: u64, name: Box<[u8]> } => "frame {frame} has no chunk {}", Shown::new(name);
    /// No chunk of the file has the name, or a name that starts with it.
    NoName {
        /// The name, or the start of names.
        name: Box<[u8]>,
    } => "no chunk has the name {}", Shown::new(name);
    /// The values of a chunk have another type than the caller asked for.
    NotOfType {
        frame: u64,
        name: Box<[u8]>,
        /// The type of the values.
        kind: ChunkType,
        /// The type that the caller asked for.
        asked: ChunkType,
    } => "chunk {} of frame {frame} is of type {kind}, not {asked}", Shown::new(name);
    /// The bytes of a chunk of text are not UTF-8.
    NotText {
        frame: u64,
        name: Box<[u8]>,
        /// Offset in the chunk of the first byte that is not UTF-8.
        at: u64,
    } => "chunk {} of frame {frame} is no UTF-8 text at its byte {at}", Shown::new(name);
    /// The file does not follow the schema `hoomd`, or a chunk or frame does not.
    Hoomd(error: striae_hoomd::Error) => "{error}";
}

impl ErrorKind {
    pub(crate) const fn party(&self) -> Party {
        match self {
            Self::Format(error) | Self::Chunk { error, .. } => Party::of(error.blames_caller()),
            Self::Hoomd(error) => Party::of(error.blames_caller()),
            Self::Damaged(_)
            | Self::NoChunk { .. }
            | Self::NoName { .. }
            | Self::NotText { .. } => Party::File,
            Self::NotOfType { .. } => Party::Argument,
        }
    }

    pub(crate) const fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Format(error) | Self::Chunk { error, .. } if error.blames_caller() => {
                io::ErrorKind::InvalidInput
            }
            Self::Hoomd(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            Self::NotOfType { .. } => io::ErrorKind::InvalidInput,
            Self::Format(_) | Self::Chunk { .. } | Self::Hoomd(_) => io::ErrorKind::InvalidData,
            Self::Damaged(_) | Self::NotText { .. } => io::ErrorKind::InvalidData,
            Self::NoChunk { .. } | Self::NoName { .. } => io::ErrorKind::NotFound,
        }
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

impl From<striae_hoomd::Error> for ErrorKind {
    fn from(error: striae_hoomd::Error) -> Self {
        Self::Hoomd(error)
    }
}
