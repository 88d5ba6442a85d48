//! The tasks of a physical file that share a collector, by the rules of SIONlib's collective
//! writers (`spec/sion.md#layout`).
//!
//! Groups matter when a file is created, for its chunksizes ([`super::chunksizes`]), and to
//! programs that move the data of a group to its collector. A reader does not need them.

use crate::sion::disk::meta1::{MAX_TASKS, within};
use crate::sion::error::Error;
use crate::sion::layout::{LAST_OFFSET, signed};
use crate::sion::raw;
use crate::span::round_up;
use core::num::{NonZeroU32, NonZeroU64};

/// A task's request when a file is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Request {
    /// The least bytes of each chunk; 0 for a task that will write nothing.
    pub chunksize: u64,
    /// Whether the task cannot be a collector. In SIONlib this is every thread but the first of a
    /// process (sion_ompi_coll_cb_gen.c:528), and no process.
    pub only_sends: bool,
}

impl From<u64> for Request {
    fn from(chunksize: u64) -> Self {
        Self { chunksize, only_sends: false }
    }
}

/// The rule that puts tasks into groups. Groups are runs of tasks; the first task of each is the
/// collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Grouping {
    /// Groups of about equal size in bytes. Their number comes from SIONlib's heuristic for the
    /// number of tasks: `collsize=-1`, and `collective` alone.
    Automatic,
    /// Groups of about equal size in bytes, as many as there would be groups of this number of
    /// tasks: `collsize`. A group may have another number of tasks.
    Hint(NonZeroU32),
    /// Groups of exactly this number of tasks, except for the last one: `collmsa`.
    Fixed(NonZeroU32),
}

impl Grouping {
    /// All tasks in one group. SIONlib's buddy writers do this in each physical file of each set,
    /// unless `collective` is given (sion_generic_internal.c:242).
    pub const WHOLE_FILE: Self = Self::Fixed(NonZeroU32::MAX);

    /// The meaning of `collsize` in SIONlib: a hint if it is positive, else
    /// [`Grouping::Automatic`].
    #[must_use]
    pub fn of_collsize(collsize: i32) -> Self {
        let hint = u32::try_from(collsize).ok().and_then(NonZeroU32::new);
        hint.map_or(Self::Automatic, Self::Hint)
    }

    /// The groups of these tasks of one physical file. It iterates over the requests twice.
    ///
    /// If there are more blocks than an `int` counts, or all requests are 0, SIONlib computes wrong
    /// numbers or divides by zero (sion_internal_startptr.c:172, :210); this function follows the
    /// intended rule.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the sum of the requests, or their number, is more than a file can
    /// hold.
    pub fn groups<I>(self, fsblksize: NonZeroU32, mut requests: I) -> Result<Groups<I>, Error>
    where
        I: Iterator<Item: Into<Request>> + Clone,
    {
        let total = Total::of(requests.clone())?;
        let fill = match self {
            Self::Fixed(ntasks) => Fill::Tasks(ntasks),
            Self::Automatic | Self::Hint(_) => Fill::Bytes(self.share(&total, fsblksize.into())),
        };
        let next = requests.next().map(Into::into);
        Ok(Groups { fill, first: 0, next, requests })
    }

    /// The bytes that a group takes before the next one begins.
    fn share(self, total: &Total, unit: NonZeroU64) -> u64 {
        let share = match NonZeroU64::new(self.collectors(total, unit)) {
            Some(collectors) => total.bytes / collectors,
            None => 0, // nobody asks for a byte
        };
        round_up(share, unit).unwrap_or(u64::MAX)
    }

    /// The number of collectors for the tasks: each gets at least one unit of data.
    fn collectors(self, total: &Total, unit: NonZeroU64) -> u64 {
        let (ntasks, most) = (u64::from(total.ntasks), divide_up(total.bytes, unit));
        if let Self::Hint(collsize) = self {
            return divide_up(ntasks, collsize.into()).min(most);
        }
        let most = most.min(ntasks);
        // sion_internal_startptr.c:195. A step that is not exceeded leaves the choice to the next:
        // 600 tasks with data for 33 collectors get 32, with data for 32 they get 16.
        let steps = [(512, 32), (256, 16), (32, 8), (16, 4)];
        let step = steps.into_iter().find(|&(from, cap)| ntasks >= from && most > cap);
        step.map_or(most, |(_, cap)| cap)
    }
}

/// The number of tasks of a file and the sum of their chunksizes.
#[derive(Debug)]
pub(in crate::sion) struct Total {
    ntasks: u32,
    bytes: u64,
}

impl Total {
    /// # Errors
    /// [`Error::OutOfRange`] if the sum of the requests, or their number, is more than a file can
    /// hold.
    pub(in crate::sion) fn of(requests: impl Iterator<Item: Into<Request>>) -> Result<Self, Error> {
        requests.map(Into::into).try_fold(Self { ntasks: 0, bytes: 0 }, Self::and)
    }

    fn and(self, request: Request) -> Result<Self, Error> {
        let ntasks = u64::from(self.ntasks).saturating_add(1);
        let ntasks = within(ntasks, 1, MAX_TASKS, raw::Meta1::ntasks)?;
        let bytes = self.bytes.checked_add(request.chunksize).filter(|&bytes| bytes <= LONGEST);
        let bytes = bytes.ok_or(Error::OutOfRange {
            field: raw::ChunksizeEntry::chunksize,
            value: signed(request.chunksize),
            min: 0,
            max: signed(LONGEST.saturating_sub(self.bytes)),
        })?;
        Ok(Self { ntasks, bytes })
    }
}

/// The length of the longest block: META1 comes before it, with 1088 bytes besides its tables.
const LONGEST: u64 = LAST_OFFSET.saturating_sub(1088);

fn divide_up(value: u64, unit: NonZeroU64) -> u64 {
    value.checked_sub(1).map_or(0, |less| (less / unit).saturating_add(1))
}

/// A group of tasks that share a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Group {
    /// The local rank of the first task, which is the collector.
    pub first: u32,
    /// The number of tasks in the group, including the collector.
    pub ntasks: u32,
    /// The sum of the requested chunksizes.
    pub bytes: u64,
}

/// The limit of a group.
#[derive(Debug, Clone, Copy)]
enum Fill {
    Bytes(u64),
    Tasks(NonZeroU32),
}

impl Fill {
    fn has_room(self, group: &Group, request: Request) -> bool {
        match self {
            Self::Tasks(ntasks) => group.ntasks < ntasks.get(),
            Self::Bytes(share) => {
                let bytes = group.bytes.saturating_add(request.chunksize);
                bytes <= share || request.only_sends
            }
        }
    }
}

/// The collector groups of a physical file in order; made by [`Grouping::groups`].
#[derive(Debug, Clone)]
pub struct Groups<I> {
    fill: Fill,
    /// The number of tasks before `next`.
    first: u32,
    next: Option<Request>,
    requests: I,
}

impl<I: Iterator<Item: Into<Request>>> Iterator for Groups<I> {
    type Item = Group;

    fn next(&mut self) -> Option<Group> {
        let collector = self.next.take()?;
        let mut group = Group { first: self.first, ntasks: 1, bytes: collector.chunksize };
        for request in self.requests.by_ref() {
            let request = request.into();
            if !self.fill.has_room(&group, request) {
                self.next = Some(request);
                break;
            }
            group.ntasks = group.ntasks.saturating_add(1);
            group.bytes = group.bytes.saturating_add(request.chunksize);
        }
        self.first = self.first.saturating_add(group.ntasks);
        Some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step counts only if there is data for more collectors than it gives.
    #[test]
    fn data_for_just_a_steps_collectors_leave_the_choice_to_the_next_step() {
        let unit = NonZeroU64::new(1000).unwrap();
        let collectors = |ntasks, units| {
            Grouping::Automatic.collectors(&Total { ntasks, bytes: 1000 * units }, unit)
        };
        for (ntasks, steps) in
            [(600, [32, 16, 8, 4].as_slice()), (300, &[16, 8, 4]), (100, &[8, 4]), (20, &[4])]
        {
            for (step, most) in steps.iter().enumerate() {
                let next = steps.get(step + 1).unwrap_or(most);
                assert_eq!(collectors(ntasks, most + 1), *most, "{ntasks}");
                assert_eq!(collectors(ntasks, *most), *next, "{ntasks}");
            }
        }
    }

    #[test]
    fn more_tasks_than_sionlib_can_count_are_refused() {
        let all_but_one = Total { ntasks: MAX_TASKS - 1, bytes: 7 };
        let all = all_but_one.and(Request::from(1)).unwrap();
        assert_eq!((all.ntasks, all.bytes), (MAX_TASKS, 8));
        let max = i64::from(MAX_TASKS);
        let refused = Error::OutOfRange { field: raw::Meta1::ntasks, value: max + 1, min: 1, max };
        assert_eq!(all.and(Request::from(0)).unwrap_err(), refused);
    }
}
