//! Errors of rules, requests and the caller's memory.

use core::fmt;

/// Why a plan cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// An alignment is not a power of two, or is too large.
    Alignment {
        /// The alignment, in bytes.
        value: u64,
        /// The largest possible alignment.
        max: u64,
    },
    /// The limit of reads is shorter than the shortest aligned read.
    MaxIo {
        /// The limit, in bytes.
        value: u64,
        /// The smallest right value.
        min: u64,
    },
    /// The file is so long that its end, rounded up, exceeds the largest offset.
    FileTooLong {
        /// The length of the file in bytes.
        file_len: u64,
        /// The largest possible length.
        max: u64,
    },
    /// A request ends after the end of the file.
    BehindEnd {
        /// The index of the request.
        request: usize,
        /// The end of the request.
        end: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The caller's memory has too few runs.
    Memory {
        /// The number of runs needed.
        need: usize,
        /// The number of runs given.
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
