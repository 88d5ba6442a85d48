//! What a seal is, and what it says of its file (`spec/sion.md#seal`): values in, values out.
//!
//! Whoever opens, verifies or recovers a file asks here, so that all of them say what is so. Which
//! bytes have which checksum, [`seal`](super::seal) finds out in a store.

use super::error::Error;
use super::meta1::Meta1;
use super::open::Head;
use super::raw::{self, ChunkCrcEntry, CommitFields, SealTrailer};
use super::seal::Seal;
use super::varheader::{TRAILER_LEN, Varheader, VarheaderShape};
use crate::endian::ByteOrder;
use crate::field::FieldId;
use crate::span::Span;
use core::num::NonZeroU32;
use zerocopy::IntoBytes;

/// A trailer that was found in a file, and what it says of the file.
#[derive(Debug, Clone, Copy)]
pub struct FoundTrailer {
    pub(super) trailer: Trailer,
    pub(super) verdict: Verdict,
}

/// What a seal says of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// It is that of the file. Whether the file is still as it was sealed is to be checked.
    Current(Seal),
    /// It is that of another state of the file: someone has written to it since, and not sealed it.
    Stale,
    /// It is in the place of a seal of the file, and damaged itself: [`Error::Checksum`] or
    /// [`Error::SealMagic`].
    Damaged(Error, Varheader),
    /// It is in the place of a seal of the file, and of a version that is not known:
    /// [`Error::TooLarge`].
    Unknown(Error, Varheader),
    /// It is that of the file, in which a number has another value now: [`Error::NotAsSealed`].
    Contradicted(Error),
}

/// The last 64 bytes of a seal as they stand somewhere, or other bytes that stand there.
#[derive(Debug, Clone, Copy)]
pub struct Trailer {
    raw: SealTrailer,
    offset: u64,
    order: ByteOrder,
}

/// What bytes in the place of a trailer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// No trailer.
    Absent,
    /// One that is damaged.
    Damaged(Error),
    /// One of a version that is not known.
    Unknown(Error),
    /// One that is whole.
    Whole,
}

/// Which state of the file a trailer that is whole is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The present one, as the commit fields say.
    Current(Seal),
    /// Another one.
    Stale,
    /// The present one but for a number, if that is proven; else another one.
    Suspect(Suspect),
}

/// A number that may be all in which a file is not as it was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspect {
    /// [`Error::NotAsSealed`].
    pub(super) error: Error,
    /// Whether it takes a META2 that is as it was sealed to prove that.
    pub(super) needs_meta2: bool,
    /// Whether it takes a META1 that is as it was sealed but for the numbers in the trailer.
    pub(super) needs_meta1: bool,
}

impl FoundTrailer {
    /// What stands there.
    #[must_use]
    pub const fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// What it says of the file.
    #[must_use]
    pub const fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The table of checksums of chunks in front of it, as far as anybody says where that is, and
    /// the entries of a row of it. `meta1` is that of the file.
    #[must_use]
    pub fn table(&self, meta1: &Meta1) -> Option<(Span, NonZeroU32)> {
        match &self.verdict {
            Verdict::Damaged(_, place) | Verdict::Unknown(_, place) => {
                Some((place.crcs(), meta1.layout().ntasks))
            }
            _ => self.trailer.table().zip(self.trailer.ntasks()),
        }
    }

    /// Where the seal ends, if it is one of the file as it is.
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
    /// What stands at `offset` of a file with this byte order.
    pub(super) const fn new(raw: SealTrailer, offset: u64, order: ByteOrder) -> Self {
        Self { raw, offset, order }
    }

    /// Its fields as they stand in the file.
    #[must_use]
    pub const fn raw(&self) -> &SealTrailer {
        &self.raw
    }

    /// Where it is.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Where a field of it is.
    #[must_use]
    pub fn place(&self, field: FieldId) -> u64 {
        self.offset.saturating_add(field.offset().into())
    }

    /// What it is by itself. Nothing else of it means anything if it is not whole.
    pub(super) fn condition(&self) -> Condition {
        let own = usize::from(SealTrailer::trailer_crc.offset());
        let computed =
            crate::integrity::crc32c(0, self.raw.as_bytes().get(..own).unwrap_or_default());
        let stored = self.raw.trailer_crc.get(self.order);
        let version = self.raw.seal_version.get(self.order);
        let has_magic = self.raw.magic == SealTrailer::MAGIC;
        match (has_magic, stored == computed, version == SealTrailer::VERSION) {
            (true, true, true) => Condition::Whole,
            (true, true, false) => {
                let field = SealTrailer::seal_version;
                let (offset, max) = (self.place(field), SealTrailer::VERSION.into());
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

    /// Tasks of the file when it was sealed.
    pub(super) fn ntasks(&self) -> Option<NonZeroU32> {
        u32::try_from(self.raw.ntasks.get(self.order)).ok().and_then(NonZeroU32::new)
    }

    /// The table of checksums of chunks, if what it says of that is so: it ends where this starts.
    pub(super) fn table(&self) -> Option<Span> {
        let maxchunks = u64::try_from(self.raw.maxchunks.get(self.order)).ok()?;
        let entries = u64::from(self.ntasks()?.get()).checked_mul(maxchunks)?;
        let start = u64::try_from(self.raw.start_of_seal.get(self.order)).ok()?;
        let table = Span::of_table(start, entries, ChunkCrcEntry::TABLE.len.into())?;
        (table.end() == self.offset).then_some(table)
    }

    /// META2 and the mapping, as far as it says where they are.
    pub(super) fn meta2(&self) -> Option<Span> {
        let start = u64::try_from(self.raw.start_of_varheader.get(self.order)).ok()?;
        let end = u64::try_from(self.raw.start_of_seal.get(self.order)).ok()?;
        Span::new(start, end.checked_sub(start)?)
    }

    /// The commit fields when it was sealed.
    pub(super) const fn commit_fields(&self) -> CommitFields {
        let SealTrailer { maxchunks, start_of_varheader, .. } = self.raw;
        CommitFields { maxchunks, start_of_varheader }
    }

    /// The seal that ends with it, if it is one of a file with this META1, but for its commit
    /// fields: of as many tasks, and with all that it speaks of in a place where that can be.
    pub(super) fn seal(&self, meta1: &Meta1) -> Option<Seal> {
        let layout = meta1.layout();
        let maxchunks = u32::try_from(self.raw.maxchunks.get(self.order)).ok()?;
        let [start, end] = [self.raw.start_of_varheader, self.raw.start_of_seal]
            .map(|field| u64::try_from(field.get(self.order)));
        let (start, end) = (start.ok()?, end.ok()?);
        let mapping_len = end.checked_sub(layout.blocksizes(start, maxchunks)?.end())?;
        let shape = VarheaderShape::new(layout, maxchunks, mapping_len, true)?;
        let is_of_file = |_: &_| self.ntasks() == Some(layout.ntasks);
        let is_here = |sealed: &Varheader| sealed.trailer().offset() == self.offset;
        let varheader = shape.at(start).filter(is_of_file).filter(is_here)?;
        Some(Seal::new(varheader, &self.raw, self.order))
    }

    /// Which state of the file it is of, if it is whole. `fields` are the commit fields of the
    /// file; `None` if it ends before them.
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
