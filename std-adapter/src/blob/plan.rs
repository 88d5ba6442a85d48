//! [`Plan`]: which elements of a decomposition are read, in the order of the subfiles, and where
//! they go.

use super::subfile::Subfile;
use std::ops::Range;
use std::sync::Arc;
use striae_core::blob::find::{Gather, Place, Run, Runs, Take};
use striae_core::cdf::{self, Region};
use striae_core::span::Span;
use zerocopy::FromBytes;

/// A gap of as many elements is read, and not skipped.
const GAP: u64 = 512;

/// The most elements of a read: of 8 bytes, as many as are read at once through the page cache.
const MOST: u64 = 1 << 15;

/// Moves of at most as many elements on average are made element by element.
const SHORT: usize = 6;

/// The place of an element that is not wanted.
const NOWHERE: u32 = u32::MAX;

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
    /// Its moves, or its places.
    parts: Range<usize>,
}

impl Group {
    /// Whether element `at` is read at once with these.
    const fn joins(&self, at: u64) -> bool {
        let Some(from) = at.checked_sub(self.first) else { return false };
        from < MOST && from.saturating_sub(self.count) <= GAP
    }
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
    /// If moves are short, there are none. Then this is the number in the region of each element of
    /// the groups, or [`NOWHERE`].
    places: Vec<u32>,
    /// The number of elements of the region, and how many of them are read.
    pub(crate) len: u64,
    wanted: u64,
}

/// A plan that is being made.
struct Making<'s> {
    plan: Plan,
    decomposition: usize,
    /// The subfiles that have runs.
    subfile: &'s dyn Fn(u32) -> Option<Arc<Subfile>>,
    /// The last subfile and the last blob that had elements.
    held: Option<(u32, Option<Arc<Subfile>>)>,
    blob: Option<Blob>,
}

/// A blob while a plan is made.
#[derive(Clone, Copy)]
struct Blob {
    place: (u32, u32),
    /// What is read at once, and the number of its first element.
    origin: Origin,
    first: u64,
}

impl Making<'_> {
    /// Adds elements. They come in the order of their places.
    fn add(&mut self, take: Take) {
        let place = (take.place.subfile, take.place.blob);
        let held = self.blob.filter(|blob| blob.place == place);
        let Some(blob) = held.or_else(|| self.enter(place)) else { return };
        self.plan.add(blob.origin, take, take.place.position.saturating_add(blob.first));
    }

    /// Goes to another blob; `None` if its subfile cannot be read.
    fn enter(&mut self, place: (u32, u32)) -> Option<Blob> {
        let (number, blob) = place;
        if self.held.as_ref().is_none_or(|(held, _)| *held != number) {
            self.held = Some((number, (self.subfile)(number)));
        }
        let (_, file) = self.held.as_ref()?;
        let file = file.as_ref()?;
        let (origin, first) = match file.is_joined() {
            true => ((number, 0), file.share(blob, self.decomposition).start),
            false => (place, 0),
        };
        self.blob = Some(Blob { place, origin, first });
        self.blob
    }
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
        let plan = Self { len: gather.len(), ..Self::default() };
        let mut making = Making { plan, decomposition, subfile, held: None, blob: None };
        takes.into_iter().for_each(|take| making.add(take));
        Ok(making.plan.shrunk())
    }

    /// Plans the reading of all requests. They are in the order of their places, and do not
    /// overlap. `len` is the number of elements of the array.
    pub(crate) fn of_requests(
        requests: &[Run],
        decomposition: usize,
        len: u64,
        subfile: &dyn Fn(u32) -> Option<Arc<Subfile>>,
    ) -> Self {
        let plan = Self { len, moves: Vec::with_capacity(requests.len()), ..Self::default() };
        let mut making = Making { plan, decomposition, subfile, held: None, blob: None };
        for &Run { offset: to, len, place } in requests {
            making.add(Take { place, len, to });
        }
        making.plan.shrunk()
    }

    /// Plans the reading of elements that follow each other in the array.
    pub(crate) fn of_span(
        runs: &Runs<Box<[Run]>>,
        decomposition: usize,
        span: Span,
        subfile: &dyn Fn(u32) -> Option<Arc<Subfile>>,
    ) -> Self {
        let all = runs.as_slice();
        let first = all.partition_point(|run| run.end() <= span.offset());
        let end = all.partition_point(|run| run.offset < span.end());
        let some = all.get(first..end).unwrap_or_default();
        let moves = Vec::with_capacity(some.len());
        let plan = Self { len: span.len(), moves, ..Self::default() };
        let mut making = Making { plan, decomposition, subfile, held: None, blob: None };
        for run in by_place(some).into_iter().filter_map(|index| some.get(index)) {
            let (offset, end) = (run.offset.max(span.offset()), run.end().min(span.end()));
            let skip = offset.saturating_sub(run.offset);
            let position = run.place.position.saturating_add(skip);
            let place = Place { position, ..run.place };
            let to = offset.saturating_sub(span.offset());
            making.add(Take { place, len: end.saturating_sub(offset), to });
        }
        making.plan.shrunk()
    }

    /// Turns short moves into places, and gives back memory.
    fn shrunk(mut self) -> Self {
        self.moves.shrink_to_fit();
        let most = self.moves.len().saturating_mul(SHORT);
        let count = self.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.count));
        let count = usize::try_from(count).ok().filter(|&count| count <= most);
        let Some(count) = count.filter(|_| self.len < NOWHERE.into()) else { return self };
        let moves = std::mem::take(&mut self.moves);
        self.places = vec![NOWHERE; count];
        let mut first = 0_usize;
        for group in &mut self.groups {
            let end = first.saturating_add(narrow(group.count));
            let places = self.places.get_mut(first..end).unwrap_or_default();
            for part in moves.get(group.parts.clone()).unwrap_or_default() {
                let to = u32::try_from(part.to).unwrap_or(NOWHERE); // never: `len` is less
                let room = places.get_mut(narrow(part.from.into())..).unwrap_or_default();
                let room = room.get_mut(..narrow(part.len.into())).unwrap_or_default();
                room.iter_mut().zip(to..).for_each(|(place, to)| *place = to);
            }
            group.parts = first..end;
            first = end;
        }
        self
    }

    /// How much memory the plan has, in moves.
    pub(crate) fn size(&self) -> usize {
        self.moves.len().saturating_add(self.places.len() / 4)
    }

    /// Whether every element of the region is read.
    pub(crate) fn is_full(&self) -> bool {
        self.wanted == self.len
    }

    /// Adds elements, which begin with element `at` of the blobs.
    fn add(&mut self, origin: Origin, take: Take, mut at: u64) {
        let (mut to, mut left) = (take.to, take.len);
        let short = |n: u64| u32::try_from(n).unwrap_or(u32::MAX); // at most `MOST`
        if let (Some((last, _)), Some(group)) = (self.origins.last(), self.groups.last_mut()) {
            let count = group.count.saturating_add(left);
            if *last == origin && group.first.saturating_add(group.count) == at && count <= MOST {
                self.moves.push(Move { to, from: short(group.count), len: short(left) });
                group.parts.end = self.moves.len();
                group.count = count;
                self.wanted = self.wanted.saturating_add(left);
                return; // as nearly all of them
            }
        }
        while left > 0 {
            let is_new = self.origins.last().is_none_or(|(last, _)| *last != origin);
            if is_new {
                let next = self.groups.len();
                self.origins.push((origin, next..next));
            }
            let joined = self.groups.last_mut().filter(|group| !is_new && group.joins(at));
            let group = match joined {
                Some(group) => group,
                None => {
                    let next = self.moves.len();
                    let new = Group { first: at, count: 0, parts: next..next };
                    self.groups.push(new);
                    if let Some((_, groups)) = self.origins.last_mut() {
                        groups.end = self.groups.len();
                    }
                    let Some(group) = self.groups.last_mut() else { return };
                    group
                }
            };
            let from = at.saturating_sub(group.first);
            let len = left.min(MOST.saturating_sub(from));
            self.moves.push(Move { to, from: short(from), len: short(len) });
            group.parts.end = self.moves.len();
            group.count = group.count.max(from.saturating_add(len));
            self.wanted = self.wanted.saturating_add(len);
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

    /// Copies the elements of a group to their places in the region. `width` is the bytes of an
    /// element, which are reversed if `swap` says so.
    pub(crate) fn scatter(
        &self,
        group: &Group,
        (width, swap): (u64, bool),
        from: &[u8],
        to: &mut [u8],
    ) {
        match (width, swap) {
            (1, _) => self.scatter_of::<1, false>(group, from, to),
            (2, false) => self.scatter_of::<2, false>(group, from, to),
            (2, true) => self.scatter_of::<2, true>(group, from, to),
            (4, false) => self.scatter_of::<4, false>(group, from, to),
            (4, true) => self.scatter_of::<4, true>(group, from, to),
            (_, false) => self.scatter_of::<8, false>(group, from, to),
            (_, true) => self.scatter_of::<8, true>(group, from, to),
        }
    }

    fn scatter_of<const N: usize, const SWAP: bool>(
        &self,
        group: &Group,
        from: &[u8],
        to: &mut [u8],
    ) {
        let from = from.get(..whole(from.len(), N)).unwrap_or_default();
        let to = to.get_mut(..whole(to.len(), N)).unwrap_or_default();
        let values =
            <[[u8; N]]>::mut_from_bytes(to).ok().zip(<[[u8; N]]>::ref_from_bytes(from).ok());
        let Some((to, from)) = values else { return }; // never: they are whole values
        let places = self.places.get(group.parts.clone()).unwrap_or_default();
        each_pair(places, from, |place, mut value| {
            if let Some(to) = to.get_mut(narrow(place.into())) {
                if SWAP {
                    value.reverse();
                }
                *to = value;
            }
        });
        for part in self.moves.get(group.parts.clone()).unwrap_or_default() {
            let from = from.get(narrow(part.from.into())..).unwrap_or_default();
            let len = narrow(part.len.into()).min(from.len());
            let to = to.get_mut(narrow(part.to)..).and_then(|rest| rest.get_mut(..len));
            if let (Some(to), Some(from)) = (to, from.get(..len)) {
                copy::<N, SWAP>(to, from);
            }
        }
    }

    /// Sets the elements of a group after the first `have` ones to `value`, and returns how many
    /// these are.
    pub(crate) fn fill(&self, group: &Group, have: u64, value: &[u8], to: &mut [u8]) -> u64 {
        let mut filled = 0_u64;
        let mut set = |place: u64, len: u64| {
            let bytes = |count: u64| narrow(count).saturating_mul(value.len());
            let room = to.get_mut(bytes(place)..).unwrap_or_default();
            let room = room.get_mut(..bytes(len)).unwrap_or_default();
            room.chunks_exact_mut(value.len().max(1)).for_each(|to| to.copy_from_slice(value));
            filled = filled.saturating_add(len);
        };
        let places = self.places.get(group.parts.clone()).unwrap_or_default();
        for &place in places.get(narrow(have)..).unwrap_or_default() {
            if place != NOWHERE {
                set(place.into(), 1);
            }
        }
        for part in self.moves.get(group.parts.clone()).unwrap_or_default() {
            let (from, len) = (u64::from(part.from), u64::from(part.len));
            let skip = have.saturating_sub(from).min(len);
            set(part.to.saturating_add(skip), len.saturating_sub(skip));
        }
        filled
    }
}

fn narrow(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The order of runs by place; they are in the order of the array. Blobs have their elements in
/// that order, too, unless requests were left as they were: it is enough to deal them to the blobs.
fn by_place(runs: &[Run]) -> Vec<usize> {
    let mut order: Vec<_> = (0..runs.len()).collect();
    let index = |n: u32| narrow(n.into());
    let blobs = runs.iter().map(|run| index(run.place.blob)).max().unwrap_or(0).saturating_add(1);
    let last = runs.iter().map(|run| index(run.place.subfile)).max().unwrap_or(0);
    let cells = last.saturating_add(1).saturating_mul(blobs);
    if cells <= runs.len().saturating_mul(4).saturating_add(4096) {
        let cell = |run: &Run| {
            let first = index(run.place.subfile).saturating_mul(blobs);
            first.saturating_add(index(run.place.blob))
        };
        let mut ends = vec![0_usize; cells.saturating_add(1)];
        for run in runs {
            if let Some(count) = ends.get_mut(cell(run).saturating_add(1)) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_usize;
        for end in &mut ends {
            sum = sum.saturating_add(*end);
            *end = sum;
        }
        for (number, run) in runs.iter().enumerate() {
            let Some(next) = ends.get_mut(cell(run)) else { continue };
            if let Some(place) = order.get_mut(*next) {
                *place = number;
            }
            *next = next.saturating_add(1);
        }
    }
    let place = |&number: &usize| runs.get(number).map(|run| run.place);
    if !order.is_sorted_by_key(place) {
        order.sort_unstable_by_key(place);
    }
    order
}

/// Calls `each` with pairs of items: with four in a turn, as the end of the loop costs as much as
/// an item.
fn each_pair<A: Copy, B: Copy>(first: &[A], second: &[B], mut each: impl FnMut(A, B)) {
    let len = first.len().min(second.len());
    let all = (first.get(..len).unwrap_or_default(), second.get(..len).unwrap_or_default());
    let ((fours, rest), (others, last)) = (all.0.as_chunks(), all.1.as_chunks());
    for (&[a, b, c, d], &[e, f, g, h]) in fours.iter().zip(others) {
        [(a, e), (b, f), (c, g), (d, h)].into_iter().for_each(|(one, other)| each(one, other));
    }
    rest.iter().zip(last).for_each(|(&one, &other)| each(one, other));
}

/// The whole values at the front of some bytes.
const fn whole(len: usize, size: usize) -> usize {
    match len.checked_rem(size) {
        Some(rest) => len.saturating_sub(rest),
        None => 0,
    }
}

/// Copies values. Most runs are short: a call of memcpy, as the compiler makes it of a loop, costs
/// more than they do. So up to 16 values are two arrays that overlap.
fn copy<const N: usize, const SWAP: bool>(to: &mut [[u8; N]], from: &[[u8; N]]) {
    fn ends<const N: usize, const COUNT: usize>(to: &mut [[u8; N]], from: &[[u8; N]]) {
        let values = from.first_chunk::<COUNT>().copied().zip(from.last_chunk::<COUNT>().copied());
        let Some((first, last)) = values else { return };
        if let Some(to) = to.first_chunk_mut::<COUNT>() {
            *to = first;
        }
        if let Some(to) = to.last_chunk_mut::<COUNT>() {
            *to = last;
        }
    }
    match to.len() {
        1 => ends::<N, 1>(to, from),
        2..4 => ends::<N, 2>(to, from),
        4..8 => ends::<N, 4>(to, from),
        8..=16 => ends::<N, 8>(to, from),
        _ => to.copy_from_slice(from),
    }
    if SWAP {
        to.iter_mut().for_each(|value| value.reverse());
    }
}
