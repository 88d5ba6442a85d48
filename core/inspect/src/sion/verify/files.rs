//! The number of a file in its set, and of the files of the set.

use core::fmt;
use core::ops::Range;
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

/// The number of files of the set whose file 0 has this META1 and, by its name, the number `named`;
/// 1 for a file that is read alone. `has` says whether a file with one of these numbers is beside
/// it by its name: then it is file 0, whatever number it states, and readers of the set say that
/// the number is wrong.
///
/// # Errors
/// The errors of `has`.
pub fn files_of<E>(
    meta1: &Meta1,
    named: u32,
    has: impl FnOnce(Range<u32>) -> Result<bool, E>,
) -> Result<u32, E> {
    let nfiles = meta1.files_in_set();
    let is_later = meta1.filenumber().is_some_and(|number| number > 0);
    let is_first =
        meta1.is_first_of_several() || is_later && nfiles > 1 && named == 0 && has(1..nfiles)?;
    Ok(if is_first { nfiles } else { 1 })
}
