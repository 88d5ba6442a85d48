//! Maps of files: the purpose and the owner of each byte, for files of any length.
//!
//! A [`Map`] answers one question: which region starts at this offset, and how long is it. Tables
//! with a fixed place are read when the map is opened ([`Map::parts`]). Regions between them are
//! found on demand, by arithmetic and binary search. So the time of a picture depends on its number
//! of [cells](Map::cells), not on the number of chunks; exceptions are documented where a map is
//! opened.
//!
//! Each byte has one [`Kind`]. If regions overlap, which only happens in damaged files, metadata
//! win over data, and the region that starts first wins over later ones.
//!
//! | module | holds |
//! |---|---|
//! | `kind` | the legend |
//! | `cells` | cells of a picture, and how much of each kind is in them |

mod cells;
mod kind;

pub use cells::{Amounts, Cell, Cells, MOST_REGIONS, SAMPLES};
pub use kind::{Kind, Look};

use crate::subject::{Failed, Subject};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use striae_core::span::Span;
use striae_core::step::DriveError;

/// A span of bytes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The place in the file.
    pub span: Span,
    /// The kind of the bytes.
    pub kind: Kind,
    /// The owner of the bytes: the number of a task of the file, of a frame, or of a sample.
    pub owner: Option<u64>,
    /// The specification's name of the table; `""` if it is not a table.
    pub name: &'static str,
}

impl Region {
    /// Makes the region of a table.
    pub(crate) const fn table(span: Span, kind: Kind, name: &'static str) -> Self {
        Self { span, kind, owner: None, name }
    }

    /// Makes a region that is not a table.
    pub(crate) const fn of(span: Span, kind: Kind, owner: Option<u64>) -> Self {
        Self { span, kind, owner, name: "" }
    }

    /// The part of the region before `end`.
    fn up_to(self, end: u64) -> Self {
        let end = self.span.end().min(end);
        Self { span: Span::between(self.span.offset(), end).unwrap_or(Span::ZERO), ..self }
    }
}

/// The regions of a format between its tables.
pub(crate) trait Body<S: Subject, F> {
    /// The region that starts at `offset`. It may overlap a table after it.
    fn at(&mut self, store: &S, offset: u64) -> Result<Region, Failed<S, F>>;

    /// Whether it examines only neighbours of a place, so that it may miss regions.
    fn is_near(&self) -> bool {
        false
    }
}

/// A map of a file, of a format whose errors are `F`.
pub struct Map<'s, S: Subject, F> {
    store: &'s S,
    file_len: u64,
    parts: Vec<Region>,
    body: Box<dyn Body<S, F> + 's>,
    owner: &'static str,
    damage: Option<F>,
    has_holes: bool,
}

impl<'s, S: Subject, F> Map<'s, S, F> {
    /// Makes a map of tables, which are cut to the file, and of a body between them.
    pub(crate) fn new(
        store: &'s S,
        file_len: u64,
        parts: Vec<Region>,
        body: impl Body<S, F> + 's,
        (owner, damage): (&'static str, Option<F>),
    ) -> Result<Self, S::Error> {
        let all = Span::new(0, file_len).unwrap_or(Span::ZERO);
        let has_holes = store.first_data(all)? != Some(all);
        let cut = parts.into_iter().map(|part| part.up_to(file_len)).collect();
        let parts = disjoint(cut);
        Ok(Self { store, file_len, parts, body: Box::new(body), owner, damage, has_holes })
    }

    /// Length of the file in bytes.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Tables with a fixed place, in order.
    #[must_use]
    pub fn parts(&self) -> &[Region] {
        &self.parts
    }

    /// What an owner is: `task`, `frame`, `sample`.
    #[must_use]
    pub const fn owner(&self) -> &'static str {
        self.owner
    }

    /// The reason why the map is incomplete, if it is.
    #[must_use]
    pub const fn damage(&self) -> Option<&F> {
        self.damage.as_ref()
    }

    /// The region that starts at `offset`, which must be in the file.
    ///
    /// # Errors
    /// An error of the store.
    pub fn at(&mut self, offset: u64) -> Result<Region, Failed<S, F>> {
        let behind = self.parts.partition_point(|part| part.span.end() <= offset);
        let end = match self.parts.get(behind) {
            Some(part) if part.span.offset() <= offset => {
                let rest = Span::between(offset, part.span.end()).unwrap_or(Span::ZERO);
                return Ok(Region { span: rest, ..*part });
            }
            Some(part) => part.span.offset(),
            None => self.file_len,
        };
        let mut region = self.body.at(self.store, offset)?.up_to(end);
        if region.kind == Kind::Unclaimed && region.span.end() == self.file_len {
            region.kind = Kind::Tail;
        }
        if self.has_holes && region.kind.is_unread() {
            let data = self.store.first_data(region.span).map_err(DriveError::Store)?;
            let (start, end) = match data {
                Some(data) => (data.offset(), data.end()),
                None => (region.span.end(), region.span.end()),
            };
            region = match start > offset {
                true => Region { kind: Kind::Hole, ..region }.up_to(start),
                false => region.up_to(end),
            };
        }
        Ok(region)
    }
}

impl<S: Subject, F: fmt::Debug> fmt::Debug for Map<'_, S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_len, parts, damage, .. } = self;
        let mut out = f.debug_struct("Map");
        let out = out.field("file_len", file_len).field("parts", parts);
        out.field("damage", damage).finish_non_exhaustive()
    }
}

/// Sorts regions, and removes the parts of a region that are in an earlier one.
pub(crate) fn disjoint(mut regions: Vec<Region>) -> Vec<Region> {
    regions.sort_by_key(|region| region.span.offset());
    let mut covered = 0;
    regions.retain_mut(|region| {
        let start = region.span.offset().max(covered);
        region.span = Span::between(start, region.span.end()).unwrap_or(Span::ZERO);
        covered = covered.max(region.span.end());
        !region.span.is_empty()
    });
    regions
}

/// The span from `offset` to `end`; one byte if `end` is not after `offset`.
pub(crate) fn up_to(offset: u64, end: u64) -> Span {
    let least = offset.saturating_add(1);
    Span::between(offset, end.max(least)).unwrap_or(Span::ZERO)
}
