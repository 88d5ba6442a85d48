//! Where the elements of a canonical array are in the subfiles.
//!
//! The requests of all blobs, sorted by their offsets in the array, are [`Runs`]. An element that
//! several blobs have is taken from the lowest rank: the first subfile, in it the first blob, and
//! in it the first place. (World ranks are not stored. If each subfile has the ranks of one node,
//! in order, as E3SM-IO makes them, this is the lowest world rank.) An element that no blob has is
//! a *hole*.

use crate::blob::error::Error;
use crate::cdf::layout::{Layout, Region, Slab};
use crate::sort::sort_by_key;
use crate::span::Span;
use crate::store::usize_to_u64;

/// The place of an element in a set. Places are ordered as they are taken if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Place {
    /// The number of the subfile.
    pub subfile: u32,
    /// The number of the blob in the subfile.
    pub blob: u32,
    /// The number of the element in the blob.
    pub position: u64,
}

/// Elements that follow each other in the array and in a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Run {
    /// The offset of the first element in the flattened array.
    pub offset: u64,
    /// The number of elements.
    pub len: u64,
    /// The place of the first element.
    pub place: Place,
}

impl Run {
    /// The offset after the last element.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }

    /// The part inside an array of `total` elements; `None` if there is none.
    #[must_use]
    pub const fn clipped(self, total: u64) -> Option<Self> {
        let Some(room) = total.checked_sub(self.offset) else { return None };
        let len = if self.len < room { self.len } else { room };
        if len == 0 { None } else { Some(Self { len, ..self }) }
    }

    /// The elements from `offset` to `end`, which must be in the run.
    const fn part(self, offset: u64, end: u64) -> Self {
        let position = self.place.position.saturating_add(offset.saturating_sub(self.offset));
        let place = Place { position, ..self.place };
        Self { offset, len: end.saturating_sub(offset), place }
    }

    /// Whether `next` is the next part of the same run.
    fn continues_in(&self, next: &Self) -> bool {
        let Place { subfile, blob, position } = self.place;
        let position = position.saturating_add(self.len);
        self.end() == next.offset && next.place == Place { subfile, blob, position }
    }
}

/// Runs that are in the order of their offsets and do not overlap. `M` is memory that holds them: a
/// slice or a box.
///
/// ```
/// use striae_core::blob::find::{Place, Run, Runs, resolve, sort};
///
/// let run = |blob, offset, len| Run { offset, len, place: Place { blob, ..Place::default() } };
/// let mut requests = [run(0, 4, 3), run(1, 6, 4), run(2, 0, 2)];
/// sort(&mut requests);
/// let mut spare = [Run::default(); 9]; // only if they overlap
/// let runs = Runs::new(resolve(&mut requests, &mut spare)?).unwrap();
///
/// assert_eq!(runs.covered(), 8);
/// assert_eq!(runs.find(6).unwrap().place.blob, 0); // the lowest rank
/// assert_eq!(runs.find(7).unwrap().place, Place { subfile: 0, blob: 1, position: 1 });
/// assert_eq!(runs.find(3), None); // a hole
/// # Ok::<(), striae_core::blob::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Runs<M> {
    runs: M,
}

/// Sorts runs by offset, and those with one offset by place.
pub fn sort(runs: &mut [Run]) {
    sort_by_key(runs, |run| (run.offset, run.place));
}

/// Whether sorted runs overlap.
#[must_use]
pub fn overlap(sorted: &[Run]) -> bool {
    sorted.windows(2).any(|pair| match pair {
        [first, second] => second.offset < first.end(),
        _ => false,
    })
}

/// The runs without overlaps: each element is that of the first place. `sorted` are all runs in the
/// order of [`sort`]. `spare` needs three times as many entries if they overlap, and none if not.
///
/// # Errors
/// [`Error::Memory`] if `spare` is too short.
pub fn resolve<'m>(sorted: &'m mut [Run], spare: &'m mut [Run]) -> Result<&'m [Run], Error> {
    if !overlap(sorted) {
        return Ok(sorted);
    }
    let need = sorted.len().saturating_mul(3);
    let short = Error::Memory { need: usize_to_u64(need), room: usize_to_u64(spare.len()) };
    if spare.len() < need {
        return Err(short);
    }
    let (heap, out) = spare.split_at_mut_checked(sorted.len()).ok_or(short)?;
    let mut sweep = Sweep { heap, active: 0, out, count: 0, at: 0 };
    for &run in sorted.iter().filter(|run| run.len != 0) {
        sweep.advance(run.offset);
        sweep.at = run.offset;
        sweep.push(run);
    }
    sweep.advance(u64::MAX);
    let Sweep { out, count, .. } = sweep;
    out.get(..count).ok_or(short)
}

/// A walk over an array from start to end that knows all runs with elements at its place.
struct Sweep<'m> {
    /// The active runs as a heap, that with the first place first.
    heap: &'m mut [Run],
    active: usize,
    out: &'m mut [Run],
    count: usize,
    at: u64,
}

impl Sweep<'_> {
    /// Adds the elements before `end` to the output. Each turn ends a run, or is the last one.
    fn advance(&mut self, end: u64) {
        while let Some(&first) = self.heap.first().filter(|_| self.active > 0 && self.at < end) {
            if first.end() <= self.at {
                self.pop();
                continue;
            }
            let stop = first.end().min(end);
            self.add(first.part(self.at, stop));
            self.at = stop;
        }
    }

    /// Adds to the output. It has at most two pieces for each run: one that ends where the run
    /// ends, and one that ends where another run begins.
    fn add(&mut self, piece: Run) {
        let last = self.count.checked_sub(1).and_then(|last| self.out.get_mut(last));
        if let Some(last) = last.filter(|last| last.continues_in(&piece)) {
            last.len = last.len.saturating_add(piece.len);
            return;
        }
        if let Some(place) = self.out.get_mut(self.count) {
            *place = piece;
            self.count = self.count.saturating_add(1);
        }
    }

    fn push(&mut self, run: Run) {
        let mut at = self.active;
        self.active = self.active.saturating_add(1);
        if let Some(place) = self.heap.get_mut(at) {
            *place = run;
        }
        while let Some(parent) = at.checked_sub(1).map(|at| at / 2) {
            if !self.is_before(at, parent) {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn pop(&mut self) {
        let Some(last) = self.active.checked_sub(1) else { return };
        self.active = last;
        let Some(&moved) = self.heap.get(last) else { return };
        if let Some(first) = self.heap.first_mut() {
            *first = moved;
        }
        let mut at = 0_usize;
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let child = if right < last && self.is_before(right, left) { right } else { left };
            if child >= last || !self.is_before(child, at) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }

    /// `swap` of the core library contains a panic.
    fn swap(&mut self, one: usize, other: usize) {
        let (Some(&first), Some(&second)) = (self.heap.get(one), self.heap.get(other)) else {
            return;
        };
        for (at, run) in [(one, second), (other, first)] {
            if let Some(place) = self.heap.get_mut(at) {
                *place = run;
            }
        }
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        match (self.heap.get(one), self.heap.get(other)) {
            (Some(one), Some(other)) => one.place < other.place,
            _ => false,
        }
    }
}

/// A part of an array: elements at one place, or a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The offset of the first element in the flattened array.
    pub offset: u64,
    /// The number of elements.
    pub len: u64,
    /// The place of the first element; `None` for a hole.
    pub place: Option<Place>,
}

impl<M: AsRef<[Run]>> Runs<M> {
    /// Takes runs as they are; `None` if they are not in order, or overlap.
    #[must_use]
    pub fn new(runs: M) -> Option<Self> {
        let all = runs.as_ref();
        let is_sorted = all.is_sorted_by_key(|run| run.offset);
        (is_sorted && !overlap(all)).then_some(Self { runs })
    }

    /// The runs in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Run] {
        self.runs.as_ref()
    }

    /// The number of elements that are not in holes.
    #[must_use]
    pub fn covered(&self) -> u64 {
        self.as_slice().iter().fold(0, |sum, run| sum.saturating_add(run.len))
    }

    /// The elements from `element` on that follow it in the array and in its blob; `None` if it is
    /// in a hole.
    #[must_use]
    pub fn find(&self, element: u64) -> Option<Run> {
        let run = *self.from(element).first()?;
        (run.offset <= element).then(|| run.part(element, run.end()))
    }

    /// The runs that end after `element`.
    fn from(&self, element: u64) -> &[Run] {
        let all = self.as_slice();
        let first = all.partition_point(|run| run.end() <= element);
        all.get(first..).unwrap_or_default()
    }

    /// The elements of a span of the array, as elements at places and holes, in order.
    pub fn pieces(&self, span: Span) -> impl Iterator<Item = Piece> {
        let (mut runs, mut at) = (self.from(span.offset()).iter().peekable(), span.offset());
        core::iter::from_fn(move || {
            let left = Some(span.end().saturating_sub(at)).filter(|&left| left > 0)?;
            let next = runs.peek().copied();
            let (len, place) = match next.filter(|run| run.offset <= at) {
                None => (next.map_or(left, |run| run.offset.saturating_sub(at).min(left)), None),
                Some(run) => {
                    runs.next();
                    let part = run.part(at, run.end());
                    (part.len.min(left), Some(part.place))
                }
            };
            let piece = Piece { offset: at, len, place };
            at = at.saturating_add(len);
            Some(piece)
        })
    }
}

/// A part of a region: elements that follow each other in a blob and in the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Take {
    /// The place of the first element.
    pub place: Place,
    /// The number of elements.
    pub len: u64,
    /// The number of the first element in the region.
    pub to: u64,
}

/// Finds the elements of a region of an array, in portions that fit into the caller's memory. In
/// each portion they are in the order of the subfiles.
///
/// ```
/// use striae_core::blob::find::{Gather, Place, Run, Runs, Take};
/// use striae_core::cdf::Region;
///
/// // a 2 x 3 array; the first column is in subfile 1
/// let run = |subfile, offset, len, position| {
///     Run { offset, len, place: Place { subfile, blob: 0, position } }
/// };
/// let runs = [run(1, 0, 1, 0), run(0, 1, 2, 0), run(1, 3, 1, 1), run(0, 4, 2, 2)];
/// let runs = Runs::new(&runs[..]).unwrap();
///
/// let region = Region { start: &[0, 0], count: &[2, 2], stride: None };
/// let mut gather = Gather::new(&runs, &[2, 3], region)?;
/// let mut memory = [Take::default(); 16];
/// let takes = gather.fill(&mut memory).iter();
/// let takes = takes.map(|take| (take.place.subfile, take.place.position, take.to));
/// let takes: Vec<_> = takes.collect();
/// assert_eq!(takes, [(0, 0, 1), (0, 2, 3), (1, 0, 0), (1, 1, 2)]);
/// # Ok::<(), striae_core::cdf::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Gather<'a, M> {
    runs: &'a Runs<M>,
    slab: Slab<'a>,
    /// The next row of the slab: elements that follow each other in the array.
    row: u64,
    /// The elements of that row that were passed already.
    done: u64,
}

impl<'a, M: AsRef<[Run]>> Gather<'a, M> {
    /// Starts at the first element of the region. `shape` are the lengths of the array, without the
    /// record dimension.
    ///
    /// # Errors
    /// The errors of [`Slab::new`].
    pub fn new(
        runs: &'a Runs<M>,
        shape: &'a [u64],
        region: Region<'a>,
    ) -> Result<Self, crate::cdf::Error> {
        let layout = Layout { first: Span::ZERO, recsize: None, value_len: 1 };
        Ok(Self { runs, slab: Slab::new(layout, shape, region)?, row: 0, done: 0 })
    }

    /// The number of elements of the region.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.slab.len()
    }

    /// Whether the region has no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next elements of the region that are not in holes, sorted by place: as many as fit into
    /// `memory`. After the last ones, it is empty.
    ///
    /// The steps are a few for each run and for each entry of `memory`, however long the region and
    /// its holes are.
    pub fn fill<'b>(&mut self, memory: &'b mut [Take]) -> &'b [Take] {
        let mut count = 0_usize;
        while let Some(row) = self.slab.run(self.row) {
            let span = row.skip(self.done);
            let next = self.runs.from(span.offset()).first().map_or(u64::MAX, |run| run.offset);
            if next >= row.end() {
                (self.row, self.done) = (self.row_with(next), 0);
                continue;
            }
            let mut is_full = false;
            for piece in self.runs.pieces(span) {
                if let Some(place) = piece.place {
                    let Some(free) = memory.get_mut(count) else {
                        is_full = true;
                        break;
                    };
                    let to = self.row.saturating_mul(row.len()).saturating_add(self.done);
                    *free = Take { place, len: piece.len, to };
                    count = count.saturating_add(1);
                }
                self.done = self.done.saturating_add(piece.len);
            }
            if is_full {
                break;
            }
            (self.row, self.done) = (self.row.saturating_add(1), 0);
        }
        let taken = memory.get_mut(..count).unwrap_or_default();
        sort_by_key(taken, |take| (take.place, take.to));
        taken
    }

    /// The first of the next rows that ends after `element`: rows are in the order of the array.
    fn row_with(&self, element: u64) -> u64 {
        let (mut row, mut end) = (self.row, self.slab.count());
        while row < end {
            let middle = row.saturating_add(end.saturating_sub(row) / 2);
            match self.slab.run(middle) {
                Some(span) if span.end() <= element => row = middle.saturating_add(1),
                _ => end = middle,
            }
        }
        row
    }
}
