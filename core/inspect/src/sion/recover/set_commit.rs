//! Brings the files of a set to one commit of the whole set.

use super::{Part, Recovery};
use crate::sion::verify::Failed;
use alloc::vec::Vec;
use core::fmt;
use striae_core::sion::recover::{SetCommit, Sparse};
use striae_core::sion::set::{identity_of, newest_apart};

/// The commits that the files of a set are of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfSet {
    /// Each file is of its own last commit: the set has one file, or files that were committed one
    /// after another, so that nothing says which commits belong together. Those that are of a
    /// commit of the set are of the same one.
    EachOwn,
    /// All files are of one commit of the set.
    Same {
        /// The number of the commit.
        number: u32,
        /// The numbers of the files whose last commit was another one.
        brought: Vec<u32>,
    },
    /// There is no commit of the set that all files have, or a file was committed by itself and
    /// others are of different commits of the set: each file is of its own last commit.
    Apart {
        /// The number of the newest commit of the set.
        newest: u32,
        /// The numbers of the files that do not have that commit, each with the number of its last
        /// commit of the set; 0 if it has none.
        without: Vec<(u32, u32)>,
    },
    /// The seals of some files name another set than those of the others: each file is of its own
    /// last commit.
    Others {
        /// The numbers of the files that do not belong to the set.
        files: Vec<u32>,
    },
}

impl OfSet {
    /// Whether files contradict each other.
    pub(super) const fn is_contradiction(&self) -> bool {
        matches!(self, Self::Apart { .. } | Self::Others { .. })
    }
}

impl fmt::Display for OfSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EachOwn => f.write_str("each file is of its own last commit"),
            Self::Same { number, brought } => {
                write!(f, "all files are of commit {number} of the set")?;
                match brought.as_slice() {
                    [] => Ok(()),
                    files => {
                        let verb = if files.len() == 1 { "was" } else { "were" };
                        write!(f, ", to which {} {verb} brought", Listed(files))
                    }
                }
            }
            Self::Others { files } => {
                let verb = if files.len() == 1 { "belongs" } else { "belong" };
                write!(
                    f,
                    "{} {verb} to another set, as the identity in the seal says",
                    Listed(files)
                )
            }
            Self::Apart { newest, without } => {
                f.write_str("no commit of the set is in all files:")?;
                for (file, number) in without {
                    match newest.saturating_sub(*number) {
                        _ if *number == 0 => write!(f, " file {file} is of no commit of the set,")?,
                        0 => write!(f, " file {file} has lost its last commit,")?,
                        1 => write!(f, " file {file} is 1 commit older,")?,
                        by => write!(f, " file {file} is {by} commits older,")?,
                    }
                }
                write!(
                    f,
                    " and cannot be brought to commit {newest}, nor all files to the one before"
                )
            }
        }
    }
}

/// The numbers of files in words.
struct Listed<'a>(&'a [u32]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "file" } else { "files" })?;
        let mut mark = ' ';
        self.0.iter().try_for_each(|number| {
            let before = core::mem::replace(&mut mark, ',');
            write!(f, "{before}{number}")
        })
    }
}

impl Recovery {
    /// The commits that the files are of, as [`bring_together`](Self::bring_together) found.
    #[must_use]
    pub const fn of_set(&self) -> &OfSet {
        &self.of_set
    }

    /// Brings all files to the newest commit of the set that all of them have, if they have
    /// different ones. Call this after all files were added, and before
    /// [`examine`](Self::examine). `open` gives the store of a file; its error ends the work.
    ///
    /// # Errors
    /// The error of `open`, and of `failed` for an error of the store of a file.
    pub fn bring_together<S: Sparse, E>(
        &mut self,
        mut open: impl FnMut(usize) -> Result<S, E>,
        failed: impl Fn(usize, Failed<S>) -> E,
    ) -> Result<(), E> {
        let identities = self.parts.iter().map(|part| part.remains.set_identity());
        if let Some(usual) = identity_of(identities.clone()) {
            let is_other =
                |(_, identity): &(u32, Option<u32>)| identity.is_some_and(|it| it != usual);
            let files = (0..).zip(identities).filter(is_other).map(|(file, _)| file);
            let files: Vec<_> = files.collect();
            if !files.is_empty() {
                self.of_set = OfSet::Others { files }; // their numbers are those of another set
                return Ok(());
            }
        }
        let commits = self.parts.iter().map(|part| part.remains.set_commit());
        let commits: Vec<_> = commits.collect();
        let numbers = self.parts.iter().map(Part::set_number);
        let newest = numbers.clone().max().unwrap_or(0);
        if newest == 0 || commits.len() < 2 {
            return Ok(());
        }
        if commits.contains(&SetCommit::Own) {
            // A file that was committed alone since stays as it is, and so do the others.
            if let Some(newest) = newest_apart(numbers.clone()) {
                let without = (0..).zip(numbers).filter(|(_, number)| *number < newest);
                self.of_set = OfSet::Apart { newest, without: without.collect() };
            }
            return Ok(());
        }
        let mut first_without = None;
        for target in [newest, newest.saturating_sub(1)].into_iter().filter(|number| *number > 0) {
            let (mut found, mut without) = (Vec::new(), Vec::new());
            for (number, (file, part)) in (0..self.parts.len()).zip((0..).zip(&self.parts)) {
                let store = open(number)?;
                let at = part.at_set_commit(&store, target);
                match at.map_err(|error| failed(number, error))? {
                    Some(remains) => found.push(remains),
                    None => without.push((file, part.set_number())),
                }
            }
            if without.is_empty() {
                let is_brought =
                    |(_, commit): &(u32, &SetCommit)| **commit != SetCommit::Number(target);
                let brought = (0..).zip(&commits).filter(is_brought).map(|(file, _)| file);
                self.of_set = OfSet::Same { number: target, brought: brought.collect() };
                for (part, remains) in self.parts.iter_mut().zip(found) {
                    part.remains = remains;
                }
                return Ok(());
            }
            first_without.get_or_insert(without);
        }
        let without = first_without.unwrap_or_default();
        self.of_set = OfSet::Apart { newest, without };
        Ok(())
    }
}
