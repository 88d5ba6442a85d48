//! The commit record: a striae writer's record of a file, and the check whether it is still valid.
//! The part of the header that commits change, which holds it: how it is written, and what proves
//! it.

use super::header::Version;
use crate::exact::Exact;
use crate::field::FieldId;
use crate::gsd::error::Error;
use crate::gsd::layout::{IndexBlock, MAX_NAMES, NameBlock};
use crate::gsd::raw::{Commit, Image, Shadow};
use crate::integrity::{Checksum, crc32c, wrong_bit};
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use striae_twin::twin;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// The commit record, checked (`spec/gsd.md#commit-record`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Record {
    /// The number of committed entries.
    pub entries: u64,
    /// The number of slots of the index block, of which the header shows only the committed ones.
    pub index_reserved: u64,
    /// The end of all bytes in use.
    pub data_end: u64,
    /// The offset of the two shadows of the header.
    pub shadow: u64,
    /// The first entry that `index_crc` covers: earlier entries were in the file when striae opened
    /// it first.
    pub crc_from: u64,
    /// The number of the commit, modulo 2^32.
    pub sequence: u32,
    /// The number of committed bytes of the name list.
    pub names_len: u32,
    /// The number of committed names.
    pub names: u32,
    /// CRC-32C of the committed entries from `crc_from` on.
    pub index_crc: u32,
    /// CRC-32C of the committed bytes of the name list.
    pub names_crc: u32,
    /// CRC-32C of schema version, application and schema.
    pub ident_crc: u32,
    /// The alignment of chunks, as a power of two.
    pub align: u8,
    /// Whether frames carry checksums.
    pub checksums: bool,
    /// Whether the next commit may be in a shadow before it is in the header.
    pub one_sync: bool,
    /// The major version of the file layer.
    pub layer: u8,
}

impl Record {
    /// The record that is stored as `commit`, which was checked.
    pub(in crate::gsd) const fn from_raw(commit: &Commit) -> Self {
        Self {
            entries: commit.entries.get(),
            index_reserved: commit.index_reserved.get(),
            data_end: commit.data_end.get(),
            shadow: commit.shadow.get(),
            crc_from: commit.crc_from.get(),
            sequence: commit.sequence.get(),
            names_len: commit.names_len.get(),
            names: commit.names.get(),
            index_crc: commit.index_crc.get(),
            names_crc: commit.names_crc.get(),
            ident_crc: commit.ident_crc.get(),
            align: commit.align,
            checksums: commit.checksums == 1,
            one_sync: commit.one_sync == 1,
            layer: commit.layer,
        }
    }

    /// The whole index block, if the header shows the part `shown` of it; `None` if `shown` is not
    /// a part of it.
    #[must_use]
    pub fn index(&self, shown: IndexBlock) -> Option<IndexBlock> {
        shown.whole((self.entries, self.index_reserved))
    }

    /// The record as stored, without the checksum.
    pub(in crate::gsd) fn to_raw(self) -> Commit {
        Commit {
            magic: Commit::MAGIC,
            entries: U64::new(self.entries),
            index_reserved: U64::new(self.index_reserved),
            data_end: U64::new(self.data_end),
            shadow: U64::new(self.shadow),
            crc_from: U64::new(self.crc_from),
            sequence: U32::new(self.sequence),
            names_len: U32::new(self.names_len),
            names: U32::new(self.names),
            index_crc: U32::new(self.index_crc),
            names_crc: U32::new(self.names_crc),
            ident_crc: U32::new(self.ident_crc),
            align: self.align,
            checksums: u8::from(self.checksums),
            layer: self.layer,
            one_sync: u8::from(self.one_sync),
            commit_crc: U32::new(0),
        }
    }
}

/// Offset in the file of a field of the record.
fn offset_of(field: FieldId) -> u64 {
    Commit::OFFSET.exact_add(field.offset().into())
}

/// Offset of the part of an image that is before application and schema.
const FIELDS: u64 = 8;

impl Image {
    /// The bytes of an image.
    pub const LEN: usize = 120;

    /// Makes this equal to `other`. It is one function: a device's code is small.
    #[inline(never)]
    pub(in crate::gsd) const fn copy_from(&mut self, other: &Self) {
        *self = *other;
    }

    /// The index block that this header shows.
    #[must_use]
    pub const fn index(&self) -> IndexBlock {
        IndexBlock {
            location: self.index_location.get(),
            slots: self.index_allocated_entries.get(),
        }
    }

    /// The name list that this header shows.
    #[must_use]
    pub const fn name_block(&self) -> NameBlock {
        NameBlock {
            location: self.namelist_location.get(),
            units: self.namelist_allocated_entries.get(),
        }
    }

    /// Whether the image has a commit record, valid or not.
    #[must_use]
    pub fn has_record(&self) -> bool {
        self.commit.magic == Commit::MAGIC
    }

    /// The right checksum of its record.
    #[must_use]
    pub fn commit_crc(&self, checksum: Checksum) -> u32 {
        let bytes = self.as_bytes();
        let crc = checksum(0, bytes.get(..32).unwrap_or_default());
        checksum(crc, bytes.get(40..116).unwrap_or_default())
    }

    /// Replaces the record, and computes its checksum.
    pub(in crate::gsd) fn set_record(&mut self, record: &Record, checksum: Checksum) {
        self.commit = record.to_raw();
        self.commit.commit_crc = U32::new(self.commit_crc(checksum));
    }

    /// The image without the one wrong bit that the record's checksum shows; `None` if it shows
    /// none, or several.
    pub(in crate::gsd) fn corrected(&self) -> Option<Self> {
        let (stored, computed) = (self.commit.commit_crc.get(), self.commit_crc(crc32c));
        let mut right = *self;
        if (stored ^ computed).is_power_of_two() {
            right.commit.commit_crc = computed.into(); // it is the checksum itself
            return Some(right);
        }
        // The checksum covers all but two fields; one of them is in the middle.
        let covered = |at: &usize| (0..32).contains(at) || (40..116).contains(at);
        let mut places = (0..Self::LEN).filter(covered);
        let mut bytes = [0; 108];
        for (to, at) in bytes.iter_mut().zip(places.clone()) {
            *to = self.as_bytes().get(at).copied().unwrap_or(0);
        }
        let (at, bit) = wrong_bit(&bytes, stored, crc32c)?;
        let place = places.nth(at).unwrap_or(0);
        if let Some(byte) = right.as_mut_bytes().get_mut(place) {
            *byte ^= bit;
        }
        Some(right)
    }

    /// The record, or `None` if its checksum does not match the other fields.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Outside`] if the record contradicts itself, the header or
    /// the file.
    pub fn record(&self, file_len: u64) -> Result<Option<Record>, Error> {
        let has_record = self.has_right_record(file_len)?;
        Ok(has_record.then(|| Record::from_raw(&self.commit)))
    }

    /// Whether there is a [`record`](Self::record).
    pub(in crate::gsd) fn has_right_record(&self, file_len: u64) -> Result<bool, Error> {
        if !self.has_record() || self.commit.commit_crc.get() != self.commit_crc(crc32c) {
            return Ok(false);
        }
        let commit = &self.commit;
        let (names, names_len) = (commit.names.get(), commit.names_len.get());
        let block_len = self.name_block().span().map_or(0, Span::len);
        // A name takes a slot in layer 1, and at least a byte and a NUL in layer 2.
        let most = if commit.layer < 2 { names_len / 64 } else { names_len / 2 };
        let entries = commit.entries.get();
        let slots = self.index_allocated_entries.get();
        let most_reserved = i64::MAX.unsigned_abs() / 32;
        let over = |field, value, max| (value > max).then_some((field, value, max));
        // one after the other: a list of them would be large for a device's stack
        let wrong = over(Commit::names, u64::from(names), MAX_NAMES.into())
            .or_else(|| over(Commit::names_len, names_len.into(), block_len))
            .or_else(|| over(Commit::names, names.into(), most.into()))
            .or_else(|| over(Commit::entries, entries, slots))
            .or_else(|| over(Commit::crc_from, commit.crc_from.get(), entries))
            .or_else(|| over(Commit::align, commit.align.into(), 30))
            .or_else(|| over(Commit::index_reserved, commit.index_reserved.get(), most_reserved))
            .or_else(|| over(Commit::data_end, commit.data_end.get(), file_len));
        if let Some((field, value, max)) = wrong {
            return Err(Error::TooLarge { field, offset: offset_of(field), value, max });
        }
        Ok(true)
    }

    /// Whether this is equal to `other`, but for the version of the file layer.
    pub(in crate::gsd) fn differs_in_version(&self, other: &Self) -> bool {
        let (this, other) = (self.as_bytes(), other.as_bytes());
        this.get(..36) == other.get(..36) && this.get(40..) == other.get(40..)
    }

    /// Whether the header alone shows that gsd has moved the index or the name list since the
    /// record was made. This is weak evidence, and is used only without a shadow: the shadow was
    /// torn by a power cut before gsd opened the file.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        let (index, names, data_end) =
            (self.index(), self.name_block(), self.commit.data_end.get());
        let names_len = names.span().map_or(0, Span::len);
        (index.location >= data_end && index.slots > self.commit.entries.get())
            || (names.location >= data_end && names_len > self.commit.names_len.get().into())
    }

    /// Whether all fields that gsd reads are equal to those in `other`.
    pub(in crate::gsd) fn has_fields_of(&self, other: &Self) -> bool {
        self.as_bytes().get(..40) == other.as_bytes().get(..40)
    }

    /// Whether the version is the version of `other`, or the one that gsd turns it into when it
    /// opens the file.
    pub(in crate::gsd) fn version_of(&self, other: &Self) -> bool {
        let [ours, others] = [self, other].map(|it| Version::from_number(it.gsd_version.get()));
        ours.major == others.major && ours.minor >= others.minor
    }

    /// The error of a record with a wrong checksum.
    pub(in crate::gsd) fn crc_error(&self) -> Error {
        Error::Checksum {
            field: Commit::commit_crc,
            offset: offset_of(Commit::commit_crc),
            stored: self.commit.commit_crc.get(),
            computed: self.commit_crc(crc32c),
        }
    }

    /// The bytes that prove that a file has this header, and their offset and length. They are its
    /// commit record, whose checksums cover the rest; that in the shadow, while the header may be
    /// half written or erased; or the fields before the record, if it may be invalid.
    #[inline(never)]
    pub(in crate::gsd) fn proof(
        &self,
        has_record: bool,
        is_torn: bool,
        known: &mut [u8; 80],
    ) -> (u64, usize) {
        let (fields, record) = self.parts();
        if !has_record {
            return (FIELDS, copy_front(fields, known));
        }
        let shadow = Shadow::offset_of(self.commit.shadow.get(), self.commit.sequence.get());
        let in_shadow =
            shadow.saturating_add(usize_to_u64(core::mem::offset_of!(Shadow, new.commit)));
        (if is_torn { in_shadow } else { Commit::OFFSET }, copy_front(record, known))
    }

    /// The fields before the commit record, and the record.
    fn parts(&self) -> (&[u8], &[u8]) {
        self.as_bytes().split_at_checked(40).unwrap_or_default()
    }
}

#[twin(WriteAt)]
impl Image {
    /// Writes this image to the header, in the order of its bytes: a torn header is the start of
    /// this one and the rest of the old one. It is not durable yet.
    #[inline(never)]
    pub(in crate::gsd) async fn show<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        let (fields, record) = self.parts();
        store.write_all_at(FIELDS, fields).await?;
        store.write_all_at(Commit::OFFSET, record).await
    }
}

const _: () = assert!(size_of::<Image>() == Image::LEN);
