//! Access to the physical files of a set.

use crate::subject::Subject;
use alloc::collections::BTreeSet;
use core::fmt;
use striae_core::sion::Meta1;
use striae_core::store::ReadAt;

/// The physical files of a set, by number. A slice of byte slices implements it.
pub trait Files {
    /// A physical file.
    type Subject: Subject;

    /// Opens a file: the first one (number 0), or an existing one.
    ///
    /// # Errors
    /// An error of the store.
    fn open(&self, number: u32) -> Result<Self::Subject, <Self::Subject as ReadAt>::Error>;

    /// The numbers of the existing files. The time must not depend on the number of files that the
    /// set claims.
    ///
    /// # Errors
    /// An error of the store.
    fn there(&self) -> Result<BTreeSet<u32>, <Self::Subject as ReadAt>::Error>;

    /// The number in the name of the first file; `None` if files have no names.
    fn named(&self) -> Option<u32> {
        None
    }
}

impl<'a> Files for [&'a [u8]] {
    type Subject = &'a [u8];

    fn open(&self, number: u32) -> Result<&'a [u8], <[u8] as ReadAt>::Error> {
        let file = usize::try_from(number).ok().and_then(|number| self.get(number));
        Ok(file.copied().unwrap_or_default())
    }

    fn there(&self) -> Result<BTreeSet<u32>, <[u8] as ReadAt>::Error> {
        Ok((0..).zip(self).map(|(number, _)| number).collect())
    }
}

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
