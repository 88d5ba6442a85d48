//! The physical files of a set, wherever they are.

use crate::subject::Subject;
use alloc::collections::BTreeSet;
use core::fmt;
use striae_core::sion::Meta1;
use striae_core::store::ReadAt;

/// The physical files of a set, by their numbers. Byte slices in a slice are one.
pub trait Files {
    /// A physical file.
    type Subject: Subject;

    /// Opens a file: the first one, number 0, or one that is there.
    ///
    /// # Errors
    /// The store's.
    fn open(&self, number: u32) -> Result<Self::Subject, <Self::Subject as ReadAt>::Error>;

    /// Numbers of the files that are there, however many the set claims to have: the time that
    /// this takes must not depend on that.
    ///
    /// # Errors
    /// The store's.
    fn there(&self) -> Result<BTreeSet<u32>, <Self::Subject as ReadAt>::Error>;

    /// The number of the first file by its name; `None` if files have no names.
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

/// Which one of the files of a set was opened without the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartOfSet {
    /// Number of the file, from 0.
    pub file: u32,
    /// Files of the set.
    pub files: u32,
}

impl PartOfSet {
    /// What a file says of itself; `None` if it is the only one of its set, or does not say which.
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
