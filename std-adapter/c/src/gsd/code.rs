//! Errors of the library as numbers of gsd.

use crate::boundary::{errno_of, remember, set_errno, set_errno_of};
use libc::c_int;
use std::fmt::Display;
use std::io;
use striae::error::ErrorKind;
use striae::gsd::{Error as Format, ErrorKind as GsdKind};

pub(super) const SUCCESS: c_int = 0;

/// Why a call failed: `enum gsd_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(c_int);

impl Code {
    pub(super) const IO: Self = Self(-1);
    pub(super) const INVALID_ARGUMENT: Self = Self(-2);
    pub(super) const NOT_A_GSD_FILE: Self = Self(-3);
    pub(super) const INVALID_GSD_FILE_VERSION: Self = Self(-4);
    pub(super) const FILE_CORRUPT: Self = Self(-5);
    pub(super) const MEMORY_ALLOCATION_FAILED: Self = Self(-6);
    pub(super) const NAMELIST_FULL: Self = Self(-7);
    pub(super) const FILE_MUST_BE_WRITABLE: Self = Self(-8);

    /// What an exported function returns.
    pub(super) fn of(result: Result<(), Self>) -> c_int {
        result.map_or_else(|code| code.0, |()| SUCCESS)
    }

    /// This code, with a text for `striae_last_error`.
    pub(super) fn because(self, why: &dyn Display) -> Self {
        remember(why);
        self
    }

    const fn of_format(error: &Format) -> Self {
        match error {
            Format::NotGsd { .. } | Format::Cut { .. } => Self::NOT_A_GSD_FILE,
            Format::Version { .. } => Self::INVALID_GSD_FILE_VERSION,
            Format::NamesFull => Self::NAMELIST_FULL,
            Format::Memory { .. } | Format::FrameFull { .. } => Self::MEMORY_ALLOCATION_FAILED,
            Format::FileFull { .. } | Format::Swapped => Self::IO,
            error if error.blames_caller() => Self::INVALID_ARGUMENT,
            _ => Self::FILE_CORRUPT,
        }
    }
}

impl From<striae::Error> for Code {
    fn from(error: striae::Error) -> Self {
        remember(&error);
        set_errno_of(&error);
        match error.kind() {
            ErrorKind::Gsd(GsdKind::Format(error) | GsdKind::Chunk { error, .. }) => {
                Self::of_format(error)
            }
            ErrorKind::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                Self::MEMORY_ALLOCATION_FAILED
            }
            ErrorKind::Ended { .. } | ErrorKind::Gsd(_) => Self::FILE_CORRUPT,
            _ => Self::IO,
        }
    }
}

impl From<io::Error> for Code {
    fn from(error: io::Error) -> Self {
        remember(&error);
        set_errno(errno_of(&error));
        Self::IO
    }
}
