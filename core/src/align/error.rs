//! What can be wrong with rules, requests, or the caller's memory.

use core::fmt;

/// Why nothing can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// An alignment is no power of two, or too large.
    Alignment {
        /// The alignment, in bytes.
        value: u64,
        /// The largest that is possible.
        max: u64,
    },
    /// The largest read is shorter than the shortest one that is aligned.
    MaxIo {
        /// The largest read, in bytes.
        value: u64,
        /// The smallest right value.
        min: u64,
    },
    /// The file is so long that its end, rounded up, is no offset.
    FileTooLong {
        /// Its length in bytes.
        file_len: u64,
        /// The largest length that is possible.
        max: u64,
    },
    /// A request reaches behind the end of the file.
    BehindEnd {
        /// Number of the request, from 0.
        request: usize,
        /// The byte behind its last one.
        end: u64,
        /// Length of the file in bytes.
        file_len: u64,
    },
    /// The caller's memory has too few runs.
    Memory {
        /// Runs that will do.
        need: usize,
        /// Runs that there are.
        have: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alignment { value, max } => {
                write!(f, "an alignment of {value} bytes, must be a power of two of at most {max}")
            }
            Self::MaxIo { value, min } => {
                write!(f, "reads of at most {value} bytes, must be at least {min} to be aligned")
            }
            Self::FileTooLong { file_len, max } => {
                write!(f, "a file of {file_len} bytes, can be {max} at most")
            }
            Self::BehindEnd { request, end, file_len } => {
                write!(f, "request {request} ends at offset {end}, the file at {file_len}")
            }
            Self::Memory { need, have } => {
                write!(f, "memory for {have} runs, must be for {need}")
            }
        }
    }
}

impl core::error::Error for Error {}
