//! The judgement of a seal, and of its file by the seal (`spec/sion.md#seal`): values in, values
//! out.
//!
//! Opening, verifying and recovering all use this module, so that their results agree.
//! [`seal`] computes the checksums of the bytes in a store.

pub mod seal;

use super::disk::head::Head;
use super::disk::meta1::Meta1;
use super::disk::varheader::{TRAILER_LEN, Varheader, VarheaderShape};
use super::error::Error;
use super::raw::{self, BlocksizeEntry, ChunkCrcEntry, CommitFields, SealTrailer, SealTrailerV2};
use super::verdict::seal::Seal;
use crate::endian::ByteOrder;
use crate::field::FieldId;
use crate::span::Span;
use core::num::NonZeroU32;
use zerocopy::{IntoBytes, transmute_ref};

/// A trailer that was found in a file, and its verdict.
#[derive(Debug, Clone, Copy)]
pub struct FoundTrailer {
    pub(super) trailer: Trailer,
    pub(super) verdict: Verdict,
}

/// The verdict on a file by its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// The seal belongs to this state of the file. Whether the bytes match it is not checked yet.
    Current(Seal),
    /// The seal belongs to another state of the file: another writer has changed the file and not
    /// sealed it.
    Stale,
    /// The seal is at the right place and is damaged: [`Error::Checksum`] or [`Error::SealMagic`].
    Damaged(Error, Varheader),
    /// The seal is at the right place and has an unknown version: [`Error::TooLarge`].
    Unknown(Error, Varheader),
    /// The seal belongs to the file, and a number in the file has changed since:
    /// [`Error::NotAsSealed`]; or it is of a file with another mapping: [`Error::TooLarge`] or
    /// [`Error::TooSmall`].
    Contradicted(Error),
}

/// The 64 bytes of a trailer, or other bytes at its place.
#[derive(Debug, Clone, Copy)]
pub struct Trailer {
    raw: SealTrailer,
    offset: u64,
    order: ByteOrder,
}

/// The condition of the bytes at the place of a trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// There is no trailer.
    Absent,
    /// A trailer that is damaged.
    Damaged(Error),
    /// A trailer of an unknown version.
    Unknown(Error),
    /// A whole trailer.
    Whole,
}

/// The state of the file that a whole trailer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The present state, as the commit fields say.
    Current(Seal),
    /// Another state.
    Stale,
    /// The present state except for one number, if that is proven; else another state.
    Suspect(Suspect),
}

/// The number that may be the only change of a file since it was sealed, or may be wrong in the
/// seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspect {
    /// [`Error::NotAsSealed`], or that of [`Trailer::misplaced`].
    pub(super) error: Error,
    /// Whether the proof needs that META2 is as sealed.
    pub(super) needs_meta2: bool,
    /// Whether the proof needs that META1 is as sealed, except for the numbers in the trailer.
    pub(super) needs_meta1: bool,
}

impl FoundTrailer {
    /// The trailer.
    #[must_use]
    pub const fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// The verdict.
    #[must_use]
    pub const fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The table of chunk checksums before the trailer, if its place is known, and the entries of a
    /// row. `meta1` is META1 of the file.
    #[must_use]
    pub fn table(&self, meta1: &Meta1) -> Option<(Span, NonZeroU32)> {
        match &self.verdict {
            Verdict::Damaged(_, place) | Verdict::Unknown(_, place) => {
                Some((place.crcs(), meta1.layout().ntasks))
            }
            _ => self.trailer.table().zip(self.trailer.ntasks()),
        }
    }

    /// The end of the seal, if it belongs to the present state of the file.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        match self.verdict {
            Verdict::Current(_) | Verdict::Damaged(..) | Verdict::Unknown(..) => {
                Some(self.trailer.offset.saturating_add(TRAILER_LEN))
            }
            Verdict::Stale | Verdict::Contradicted(_) => None,
        }
    }
}

impl Trailer {
    /// Makes a trailer of the bytes at `offset` of a file with this byte order.
    pub(super) const fn new(raw: SealTrailer, offset: u64, order: ByteOrder) -> Self {
        Self { raw, offset, order }
    }

    /// The fields as stored; in version 2 see [`raw_v2`](Self::raw_v2).
    #[must_use]
    pub const fn raw(&self) -> &SealTrailer {
        &self.raw
    }

    /// The fields as stored, if the trailer is of version 2.
    #[must_use]
    pub fn raw_v2(&self) -> Option<&SealTrailerV2> {
        let version = self.raw.seal_version.get(self.order);
        (version == SealTrailerV2::VERSION).then(|| transmute_ref!(&self.raw))
    }

    /// The offset of the trailer.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset of a field of the trailer.
    #[must_use]
    pub fn place(&self, field: FieldId) -> u64 {
        self.offset.saturating_add(field.offset().into())
    }

    /// The condition of the trailer by itself. The other methods are meaningful only if it is
    /// whole.
    pub(super) fn condition(&self) -> Condition {
        let own = usize::from(SealTrailer::trailer_crc.offset());
        let computed =
            crate::integrity::crc32c(0, self.raw.as_bytes().get(..own).unwrap_or_default());
        let stored = self.raw.trailer_crc.get(self.order);
        let version = self.raw.seal_version.get(self.order);
        let has_magic = self.raw.magic == SealTrailer::MAGIC;
        let is_known = [SealTrailer::VERSION, SealTrailerV2::VERSION].contains(&version);
        match (has_magic, stored == computed, is_known) {
            (true, true, true) => Condition::Whole,
            (true, true, false) => {
                let field = SealTrailer::seal_version;
                let (offset, max) = (self.place(field), SealTrailerV2::VERSION.into());
                Condition::Unknown(Error::TooLarge { field, offset, value: version.into(), max })
            }
            (true, false, _) => {
                let field = SealTrailer::trailer_crc;
                let offset = self.place(field);
                Condition::Damaged(Error::Checksum { field, offset, stored, computed })
            }
            (false, true, true) => {
                let offset = self.place(SealTrailer::magic);
                Condition::Damaged(Error::SealMagic { offset, magic: self.raw.magic })
            }
            (false, ..) => Condition::Absent,
        }
    }

    /// The number of tasks when the file was sealed.
    pub(super) fn ntasks(&self) -> Option<NonZeroU32> {
        u32::try_from(self.raw.ntasks.get(self.order)).ok().and_then(NonZeroU32::new)
    }

    /// The table of chunk checksums, if its fields agree: it must end where the trailer starts.
    pub(super) fn table(&self) -> Option<Span> {
        let maxchunks = u64::try_from(self.raw.maxchunks.get(self.order)).ok()?;
        let entries = u64::from(self.ntasks()?.get()).checked_mul(maxchunks)?;
        let start = self.start_of_seal()?;
        let table = Span::of_table(start, entries, ChunkCrcEntry::TABLE.len.into())?;
        (table.end() == self.offset).then_some(table)
    }

    /// The offset of the seal's table: as stored, or after META2 and a mapping of the stored size.
    fn start_of_seal(&self) -> Option<u64> {
        let Some(raw) = self.raw_v2() else {
            return u64::try_from(self.raw.start_of_seal.get(self.order)).ok();
        };
        let start = u64::try_from(raw.start_of_varheader.get(self.order)).ok()?;
        let rows = u64::try_from(raw.maxchunks.get(self.order)).ok()?.checked_add(1)?;
        let entries = rows.checked_mul(self.ntasks()?.get().into())?;
        let meta2 = Span::of_table(start, entries, BlocksizeEntry::TABLE.len.into())?;
        let Ok(entries) = u32::try_from(raw.mapping_size.get(self.order)) else {
            return Some(meta2.end());
        };
        let start = meta2.end().checked_add(raw::MappingSize::TABLE.len.into())?;
        let mapping = Span::of_table(start, entries.into(), raw::MappingEntry::TABLE.len.into());
        mapping.map(|mapping| mapping.end())
    }

    /// The identity of the set; 0 if the trailer has none.
    fn set_identity(&self) -> u32 {
        self.raw_v2().map_or(0, |raw| raw.set_identity.get(self.order))
    }

    /// The span of META2 and the mapping, by the fields of the trailer.
    pub(super) fn meta2(&self) -> Option<Span> {
        let start = u64::try_from(self.raw.start_of_varheader.get(self.order)).ok()?;
        Span::new(start, self.start_of_seal()?.checked_sub(start)?)
    }

    /// The error if the seal was made with another mapping than that of the file, whose META2 and
    /// mapping end at `end`. A writer that went on would put the next seal where no reader looks.
    pub(super) fn misplaced(&self, head: &Head, end: u64) -> Option<Error> {
        let meta2 = head.meta2?;
        if self.start_of_seal() == Some(end) {
            return None;
        }
        let (field, value, right) = match self.raw_v2() {
            None => {
                let start = self.raw.start_of_seal.get(self.order);
                (SealTrailer::start_of_seal, start, i64::try_from(end).ok()?)
            }
            Some(raw) => {
                let size = u64::from(raw::MappingSize::TABLE.len);
                let entries = end.checked_sub(meta2.end())?.checked_sub(size);
                let each = raw::MappingEntry::TABLE.len.into();
                let entries = entries.and_then(|len| len.checked_div(each));
                let right = entries.map_or(Ok(-1), i64::try_from).ok()?;
                (SealTrailerV2::mapping_size, raw.mapping_size.get(self.order).into(), right)
            }
        };
        let offset = self.place(field);
        Some(match value > right {
            true => Error::TooLarge { field, offset, value, max: right },
            false => Error::TooSmall { field, offset, value, min: right },
        })
    }

    /// The commit fields when the file was sealed.
    pub(super) const fn commit_fields(&self) -> CommitFields {
        let SealTrailer { maxchunks, start_of_varheader, .. } = self.raw;
        CommitFields { maxchunks, start_of_varheader }
    }

    /// The seal that ends with this trailer, if it can belong to a file with this META1: the number
    /// of tasks agrees, and all its parts have a possible place. The commit fields of the file are
    /// not compared.
    pub(super) fn seal(&self, meta1: &Meta1) -> Option<Seal> {
        let layout = meta1.layout();
        let maxchunks = u32::try_from(self.raw.maxchunks.get(self.order)).ok()?;
        let start = u64::try_from(self.raw.start_of_varheader.get(self.order)).ok()?;
        let end = self.start_of_seal()?;
        let mapping_len = end.checked_sub(layout.blocksizes(start, maxchunks)?.end())?;
        let shape = VarheaderShape::new(layout, maxchunks, mapping_len, true)?;
        let is_of_file = |_: &_| self.ntasks() == Some(layout.ntasks);
        let is_here = |sealed: &Varheader| sealed.trailer().offset() == self.offset;
        let varheader = shape.at(start).filter(is_of_file).filter(is_here)?;
        let number = u32::try_from(self.raw.set_number.get(self.order)).unwrap_or(0);
        let varheader = varheader.with_set_identity(self.set_identity()).with_set_number(number)?;
        Some(Seal::new(varheader, &self.raw, self.order))
    }

    /// The state of the file that this trailer, which must be whole, belongs to. `fields` are the
    /// commit fields of the file; `None` if it ends before them.
    pub(super) fn judge(&self, head: &Head, fields: Option<&CommitFields>) -> Standing {
        let (meta1, order) = (&head.meta1, self.order);
        if self.ntasks() != Some(meta1.layout().ntasks) {
            // Nobody changes ntasks alone, as every table would have to move.
            let (field, value) = (raw::Meta1::ntasks, meta1.ntasks().into());
            let (offset, sealed) = (field.offset().into(), self.raw.ntasks.get(order).into());
            let error = Error::NotAsSealed { field, offset, value, sealed };
            return Standing::Suspect(Suspect { error, needs_meta2: false, needs_meta1: true });
        }
        let Some(fields) = fields else { return Standing::Stale };
        let [(maxchunks, start), own] = [*fields, self.commit_fields()]
            .map(|fields| (fields.maxchunks.get(order), fields.start_of_varheader.get(order)));
        let has_own_start = start == own.1;
        if (maxchunks, start) == own {
            return self.seal(meta1).map_or(Standing::Stale, Standing::Current);
        }
        // A later writer leaves a META2 that can be found, and another one if in the same place.
        if !has_own_start && head.meta2.is_some() {
            return Standing::Stale;
        }
        let (field, value, sealed) = match has_own_start {
            true => (CommitFields::maxchunks, maxchunks.into(), own.0.into()),
            false => (CommitFields::start_of_varheader, start, own.1),
        };
        let at = meta1.layout().commit_fields().offset();
        let offset = at.saturating_add(field.offset().into());
        let error = Error::NotAsSealed { field, offset, value, sealed };
        Standing::Suspect(Suspect { error, needs_meta2: true, needs_meta1: !has_own_start })
    }
}
