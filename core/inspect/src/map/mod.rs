//! Whose bytes are where in a file, at any length of it.
//!
//! A [`Map`] answers one question: what starts at this offset, and how far does it go. Tables that
//! have a fixed place are known when it is opened ([`Map::parts`]); what is between them is looked
//! up when it is asked for, by arithmetic and binary search. So a picture takes as much time as it
//! has [cells](Map::cells), not as the file has chunks; what takes more than that is said where a
//! map is opened.
//!
//! Each byte has one [`Kind`]. Metadata go before data, and what starts first goes before what
//! overlaps it, which is so in damaged files only.
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

/// Some bytes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where they are.
    pub span: Span,
    /// What they are.
    pub kind: Kind,
    /// Whose they are: the number of a task of the file, of a frame, or of a sample.
    pub owner: Option<u64>,
    /// The specification's name of a table; `""` of what is none.
    pub name: &'static str,
}

impl Region {
    /// A table.
    pub(crate) const fn table(span: Span, kind: Kind, name: &'static str) -> Self {
        Self { span, kind, owner: None, name }
    }

    /// What is no table.
    pub(crate) const fn of(span: Span, kind: Kind, owner: Option<u64>) -> Self {
        Self { span, kind, owner, name: "" }
    }

    /// What of it is in front of `end`.
    fn up_to(self, end: u64) -> Self {
        let end = self.span.end().min(end);
        Self { span: Span::between(self.span.offset(), end).unwrap_or(Span::ZERO), ..self }
    }
}

/// What a format has between its tables.
pub(crate) trait Body<S: Subject, F> {
    /// What is at `offset`, and how far it goes from there. It may say that it goes on where a
    /// table is.
    fn at(&mut self, store: &S, offset: u64) -> Result<Region, Failed<S, F>>;

    /// Whether it looked only at a part of what could matter.
    fn is_near(&self) -> bool {
        false
    }
}

/// Whose bytes are where in a file of a format whose errors are `F`.
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
    /// A map of tables, cut to the file, and of a body between them.
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

    /// Bytes of the file.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Tables that have a fixed place, in order.
    #[must_use]
    pub fn parts(&self) -> &[Region] {
        &self.parts
    }

    /// What owners are: `task`, `frame`, `sample`.
    #[must_use]
    pub const fn owner(&self) -> &'static str {
        self.owner
    }

    /// Why not all could be known when it was opened.
    #[must_use]
    pub const fn damage(&self) -> Option<&F> {
        self.damage.as_ref()
    }

    /// What is at `offset`, which is in the file, and how far it goes from there.
    ///
    /// # Errors
    /// The store's.
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

/// In order, and without what is in an earlier one, too.
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

/// The bytes from `offset` up to `end`; the one at `offset` if that is not behind it.
pub(crate) fn up_to(offset: u64, end: u64) -> Span {
    let least = offset.saturating_add(1);
    Span::between(offset, end.max(least)).unwrap_or(Span::ZERO)
}
