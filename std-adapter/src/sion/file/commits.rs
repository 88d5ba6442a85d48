//! Whether the files of a set belong together: are of one set, and of one commit of it.

use super::{File, Part};
use crate::error::Error;
use crate::sion::ErrorKind;
use std::path::Path;
use striae_core::sion::SealState;
use striae_core::sion::set::{identity_of, newest_apart};
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

    /// What to say about the file, or why not to go on.
    #[must_use]
    pub fn into_error(self) -> Error {
        let Self { path, number, newer, newest } = self;
        Error::new(path, ErrorKind::Apart { number, first: newer.to_owned(), usual: newest })
    }
}

/// Refuses a file that belongs to another set, as the seals say. What is damaged is no evidence.
pub(super) fn check_identities(parts: &[Part]) -> Result<(), Error> {
    let mut identities = Vec::with_capacity(parts.len());
    for part in parts {
        identities.push(match part {
            Part::Unclosed(_) => None,
            Part::Closed(file) => match file.seal() {
                Ok(SealState::Sealed(seal)) => Some(seal.varheader().set_identity()),
                Ok(_) | Err(DriveError::Format(_)) => None,
                Err(error) => return Err(Error::new(file.store().path(), error)),
            },
        });
    }
    let usual = identity_of(identities.iter().copied());
    let is_other = |identity: Option<u32>| identity.is_some() && identity != usual;
    let mut files = parts.iter().zip(identities);
    let other = files.clone().find(|(_, identity)| is_other(*identity));
    let own = files.find(|(_, identity)| identity.is_some() && *identity == usual);
    let Some(((other, _), (own, _))) = other.zip(own) else { return Ok(()) };
    let set = own.store().path().to_owned();
    Err(Error::new(other.store().path(), ErrorKind::OtherSet { set }))
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
        let newest = newest_apart(numbers.iter().copied());
        let newest = newest.and_then(|newest| all.clone().find(|(number, _)| *number == newest));
        let Some((newest, newer)) = newest else { return Ok(Vec::new()) };
        let older = all.filter(|(number, _)| (1..newest).contains(number));
        Ok(older.map(|(number, path)| Older { path, number, newer, newest }).collect())
    }
}
