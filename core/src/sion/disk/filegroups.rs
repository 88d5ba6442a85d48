//! The physical file of each task, in a set and in its buddy sets (`spec/sion.md#multi-file-sets`,
//! `spec/sion.md#buddy-sets`).

use super::meta1::{MAX_TASKS, at_least_1, within};
use crate::field::FieldId;
use crate::sion::error::Error;
use crate::sion::filename::Buddy;
use crate::sion::layout::MAX_I32;
use crate::sion::raw;
use core::num::NonZeroU32;

/// The tasks of a set in groups, one group for each physical file.
///
/// Global ranks start at 0 without gaps, as in a parallel program; each is in one file.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait FileGroups {
    /// The number of physical files of the set.
    fn nfiles(&self) -> u32;

    /// The number of tasks of a physical file; 0 if there is no such file.
    fn ntasks(&self, file: u32) -> u32;

    /// The global rank of a task of a physical file, or `None` if there is no such task.
    fn globalrank(&self, file: u32, local: u32) -> Option<u32>;

    /// The physical file and the local rank of a task, or `None` if there is no such task.
    fn address(&self, globalrank: u32) -> Option<(u32, u32)>;
}

impl<G: FileGroups + ?Sized> FileGroups for &G {
    fn nfiles(&self) -> u32 {
        (**self).nfiles()
    }

    fn ntasks(&self, file: u32) -> u32 {
        (**self).ntasks(file)
    }

    fn globalrank(&self, file: u32, local: u32) -> Option<u32> {
        (**self).globalrank(file, local)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        (**self).address(globalrank)
    }
}

/// The entries of the mapping of a set with these groups, by global rank: physical file and local
/// rank.
pub fn mapping(groups: &impl FileGroups) -> impl Iterator<Item = (u32, u32)> + Clone {
    (0..u32::MAX).map_while(|globalrank| groups.address(globalrank))
}

/// Tasks that are spread over files as SIONlib does it for a given number of files: consecutive
/// tasks, the same number in each file, and the remainder in the last.
///
/// So the last file can be much larger: 15 tasks in 8 files are 7 files with 1 task and one file
/// with 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EvenFiles {
    ntasks: u32,
    nfiles: NonZeroU32,
    /// The number of tasks of each file but the last.
    share: NonZeroU32,
}

const NFILES: FieldId = raw::Meta1::nfiles;

impl EvenFiles {
    /// Spreads `ntasks` tasks over `nfiles` files.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `ntasks` is 0 or more than a mapping can have, if the last file has
    /// more than [`MAX_TASKS`], or if `nfiles` is 0 or more than `ntasks`, which SIONlib refuses
    /// too (sion_mpi_internal_gen.c:83).
    pub fn new(ntasks: u64, nfiles: u64) -> Result<Self, Error> {
        let ntasks = within(ntasks, 1, MAX_I32, raw::Meta1::ntasks)?;
        let nfiles = at_least_1(within(nfiles, 1, ntasks, NFILES)?);
        let files = Self { ntasks, nfiles, share: at_least_1(ntasks / nfiles) };
        within(files.ntasks(files.last()).into(), 1, MAX_TASKS, raw::Meta1::ntasks)?;
        Ok(files)
    }

    fn last(&self) -> u32 {
        self.nfiles.get().saturating_sub(1)
    }

    /// The global rank of the first task of a file.
    fn first(&self, file: u32) -> u32 {
        file.saturating_mul(self.share.get())
    }
}

impl FileGroups for EvenFiles {
    fn nfiles(&self) -> u32 {
        self.nfiles.get()
    }

    fn ntasks(&self, file: u32) -> u32 {
        match file.cmp(&self.last()) {
            core::cmp::Ordering::Less => self.share.get(),
            core::cmp::Ordering::Equal => self.ntasks.saturating_sub(self.first(file)),
            core::cmp::Ordering::Greater => 0,
        }
    }

    fn globalrank(&self, file: u32, local: u32) -> Option<u32> {
        (local < self.ntasks(file)).then(|| self.first(file).saturating_add(local))
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        let file = (globalrank / self.share).min(self.last());
        (globalrank < self.ntasks).then(|| (file, globalrank.saturating_sub(self.first(file))))
    }
}

/// A task of a physical file of a buddy set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BuddyTask {
    /// An empty task that stands for the task of this global rank, which helps to write the file.
    Keeper(u32),
    /// The copy of the stream of the task of this global rank.
    Copy(u32),
}

impl BuddyTask {
    /// The globalrank that META1 stores: -(g + 1) for a keeper of global rank g
    /// (sion_generic_buddy.c:159).
    #[must_use]
    pub fn globalrank(self) -> i64 {
        match self {
            Self::Keeper(globalrank) => !i64::from(globalrank), // two's complement: -g - 1
            Self::Copy(globalrank) => globalrank.into(),
        }
    }

    /// The request of this task: 0 for a keeper, `request(g)` for the copy of global rank g.
    pub fn request<R: From<u64>>(self, request: impl FnOnce(u32) -> R) -> R {
        match self {
            Self::Keeper(_) => R::from(0),
            Self::Copy(globalrank) => request(globalrank),
        }
    }
}

/// A buddy set of a set with these groups: file f holds copies of the streams of file f of the set,
/// and the tasks of another file of the set, its *keepers*, write it.
///
/// It has as many files as the set, and the same prefix and numbers in META1. Keepers come first in
/// a file, as empty tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BuddySet<G> {
    groups: G,
    /// The distance in file numbers from a file to the one whose copy its tasks keep.
    distance: u32,
}

impl<G: FileGroups> BuddySet<G> {
    /// Makes buddy set number `buddy` of a set with these groups. With L levels there are sets 0 to
    /// L - 1.
    ///
    /// The tasks of file f - `buddy` - 1, counted from the end if that is negative, keep file f.
    /// SIONlib does the same if `buddy` + 1 and the number of files have no common divisor; else it
    /// uses numbers that it has not computed (sion_generic_buddy.c:1087), and the result is
    /// undefined.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the set has at most `buddy` + 1 files, so that a copy would be kept
    /// with its original.
    pub fn new(groups: G, buddy: Buddy) -> Result<Self, Error> {
        let distance = buddy.0.saturating_add(1);
        within(groups.nfiles().into(), distance.saturating_add(1), MAX_I32, NFILES)?;
        Ok(Self { groups, distance })
    }

    /// The file of the set whose tasks keep file `file`, or `None` if there is no such file.
    #[must_use]
    pub fn kept_with(&self, file: u32) -> Option<u32> {
        let nfiles = self.groups.nfiles();
        let back = nfiles.checked_sub(self.distance)?;
        let keeper = file.checked_sub(self.distance).or_else(|| file.checked_add(back));
        keeper.filter(|_| file < nfiles)
    }

    /// The file that the tasks of file `file` of the set keep, or `None` if there is no such file.
    #[must_use]
    pub fn keeps(&self, file: u32) -> Option<u32> {
        let nfiles = self.groups.nfiles();
        let back = nfiles.checked_sub(self.distance)?;
        let kept = file.checked_sub(back).or_else(|| file.checked_add(self.distance));
        kept.filter(|_| file < nfiles)
    }

    /// The number of empty tasks at the start of file `file`.
    #[must_use]
    pub fn nkeepers(&self, file: u32) -> u32 {
        self.kept_with(file).map_or(0, |keeper| self.groups.ntasks(keeper))
    }

    /// Task `local` of file `file`, or `None` if there is no such task.
    #[must_use]
    pub fn task(&self, file: u32, local: u32) -> Option<BuddyTask> {
        match local.checked_sub(self.nkeepers(file)) {
            None => self.groups.globalrank(self.kept_with(file)?, local).map(BuddyTask::Keeper),
            Some(local) => self.groups.globalrank(file, local).map(BuddyTask::Copy),
        }
    }

    /// All tasks of file `file` in order.
    pub fn tasks(&self, file: u32) -> impl Iterator<Item = BuddyTask> + Clone {
        (0..self.ntasks(file)).map_while(move |local| self.task(file, local))
    }
}

/// The copies, by the global ranks of their originals. Keepers have negative globalranks and are
/// only counted.
impl<G: FileGroups> FileGroups for BuddySet<G> {
    fn nfiles(&self) -> u32 {
        self.groups.nfiles()
    }

    fn ntasks(&self, file: u32) -> u32 {
        self.nkeepers(file).saturating_add(self.groups.ntasks(file))
    }

    fn globalrank(&self, file: u32, local: u32) -> Option<u32> {
        self.groups.globalrank(file, local.checked_sub(self.nkeepers(file))?)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        let (file, local) = self.groups.address(globalrank)?;
        Some((file, self.nkeepers(file).saturating_add(local)))
    }
}
