//! The copies of a seal: where they are, what they say, which one counts.

use crate::blob::disk::tie::Tie;
use crate::blob::error::Error;
use crate::blob::raw::{SealHead, SealRow, SealTie};
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::span::{Span, round_up};
use core::num::NonZeroU64;
use zerocopy::big_endian::{U32, U64};
use zerocopy::{IntoBytes, transmute};

/// Copies are in sectors of their own.
const SECTOR: NonZeroU64 = NonZeroU64::MIN.saturating_add(511);

pub(super) const HEAD_LEN: u64 = 64;
pub(super) const TIE_LEN: u64 = 24;
const _: () = assert!(size_of::<SealHead>() == 64 && size_of::<SealTie>() == 24);
const _: () = assert!(size_of::<SealRow>() == 4 && SealRow::LEN == 4);

/// The number of copies.
pub const COPIES: usize = 2;

/// The bytes of the header before those that a seal covers: magic and `numrecs`, which a writer
/// changes.
const CHANGING: usize = 12;

/// The CRC-32C of the bytes of a header that a seal covers.
#[must_use]
pub fn header_crc(header: &[u8], checksum: Checksum) -> u32 {
    checksum(0, header.get(CHANGING..).unwrap_or_default())
}

/// The numbers of rows of a seal's table: one for each blob of each variable. The variables of the
/// decompositions count, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shape {
    pub(super) nblobs: u32,
    pub(super) nvars: u32,
}

/// Where a copy of a seal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SealPlace {
    /// The head.
    pub head: Span,
    /// The [tie](SealTie), which the table follows; empty if the seal has none.
    pub tie: Span,
    /// The table of checksums, a [row](SealRow) each: those of the blobs of variable 0, then of
    /// variable 1, and so on.
    pub table: Span,
}

impl Shape {
    /// The shape of a subfile's seal; `None` if it has too many blobs or variables for one.
    #[must_use]
    pub fn new(nblobs: u64, nvars: u64) -> Option<Self> {
        let shape = Self { nblobs: nblobs.try_into().ok()?, nvars: nvars.try_into().ok()? };
        shape.gap_len().map(|_| shape)
    }

    /// The number of blobs.
    #[must_use]
    pub const fn nblobs(self) -> u32 {
        self.nblobs
    }

    /// The number of variables.
    #[must_use]
    pub const fn nvars(self) -> u32 {
        self.nvars
    }

    /// The number of checksums.
    #[must_use]
    pub fn rows(self) -> u64 {
        u64::from(self.nblobs).saturating_mul(self.nvars.into())
    }

    /// The row of a blob of a variable; `None` if there is none.
    #[must_use]
    pub fn row(self, variable: u32, blob: u32) -> Option<u64> {
        let is_in = variable < self.nvars && blob < self.nblobs;
        let first = u64::from(variable).checked_mul(self.nblobs.into());
        first.and_then(|first| first.checked_add(blob.into())).filter(|_| is_in)
    }

    fn table_len(self) -> Option<u64> {
        self.rows().checked_mul(SealRow::LEN)
    }

    /// The bytes that both copies need between the header and the first value, if the first value
    /// is in a sector of its own: a multiple of 512. `None` if they exceed `u64::MAX`.
    #[must_use]
    pub fn gap_len(self) -> Option<u64> {
        let len = HEAD_LEN.checked_add(TIE_LEN)?.checked_add(self.table_len()?)?;
        round_up(len, SECTOR)?.checked_mul(2)
    }

    /// The gap of a new file, if its header ends at `header_end`; `None` if its end exceeds
    /// `u64::MAX`.
    #[must_use]
    pub fn gap_after(self, header_end: u64) -> Option<Span> {
        let end = round_up(header_end, SECTOR)?.checked_add(self.gap_len()?)?;
        Span::between(header_end, end)
    }

    /// The places of the copies in a gap, which is from the end of the header to the first value;
    /// `None` if it has no room for them. Only seals of version 1 are not `tied`.
    ///
    /// The first copy begins with its head, at the first multiple of 512. The second one ends with
    /// its head, at the end of the gap: if the header is damaged, the copy at one of its ends is
    /// still found.
    #[must_use]
    pub fn places(self, gap: Span, tied: bool) -> Option<[SealPlace; COPIES]> {
        let heads = heads(gap)?;
        let (tie, len) = (if tied { TIE_LEN } else { 0 }, self.table_len()?);
        let [first, second] = heads;
        let starts = [first.end(), second.offset().checked_sub(tie.checked_add(len)?)?];
        let at = |head: Span, start: u64| {
            let tie = Span::new(start, tie)?;
            Some(SealPlace { head, tie, table: Span::new(tie.end(), len)? })
        };
        let [before, after] = starts;
        let places = [at(first, before)?, at(second, after)?];
        let [SealPlace { table: before, .. }, SealPlace { tie: after, .. }] = places;
        (before.end() <= after.offset()).then_some(places)
    }
}

/// The places of the heads in a gap, which do not depend on the numbers of rows; `None` if it has
/// no room for them.
#[must_use]
pub fn heads(gap: Span) -> Option<[Span; COPIES]> {
    let first = Span::new(round_up(gap.offset(), SECTOR)?, HEAD_LEN)?;
    let second = Span::new(gap.end().checked_sub(HEAD_LEN)?, HEAD_LEN)?;
    (first.end() <= second.offset()).then_some([first, second])
}

/// What a seal says besides its checksums of blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Facts {
    /// The numbers of rows.
    pub shape: Shape,
    /// The length of the header.
    pub header_len: u64,
    /// [`header_crc`] of the header.
    pub header_crc: u32,
    /// The offset of the first value: the end of the gap.
    pub values_begin: u64,
    /// The number of records: for a seal those that its checksums are of, for a file those that
    /// its header has.
    pub numrecs: u64,
    /// What ties the subfile to its set: for a file, and for a seal of version 1, `None`.
    pub tie: Option<Tie>,
}

impl Facts {
    /// The CRC-32C of the tie, which the table continues.
    #[must_use]
    pub fn tie_crc(&self, checksum: Checksum) -> u32 {
        self.tie.map_or(0, |tie| checksum(0, tie.stored().as_bytes()))
    }

    /// The head of a copy whose tie and table have the CRC-32C `table_crc`.
    #[must_use]
    pub fn head(&self, table_crc: u32, checksum: Checksum) -> SealHead {
        let Self { shape, header_len, header_crc, values_begin, numrecs, tie } = *self;
        let version = if tie.is_some() { SealHead::VERSION } else { SealHead::UNTIED };
        let mut head = SealHead {
            magic: SealHead::MAGIC,
            version: U32::new(version),
            nblobs: U32::new(shape.nblobs),
            nvars: U32::new(shape.nvars),
            header_crc: U32::new(header_crc),
            header_len: U64::new(header_len),
            values_begin: U64::new(values_begin),
            numrecs: U64::new(numrecs),
            table_crc: U32::new(table_crc),
            head_crc: U32::ZERO,
        };
        head.head_crc = U32::new(head_crc(&head, checksum));
        head
    }
}

pub(super) fn head_crc(head: &SealHead, checksum: Checksum) -> u32 {
    let covered = usize::from(SealHead::head_crc.offset());
    checksum(0, head.as_bytes().get(..covered).unwrap_or_default())
}

/// A copy of a seal whose own checksums are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seal {
    pub(super) facts: Facts,
    pub(super) place: SealPlace,
}

impl Seal {
    /// What the seal says.
    #[must_use]
    pub const fn facts(&self) -> Facts {
        self.facts
    }

    /// Where the copy is.
    #[must_use]
    pub const fn place(&self) -> SealPlace {
        self.place
    }

    /// The place of the checksum of a blob of a variable; `None` if there is none.
    #[must_use]
    pub fn entry(&self, variable: u32, blob: u32) -> Option<Span> {
        self.place.table.entry(self.facts.shape.row(variable, blob)?, SealRow::LEN)
    }

    /// Compares the checksum in the bytes at [`entry`](Self::entry) with that of the blob's bytes.
    ///
    /// # Errors
    /// [`Error::NotAsSealed`].
    pub fn check(
        &self,
        variable: u32,
        blob: u32,
        entry: [u8; 4],
        computed: u32,
    ) -> Result<(), Error> {
        let row: SealRow = transmute!(entry);
        let stored = row.crc.get();
        match stored == computed {
            true => Ok(()),
            false => Err(Error::NotAsSealed { variable, blob, stored, computed }),
        }
    }
}

/// What is in the place of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Duplicate {
    /// No seal.
    #[default]
    None,
    /// A seal whose own checksums are wrong.
    Damaged(Error),
    /// A seal.
    Whole(Seal),
}

/// What [`FindSeal`](super::FindSeal) has found: the copies of a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Found {
    /// The copy after the header, and that before the first value.
    pub copies: [Duplicate; COPIES],
}

impl Found {
    /// The number of the copy that counts in a file with so many records: that of the most records
    /// which the file has.
    fn best(&self, numrecs: u64) -> Option<(usize, Seal)> {
        let mut best: Option<(usize, Seal)> = None;
        for (number, copy) in self.copies.iter().enumerate() {
            let Duplicate::Whole(seal) = copy else { continue };
            let is_first = |(_, best): (usize, Seal)| best.facts.numrecs < seal.facts.numrecs;
            if seal.facts.numrecs <= numrecs && best.is_none_or(is_first) {
                best = Some((number, *seal));
            }
        }
        best
    }

    /// The copy that a writer replaces first in a file with so many records: the one that does not
    /// count.
    #[must_use]
    pub fn next(&self, numrecs: u64) -> usize {
        usize::from(self.best(numrecs).is_some_and(|(number, _)| number == 0))
    }

    /// The seal of a file, if it has one. Its records may be fewer than those of the file: another
    /// program has added some. Whether the blobs are as sealed is not checked yet.
    ///
    /// # Errors
    /// [`Error::Checksum`] and [`Error::Sealed`] if the seal or the header are damaged.
    pub fn judge(&self, file: &Facts) -> Result<Option<Seal>, Error> {
        let damage = self.copies.iter().find_map(|copy| match copy {
            Duplicate::Damaged(error) => Some(*error),
            _ => None,
        });
        let Some((_, seal)) = self.best(file.numrecs) else {
            if let Some(error) = damage {
                return Err(error);
            }
            let mut ahead = self.copies.iter().filter_map(|copy| match copy {
                Duplicate::Whole(seal) => Some(seal),
                _ => None,
            });
            let Some(seal) = ahead.next() else { return Ok(None) };
            return Err(seal.differs(SealHead::numrecs, seal.facts.numrecs, file.numrecs));
        };
        // A damaged copy may be that of all records.
        if let Some(error) = damage.filter(|_| seal.facts.numrecs < file.numrecs) {
            return Err(error);
        }
        seal.compare(file).map(|()| Some(seal))
    }
}

impl Seal {
    fn differs(&self, field: FieldId, value: u64, expected: u64) -> Error {
        let offset = self.place.head.offset().saturating_add(field.offset().into());
        Error::Sealed { field, offset, value, expected }
    }

    /// Compares the header with the seal.
    fn compare(&self, file: &Facts) -> Result<(), Error> {
        let (own, shape) = (&self.facts, &self.facts.shape);
        for (field, value, expected) in [
            (SealHead::nblobs, shape.nblobs.into(), file.shape.nblobs.into()),
            (SealHead::nvars, shape.nvars.into(), file.shape.nvars.into()),
            (SealHead::header_len, own.header_len, file.header_len),
            (SealHead::values_begin, own.values_begin, file.values_begin),
        ] {
            if value != expected {
                return Err(self.differs(field, value, expected));
            }
        }
        let (stored, computed) = (own.header_crc, file.header_crc);
        if stored != computed {
            let field = SealHead::header_crc;
            let offset = self.place.head.offset().saturating_add(field.offset().into());
            return Err(Error::Checksum { field, offset, stored, computed });
        }
        Ok(())
    }
}
