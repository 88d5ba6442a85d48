//! Whether the files of a set are of one commit of the whole set.

use super::File;
use crate::error::Error;
use crate::sion::ErrorKind;
use std::path::Path;
use striae_core::sion::SealState;
use striae_core::step::DriveError;

/// A file of an older commit of the whole set than another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Older<'a> {
    /// The path of the file.
    pub path: &'a Path,
    /// The number of its commit in the set.
    pub number: u32,
    /// A file of the newest commit.
    pub newer: &'a Path,
    /// The number of that commit.
    pub newest: u32,
}

impl Older<'_> {
    /// The number of commits by which the file is older.
    #[must_use]
    pub const fn commits(&self) -> u32 {
        self.newest.saturating_sub(self.number)
    }

    pub(in crate::sion) fn into_error(self) -> Error {
        let Self { path, number, newer, newest } = self;
        Error::new(path, ErrorKind::Apart { number, first: newer.to_owned(), usual: newest })
    }
}

impl File {
    /// The files that are of an older [commit of the whole set](crate::sion::recover::OfSet) than
    /// another file: a crash ended that commit while files became visible, or they are older
    /// copies. Each stream is that of the last commit of its file. Only sealed files of one set of
    /// several have numbers of commits; damaged seals are not looked at.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn older(&self) -> Result<Vec<Older<'_>>, Error> {
        let files = self.reader.files();
        if files.len() < 2 {
            return Ok(Vec::new());
        }
        let mut numbers = Vec::with_capacity(files.len());
        for file in files {
            match file.seal() {
                Ok(SealState::Sealed(seal)) => numbers.push(seal.varheader().set_number()),
                Ok(_) | Err(DriveError::Format(_)) => numbers.push(0),
                Err(error) => return Err(Error::new(file.store().path(), error)),
            }
        }
        let all = numbers.iter().zip(files).map(|(number, file)| (*number, file.store().path()));
        let Some((newest, newer)) = all.clone().max_by_key(|(number, _)| *number) else {
            return Ok(Vec::new());
        };
        let older = all.filter(|(number, _)| *number > 0 && *number < newest);
        Ok(older.map(|(number, path)| Older { path, number, newer, newest }).collect())
    }
}
