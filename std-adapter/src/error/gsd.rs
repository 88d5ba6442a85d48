//! Errors of GSD files.

use super::Party;
use crate::finding::Finding;
use crate::shown::Shown;
use std::io;
use striae_core::gsd::{ChunkType, Error};
use striae_inspect::gsd::FindingKind;

/// What is wrong with a GSD file, besides the errors of all files.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is no GSD file or is damaged, or the caller asked for something that it lacks.
    Format(Error),
    /// The file is damaged: the first finding of a check.
    Damaged(Box<Finding<FindingKind>>),
    /// A chunk is damaged, or lacks what the caller asked for.
    Chunk {
        /// The chunk's frame.
        frame: u64,
        /// The chunk's name.
        name: Box<[u8]>,
        /// The error in the chunk.
        error: Error,
    },
    /// A frame has no chunk of the name.
    NoChunk {
        /// The frame.
        frame: u64,
        /// The name.
        name: Box<[u8]>,
    },
    /// No chunk of the file has the name, or a name that starts with it.
    NoName {
        /// The name, or the start of names.
        name: Box<[u8]>,
    },
    /// The values of a chunk have another type than the caller asked for.
    NotOfType {
        /// The chunk's frame.
        frame: u64,
        /// The chunk's name.
        name: Box<[u8]>,
        /// The type of the values.
        kind: ChunkType,
        /// The type that the caller asked for.
        asked: ChunkType,
    },
    /// The bytes of a chunk of text are not UTF-8.
    NotText {
        /// The chunk's frame.
        frame: u64,
        /// The chunk's name.
        name: Box<[u8]>,
        /// Offset in the chunk of the first byte that is not UTF-8.
        at: u64,
    },
    /// The file does not follow the schema `hoomd`, or a chunk or frame does not.
    Hoomd(striae_hoomd::Error),
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

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::Damaged(finding) => finding.what.fmt(f),
            Self::Chunk { frame, name, error } => {
                write!(f, "chunk {} of frame {frame}: {error}", Shown::new(name))
            }
            Self::NoChunk { frame, name } => {
                write!(f, "frame {frame} has no chunk {}", Shown::new(name))
            }
            Self::NoName { name } => write!(f, "no chunk has the name {}", Shown::new(name)),
            Self::NotOfType { frame, name, kind, asked } => {
                let name = Shown::new(name);
                write!(f, "chunk {name} of frame {frame} is of type {kind}, not {asked}")
            }
            Self::NotText { frame, name, at } => {
                let name = Shown::new(name);
                write!(f, "chunk {name} of frame {frame} is no UTF-8 text at its byte {at}")
            }
            Self::Hoomd(error) => error.fmt(f),
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
