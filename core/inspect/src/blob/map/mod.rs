//! Decomposition maps in memory: text maps of PIO and netCDF maps of E3SM-IO.

mod columns;
mod dump;
mod finding;
mod netcdf;
mod origin;
pub mod recover;
mod regions;
mod tokens;
mod verify;
mod write;

pub use dump::dump;
pub use finding::{FindingKind, error_facts};
pub use netcdf::is_netcdf;
pub use origin::{Assignment, Lists, Order, Origin, assign, origin};
pub use regions::map;
pub use verify::{Summary, damage_of_netcdf, verify};
pub use write::{MAX_NPROCS, NetCdf, text, text_len};

use crate::subject::{Failed, WINDOW, read, read_windows};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;
use netcdf::{read_table, tables};
use striae_core::blob::find::{Place, Run};
use striae_core::blob::map::{Error, Event, Grid, Join, Parser, Request, Rule};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// The first bytes of a text map.
pub const TEXT_MAGIC: &[u8] = b"version ";

/// The decompositions of a case: which elements each rank has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    nprocs: u64,
    decompositions: Vec<Decomposition>,
}

/// A decomposition of an array.
///
/// Its memory is 16 bytes for each request and 32 bytes for each rank that the file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposition {
    id: NonZeroU32,
    dims: Vec<u64>,
    grid: Grid,
    nprocs: u64,
    requests: Vec<Request>,
    lists: Vec<List>,
    /// The first damage of a text map that its requests do not show: an element that is larger
    /// than the array, and was left out, or a last number without an end.
    damage: Option<FindingKind>,
}

/// The requests of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
struct List {
    rank: u64,
    requests: Range<usize>,
    /// The end of those that fill holes; they follow the others.
    fills_end: usize,
}

impl Map {
    /// Reads a netCDF map by [`Rule::Nreqs`], or a text map, which is decomposition 1.
    ///
    /// # Errors
    /// [`Error`] if the file is no map or is damaged; an error of the store.
    pub fn read<S: ReadAt>(store: &S) -> Result<Self, Failed<S, Error>> {
        Self::read_by(store, Rule::Nreqs)
    }

    /// Reads a map as [`read`](Self::read) does, a netCDF map by this rule.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    pub fn read_by<S: ReadAt>(store: &S, rule: Rule) -> Result<Self, Failed<S, Error>> {
        if is_text(store)? {
            let decomposition = read_text(store, NonZeroU32::MIN, &mut |error| Err(error))?;
            return Ok(Self { nprocs: decomposition.nprocs, decompositions: vec![decomposition] });
        }
        let mut map = Self { nprocs: 0, decompositions: Vec::new() };
        for table in tables(store)? {
            map.nprocs = table.nprocs(); // as that of the others
            let read = read_table(store, &table, rule, &mut |error| Err(error))?;
            map.decompositions.push(read);
        }
        Ok(map)
    }

    /// Joins maps to one: the decompositions are numbered in the order of the maps.
    ///
    /// # Errors
    /// [`Error::Nprocs`] if they are for different numbers of ranks; [`Error::NotMap`] if there is
    /// no map.
    pub fn join(maps: Vec<Self>) -> Result<Self, Error> {
        let nprocs = maps.first().ok_or(Error::NotMap)?.nprocs;
        let mut decompositions = Vec::new();
        let all = maps.into_iter().flat_map(|map| map.decompositions);
        for (id, decomposition) in (1..).map_while(NonZeroU32::new).zip(all) {
            if decomposition.nprocs != nprocs {
                let nprocs_here = decomposition.nprocs;
                return Err(Error::Nprocs { id, nprocs: nprocs_here, expected: nprocs });
            }
            decompositions.push(Decomposition { id, ..decomposition });
        }
        Ok(Self { nprocs, decompositions })
    }

    /// The number of ranks.
    #[must_use]
    pub const fn nprocs(&self) -> u64 {
        self.nprocs
    }

    /// The decompositions in order.
    #[must_use]
    pub fn decompositions(&self) -> &[Decomposition] {
        &self.decompositions
    }

    /// The decomposition with this number, from 1.
    #[must_use]
    pub fn decomposition(&self, id: NonZeroU32) -> Option<&Decomposition> {
        self.decompositions.iter().find(|decomposition| decomposition.id == id)
    }

    /// The first finding of damage, as [`verify`] reports it; `None` if the map is sound.
    #[must_use]
    pub fn damage(&self) -> Option<FindingKind> {
        self.decompositions.iter().find_map(verify::damage_of)
    }
}

impl Decomposition {
    /// A decomposition of an array of these dimensions, without requests so far.
    fn new(id: NonZeroU32, dims: Vec<u64>, nprocs: u64) -> Result<Self, Error> {
        let grid = Grid::new(&dims).ok_or(Error::Grid { id })?;
        let (requests, lists) = (Vec::new(), Vec::new());
        Ok(Self { id, dims, grid, nprocs, requests, lists, damage: None })
    }

    /// The number, from 1.
    #[must_use]
    pub const fn id(&self) -> NonZeroU32 {
        self.id
    }

    /// The lengths of the array's dimensions, the slowest first.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The array.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        self.grid
    }

    /// The requests of a rank, in the order of the map; none if the map does not have the rank.
    #[must_use]
    pub fn requests(&self, rank: u64) -> &[Request] {
        let list = self.list(rank).map(|list| list.requests.clone());
        list.and_then(|list| self.requests.get(list)).unwrap_or_default()
    }

    /// The requests of a rank that fill holes.
    #[must_use]
    pub fn fills(&self, rank: u64) -> &[Request] {
        let list = self.list(rank).map(|list| list.requests.end..list.fills_end);
        list.and_then(|list| self.requests.get(list)).unwrap_or_default()
    }

    fn list(&self, rank: u64) -> Option<&List> {
        let found = self.lists.binary_search_by_key(&rank, |list| list.rank).ok()?;
        self.lists.get(found)
    }

    /// The ranks that have requests, in order.
    pub fn ranks(&self) -> impl Iterator<Item = u64> + '_ {
        self.lists.iter().map(|list| list.rank)
    }

    /// The number of requests, without those that fill holes.
    #[must_use]
    pub fn count(&self) -> u64 {
        let count = |list: &List| usize_to_u64(list.requests.len());
        self.lists.iter().map(count).fold(0, u64::saturating_add)
    }

    /// The requests of all ranks, not sorted: the blob is the rank, the position the number of the
    /// request in its list. Ranks from 2^32 on are left out.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        self.runs_of(|list| list.requests.clone())
    }

    /// The requests of all ranks with those that fill holes, which follow the others of a rank;
    /// none if no rank has such requests.
    fn runs_with_fills(&self) -> Vec<Run> {
        let has_fills = self.lists.iter().any(|list| list.requests.end < list.fills_end);
        if !has_fills {
            return Vec::new();
        }
        self.runs_of(|list| list.requests.start..list.fills_end)
    }

    fn runs_of(&self, part: impl Fn(&List) -> Range<usize>) -> Vec<Run> {
        let mut runs = Vec::new();
        for list in &self.lists {
            let Ok(blob) = u32::try_from(list.rank) else { continue };
            let requests = self.requests.get(part(list)).unwrap_or_default();
            for (position, one) in (0..).zip(requests) {
                let place = Place { subfile: 0, blob, position };
                runs.push(Run { offset: one.offset, len: one.len, place });
            }
        }
        runs
    }

    fn push(&mut self, rank: u64, start: usize, end: usize) {
        let fills_end = self.requests.len();
        self.lists.push(List { rank, requests: start..end, fills_end });
    }
}

/// Whether the file in `store` is a text map.
///
/// # Errors
/// An error of the store.
pub fn is_text<S: ReadAt>(store: &S) -> Result<bool, Failed<S, Error>> {
    let len = store.size().map_err(DriveError::Store)?;
    let mut start = [0; TEXT_MAGIC.len()];
    if len < usize_to_u64(start.len()) {
        return Ok(false);
    }
    read(store, 0, &mut start)?;
    Ok(start == *TEXT_MAGIC)
}

/// What to do with an error after which reading can go on.
type OnError<'a> = &'a mut dyn FnMut(Error) -> Result<(), Error>;

/// Reads a text map. `on_error` gets errors after which reading goes on.
fn read_text<S: ReadAt>(
    store: &S,
    id: NonZeroU32,
    on_error: OnError<'_>,
) -> Result<Decomposition, Failed<S, Error>> {
    let mut text = Text::new(id);
    let end = each_event(store, &mut |event, line| match event {
        Ok(event) => text.take(event, line),
        Err(error) => {
            on_error(error)?;
            text.skip();
            Ok(())
        }
    })?;
    let mut read = text.finish().map_err(DriveError::Format)?;
    if let Some((line, offset)) = end {
        read.damage = read.damage.or(Some(FindingKind::NoEnd { id, line, offset }));
    }
    Ok(read)
}

/// What to do with an event and its line, or with an error after which reading can go on.
type OnEvent<'a> = &'a mut dyn FnMut(Result<Event, Error>, u64) -> Result<(), Error>;

/// Reads a text map. Returns the line and the end of the file if that is the end of a number, which
/// may lack digits.
fn each_event<S: ReadAt>(
    store: &S,
    each: OnEvent<'_>,
) -> Result<Option<(u64, u64)>, Failed<S, Error>> {
    let len = store.size().map_err(DriveError::Store)?;
    let all = Span::new(0, len).unwrap_or(Span::ZERO);
    let mut parser = Parser::default();
    read_windows(store, all, WINDOW, &mut Vec::new(), |_, mut bytes| {
        loop {
            let line = parser.line();
            let event = match parser.feed(&mut bytes) {
                Ok(Some(event)) => Ok(event),
                Ok(None) => return Ok(true),
                Err(error) if tokens::is_resumable(&error) => Err(error),
                Err(error) => return Err(DriveError::Format(error)),
            };
            each(event, line).map_err(DriveError::Format)?;
        }
    })?;
    let line = parser.line();
    let last = parser.finish().map_err(DriveError::Format)?;
    let Some(event) = last else { return Ok(None) };
    each(Ok(event), line).map_err(DriveError::Format)?;
    Ok(Some((line, len)))
}

/// A text map so far.
struct Text {
    id: NonZeroU32,
    nprocs: u64,
    ndims: u64,
    /// The fastest first.
    dims: Vec<u64>,
    /// The decomposition, and what joins its elements, when all dimensions are known.
    known: Option<(Decomposition, Join)>,
    /// The rank at hand, and its first request; `None` if it is skipped.
    rank: Option<(u64, usize)>,
    is_skipped: bool,
    /// The number of the next element in the rank's list.
    index: u64,
}

impl Text {
    fn new(id: NonZeroU32) -> Self {
        let (dims, known, rank) = (Vec::new(), None, None);
        Self { id, nprocs: 0, ndims: 0, dims, known, rank, is_skipped: false, index: 0 }
    }

    /// Takes an event of a line.
    fn take(&mut self, event: Event, line: u64) -> Result<(), Error> {
        match event {
            Event::Head { nprocs, ndims } => (self.nprocs, self.ndims) = (nprocs, ndims),
            Event::Dim { length } => {
                self.dims.push(length);
                if usize_to_u64(self.dims.len()) == self.ndims {
                    self.begin()?;
                }
            }
            Event::Rank { rank, .. } => {
                self.end_rank();
                let first = self.known.as_ref().map_or(0, |(known, _)| known.requests.len());
                // After an error the rank is that of the error.
                self.rank = (!core::mem::take(&mut self.is_skipped)).then_some((rank, first));
                self.index = 0;
            }
            Event::Element { element, offset } => {
                if let (Some((known, join)), Some((rank, _))) = (&mut self.known, self.rank) {
                    let (id, index, total) = (self.id, self.index, known.grid.total());
                    if total < element && known.damage.is_none() {
                        let beyond =
                            FindingKind::Beyond { id, rank, index, line, offset, element, total };
                        known.damage = Some(beyond);
                    }
                    let offset = known.grid.offset_of(element);
                    known.requests.extend(offset.and_then(|offset| join.push(offset)));
                }
                self.index = self.index.saturating_add(1);
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        let dims = self.dims.iter().rev().copied().collect();
        let known = Decomposition::new(self.id, dims, self.nprocs)?;
        let join = Join::new(known.grid);
        self.known = Some((known, join));
        Ok(())
    }

    /// Leaves out the next rank.
    const fn skip(&mut self) {
        self.is_skipped = true;
    }

    fn end_rank(&mut self) {
        if let (Some((known, join)), Some((rank, first))) = (&mut self.known, self.rank.take()) {
            known.requests.extend(join.finish());
            known.push(rank, first, known.requests.len());
        }
    }

    fn finish(mut self) -> Result<Decomposition, Error> {
        self.end_rank();
        self.known.map(|(known, _)| known).ok_or(Error::Grid { id: self.id })
    }
}
