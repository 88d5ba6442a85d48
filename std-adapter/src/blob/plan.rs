//! [`Plan`]: which elements of a decomposition are read, in the order of the subfiles, and where
//! they go.

use super::subfile::Subfile;
use std::ops::Range;
use std::sync::Arc;
use striae_core::blob::find::{Gather, Run, Runs, Take};
use striae_core::cdf::{self, Region};
use striae_core::store::usize_to_u64;
use zerocopy::FromBytes;

/// A gap of as many elements is read, and not skipped.
const GAP: u64 = 512;

/// The most elements of a read.
const MOST: u64 = 1 << 17;

/// The takes that are found before they are turned into moves.
const PORTION: usize = 1 << 16;

/// Elements that follow each other in a group and in the region.
#[derive(Debug, Clone, Copy)]
struct Move {
    /// The number of the first element in the region.
    to: u64,
    /// Its number in the group.
    from: u32,
    len: u32,
}

/// Elements that are read at once.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The number of the first element in the blob or, if blobs are joined, in the subfile.
    pub(crate) first: u64,
    pub(crate) count: u64,
    moves: Range<usize>,
    /// The elements that are wanted.
    pub(crate) wanted: u64,
}

/// The blobs of a subfile, or one of them.
pub(crate) type Origin = (u32, u32);

/// Elements of a region of the arrays of a decomposition.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In order.
    origins: Vec<(Origin, Range<usize>)>,
    groups: Vec<Group>,
    moves: Vec<Move>,
}

impl Plan {
    /// Plans the reading of a region of an array of this shape, both without records.
    ///
    /// `subfile` are the subfiles that have runs.
    pub(crate) fn new(
        runs: &Runs<Box<[Run]>>,
        decomposition: usize,
        (shape, region): (&[u64], Region<'_>),
        subfile: &dyn Fn(u32) -> Option<Arc<Subfile>>,
    ) -> Result<Self, cdf::Error> {
        let mut gather = Gather::new(runs, shape, region)?;
        let (mut takes, mut portion) = (Vec::new(), vec![Take::default(); PORTION]);
        let mut portions = 0_u32;
        loop {
            let some = gather.fill(&mut portion);
            if some.is_empty() {
                break;
            }
            takes.extend_from_slice(some);
            portions = portions.saturating_add(1);
        }
        drop(portion);
        if portions > 1 {
            takes.sort_unstable_by_key(|take| (take.place, take.to));
        }
        let mut plan = Self::default();
        let mut current: Option<(u32, Option<Arc<Subfile>>)> = None;
        for take in takes {
            let number = take.place.subfile;
            if current.as_ref().is_none_or(|(held, _)| *held != number) {
                current = Some((number, subfile(number)));
            }
            let Some((_, Some(file))) = &current else { continue };
            let (blob, skip) = match file.is_joined() {
                true => (0, file.share(take.place.blob, decomposition).start),
                false => (take.place.blob, 0),
            };
            plan.add((number, blob), take, take.place.position.saturating_add(skip));
        }
        plan.moves.shrink_to_fit();
        Ok(plan)
    }

    /// Adds elements, which begin with element `at`.
    fn add(&mut self, origin: Origin, take: Take, mut at: u64) {
        let (mut to, mut left) = (take.to, take.len);
        while left > 0 {
            let is_new = self.origins.last().is_none_or(|(last, _)| *last != origin);
            if is_new {
                let next = self.groups.len();
                self.origins.push((origin, next..next));
            }
            let joins = self.groups.last().filter(|_| !is_new).is_some_and(|group| {
                let end = group.first.saturating_add(group.count);
                let room = MOST.saturating_sub(at.saturating_sub(group.first));
                at >= group.first && at.saturating_sub(end) <= GAP && room > 0
            });
            if !joins {
                let (first, next) = (at, self.moves.len());
                self.groups.push(Group { first, count: 0, moves: next..next, wanted: 0 });
                if let Some((_, groups)) = self.origins.last_mut() {
                    groups.end = self.groups.len();
                }
            }
            let Some(group) = self.groups.last_mut() else { return };
            let from = at.saturating_sub(group.first);
            let len = left.min(MOST.saturating_sub(from));
            let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX); // at most `MOST`
            self.moves.push(Move { to, from: narrow(from), len: narrow(len) });
            group.moves.end = self.moves.len();
            group.count = group.count.max(from.saturating_add(len));
            group.wanted = group.wanted.saturating_add(len);
            (at, to, left) =
                (at.saturating_add(len), to.saturating_add(len), left.saturating_sub(len));
        }
    }

    /// The blobs that have elements, in order.
    pub(crate) fn origins(&self) -> impl Iterator<Item = Origin> {
        self.origins.iter().map(|(origin, _)| *origin)
    }

    /// What is read of these blobs.
    pub(crate) fn groups(&self, origin: Origin) -> &[Group] {
        let place = self.origins.binary_search_by_key(&origin, |(origin, _)| *origin);
        let origin = place.ok().and_then(|place| self.origins.get(place));
        origin.and_then(|(_, groups)| self.groups.get(groups.clone())).unwrap_or_default()
    }

    /// Copies the elements of a group to their places in the region, and returns how many. `width`
    /// is the bytes of an element; `from` may have only the first elements of the group.
    pub(crate) fn scatter(&self, group: &Group, width: u64, from: &[u8], to: &mut [u8]) -> u64 {
        let moves = self.moves.get(group.moves.clone()).unwrap_or_default();
        match width {
            1 => scatter::<1>(moves, from, to),
            2 => scatter::<2>(moves, from, to),
            4 => scatter::<4>(moves, from, to),
            _ => scatter::<8>(moves, from, to),
        }
    }
}

/// The whole values at the front of some bytes.
const fn whole(len: usize, size: usize) -> usize {
    match len.checked_rem(size) {
        Some(rest) => len.saturating_sub(rest),
        None => 0,
    }
}

fn scatter<const N: usize>(moves: &[Move], from: &[u8], to: &mut [u8]) -> u64 {
    let from = from.get(..whole(from.len(), N)).unwrap_or_default();
    let to = to.get_mut(..whole(to.len(), N)).unwrap_or_default();
    let (Ok(to), Ok(from)) = (<[[u8; N]]>::mut_from_bytes(to), <[[u8; N]]>::ref_from_bytes(from))
    else {
        return 0;
    };
    let mut copied = 0_u64;
    for &Move { to: place, from: first, len } in moves {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let from = from.get(first..).unwrap_or_default();
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(from.len());
        let to = to.get_mut(place..).and_then(|rest| rest.get_mut(..len));
        if let (Some(to), Some(from)) = (to, from.get(..len)) {
            // A call of memmove costs more than a few values.
            match len {
                0..8 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                _ => to.copy_from_slice(from),
            }
            copied = copied.saturating_add(usize_to_u64(len));
        }
    }
    copied
}
