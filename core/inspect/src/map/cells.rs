//! Pictures of a file: cells of equal length.

use super::{Kind, Map, Region};
use crate::subject::{Failed, Subject};
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::span::Span;

/// The most regions of a cell that are all examined. After them, only tables and [`SAMPLES`] places
/// are examined.
pub const MOST_REGIONS: u32 = 32;

/// Number of samples in a run without tables, if a cell has too many regions.
pub const SAMPLES: u64 = 16;

/// Numbers of bytes of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amounts([u64; Kind::COUNT]);

impl Amounts {
    /// Adds bytes of a kind.
    pub fn add(&mut self, kind: Kind, bytes: u64) {
        let amounts = Kind::ALL.iter().zip(&mut self.0);
        if let Some((_, amount)) = amounts.into_iter().find(|(other, _)| **other == kind) {
            *amount = amount.saturating_add(bytes);
        }
    }

    /// Adds the bytes of other amounts.
    pub fn add_all(&mut self, other: &Self) {
        other.present().for_each(|(kind, bytes)| self.add(kind, bytes));
    }

    /// The kinds with at least one byte, and their bytes.
    pub fn present(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        Kind::ALL.into_iter().zip(self.0).filter(|(_, bytes)| *bytes > 0)
    }

    /// The sum of all bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The kind with the most bytes.
    fn most(&self) -> Option<Kind> {
        let most = |a: (Kind, u64), b: (Kind, u64)| if b.1 > a.1 { b } else { a };
        self.present().reduce(most).map(|(kind, _)| kind)
    }
}

/// A part of a file, and the kinds of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The place in the file.
    pub span: Span,
    /// Bytes of each kind; their sum is the length of the cell.
    pub amounts: Amounts,
    /// The kind with the most bytes.
    pub kind: Kind,
    /// The owner of at least half of the bytes of that kind, if there is one.
    pub owner: Option<u64>,
    /// The most important table in the cell, however short, if its kind is not `kind`.
    pub mark: Option<Kind>,
}

/// The cells of a file, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// Bytes of each cell; the last one may be shorter.
    pub cell_len: NonZeroU64,
    /// The cells; each has at least one byte.
    pub cells: Vec<Cell>,
    /// Bytes of each kind in all cells.
    pub amounts: Amounts,
    /// Whether amounts are estimates, except for tables with a fixed place: a cell has more regions
    /// than [`MOST_REGIONS`], or the map has examined only neighbours of a place.
    pub is_sampled: bool,
}

/// A cell that is being summed up.
struct Filling {
    amounts: Amounts,
    /// Length and owner of the longest region of each kind.
    longest: [(u64, Option<u64>); Kind::COUNT],
    mark: Option<Kind>,
}

impl Filling {
    fn add(&mut self, region: &Region, bytes: u64) {
        self.amounts.add(region.kind, bytes);
        let kinds = Kind::ALL.iter().zip(&mut self.longest);
        for (_, longest) in kinds.filter(|(kind, _)| **kind == region.kind) {
            if bytes > longest.0 {
                *longest = (bytes, region.owner);
            }
        }
        if !region.name.is_empty() && region.kind != Kind::Free {
            self.mark = Some(self.mark.map_or(region.kind, |mark| mark.min(region.kind)));
        }
    }

    fn cell(self, span: Span) -> Cell {
        let kind = self.amounts.most().unwrap_or(Kind::Unknown);
        let all = self.amounts.present().find(|(other, _)| *other == kind);
        let half = all.map_or(0, |(_, bytes)| bytes.div_ceil(2));
        let mut longest = Kind::ALL.iter().zip(self.longest).filter(|(other, _)| **other == kind);
        let owner = longest.find_map(|(_, (bytes, owner))| owner.filter(|_| bytes >= half));
        let mark = self.mark.filter(|mark| *mark != kind);
        Cell { span, amounts: self.amounts, kind, owner, mark }
    }
}

impl<S: Subject, F> Map<'_, S, F> {
    /// The file in cells of `cell_len` bytes; the last one may be shorter.
    ///
    /// # Errors
    /// An error of the store.
    pub fn cells(&mut self, cell_len: NonZeroU64) -> Result<Cells, Failed<S, F>> {
        self.cells_of(Span::new(0, self.file_len).unwrap_or(Span::ZERO), cell_len)
    }

    /// A part of the file in cells of `cell_len` bytes; the last one may be shorter. What is after
    /// the end of the file is left out.
    ///
    /// # Errors
    /// An error of the store.
    pub fn cells_of(&mut self, part: Span, cell_len: NonZeroU64) -> Result<Cells, Failed<S, F>> {
        let part = Span::between(part.offset(), part.end().min(self.file_len));
        let mut all =
            Cells { cell_len, cells: Vec::new(), amounts: Amounts::default(), is_sampled: false };
        let mut last = None;
        for span in part.unwrap_or(Span::ZERO).pieces(cell_len) {
            let mut filling =
                Filling { amounts: Amounts::default(), longest: Default::default(), mark: None };
            all.is_sampled |= self.fill(span, &mut last, &mut filling)?;
            let cell = filling.cell(span);
            all.amounts.add_all(&cell.amounts);
            all.cells.push(cell);
        }
        all.is_sampled |= self.body.is_near();
        Ok(all)
    }

    /// Adds all regions of `span`; returns whether some were sampled. `last` is the last region
    /// that was found, which may continue here.
    fn fill(
        &mut self,
        span: Span,
        last: &mut Option<Region>,
        filling: &mut Filling,
    ) -> Result<bool, Failed<S, F>> {
        let (mut at, mut left, mut is_sampled) = (span.offset(), MOST_REGIONS, false);
        while at < span.end() {
            let region = match *last {
                Some(region) if at < region.span.end() => region,
                _ => self.at(at)?,
            };
            *last = Some(region);
            let mut end = region.span.end().min(span.end());
            if left == 0 && region.name.is_empty() {
                let next = self.parts.partition_point(|part| part.span.offset() <= at);
                let next = self.parts.get(next).map_or(u64::MAX, |part| part.span.offset());
                end = span.end().min(next);
                self.sample(at, end, filling)?;
                is_sampled = true;
            } else {
                filling.add(&region, end.saturating_sub(at));
                left = left.saturating_sub(1);
            }
            at = end;
        }
        Ok(is_sampled)
    }

    /// Adds samples of the bytes from `start` to `end`, each for its whole part.
    ///
    /// The run is cut into [`SAMPLES`] equal parts, with one sample at a random place of each:
    /// chunks repeat, so samples at equal distances could all be of one task. The random places
    /// depend only on the offsets, so a file always has the same picture.
    fn sample(&mut self, start: u64, end: u64, filling: &mut Filling) -> Result<(), Failed<S, F>> {
        let run = Span::between(start, end).unwrap_or(Span::ZERO);
        let len = NonZeroU64::new(run.len().div_ceil(SAMPLES)).unwrap_or(NonZeroU64::MIN);
        for piece in run.pieces(len) {
            // Knuth's multiplicative hash; its high bits are the best ones.
            let random = piece.offset().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let skip = random.checked_rem(piece.len()).unwrap_or(0);
            let region = self.at(piece.offset().saturating_add(skip))?;
            filling.add(&region, piece.len());
        }
        Ok(())
    }
}
