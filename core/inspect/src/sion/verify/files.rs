//! The number of a file in its set.

use core::fmt;
use striae_core::sion::Meta1;

/// The number of a file of a set that was opened without the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartOfSet {
    /// Number of the file, from 0.
    pub file: u32,
    /// Number of files of the set.
    pub files: u32,
}

impl PartOfSet {
    /// Reads it from META1; `None` if the file is the only one of its set or does not state its
    /// number.
    #[must_use]
    pub fn of(meta1: &Meta1) -> Option<Self> {
        let (file, files) = (meta1.filenumber()?, meta1.files_in_set());
        (files > 1).then_some(Self { file, files })
    }
}

impl fmt::Display for PartOfSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}, from 0, of a set of {} files", self.file, self.files)
    }
}
