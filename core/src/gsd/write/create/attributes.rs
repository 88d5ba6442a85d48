//! The attributes of a new file, and its first layout, which constants can have, too.

use super::SHADOW;
use crate::field::FieldId;
use crate::gsd::disk::header::{Label, Version};
use crate::gsd::disk::record::Record;
use crate::gsd::error::Error;
use crate::gsd::layout::{
    IndexBlock, MAX_LEN, MAX_NAMES_LEN, MAX_SLOTS, NAME_UNIT, NameBlock, SECTOR, SHOWN_SLOTS,
    aligned, whole_sectors,
};
use crate::gsd::raw::{self, Image, Shadow};
use crate::integrity::Checksum;
use crate::store::copy_front;
use core::num::NonZeroU64;
use zerocopy::little_endian::{U32, U64};

pub(in crate::gsd) use crate::field::checked;

/// The attributes of a new file (`spec/gsd.md#a-new-file`).
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attributes<'a> {
    /// The name of the program that makes the file, at most 63 bytes.
    pub application: &'a str,
    /// The name of the schema, at most 63 bytes.
    pub schema: &'a str,
    /// The version of the schema.
    pub schema_version: Version,
    /// The file layer: 2.1, or 1.0 for old readers.
    pub layer: Version,
    /// The alignment of chunks in bytes: a power of two, at most 2^30. From 512 on, committed bytes
    /// share no sector with bytes that are written later (`spec/gsd.md#erased-sectors`).
    pub align: u64,
    /// Whether frames carry checksums.
    pub checksums: bool,
    /// Whether commits take one sync instead of two where that is possible. Such a commit is
    /// durable, but after a power cut only striae's readers see it, until striae opens the file to
    /// write or the next commit is made (`spec/gsd.md#a-commit-of-one-sync`).
    pub one_sync: bool,
    /// The number of slots of the first index; it doubles when it is full.
    pub index_slots: u64,
    /// The least number of slots that the header shows, 1 to 128. With fewer than 128, gsd damages
    /// the file if it appends many frames without chunks: use it only for files that gsd only
    /// reads.
    pub shown_slots: u64,
    /// The bytes of the first name list; it doubles when it is full. In layer 1 a name takes 64,
    /// and gsd 1.10, which takes 8192 for its own files, makes no list longer.
    pub names_len: u64,
}

impl Attributes<'_> {
    /// [`Attributes::default`] as a constant.
    pub const DEFAULT: Self = Self {
        application: "",
        schema: "",
        schema_version: Version { major: 0, minor: 0 },
        layer: Version::LAYER,
        align: 1,
        checksums: false,
        one_sync: false,
        index_slots: 128,
        shown_slots: SHOWN_SLOTS,
        names_len: 1024,
    };

    /// The bytes of a new file. A store for a log has more: room for a list of new names, and for
    /// chunks.
    ///
    /// ```
    /// use striae_core::gsd::Attributes;
    /// let small =
    ///     Attributes { index_slots: 16, shown_slots: 1, names_len: 64, ..Attributes::DEFAULT };
    /// assert_eq!(Attributes::DEFAULT.least_len()?, 10_240);
    /// assert_eq!(small.least_len()?, 2_560);
    /// # Ok::<(), striae_core::gsd::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::Layer`] for attributes that no file can have;
    /// [`Error::FileFull`] if the file would be too long.
    pub const fn least_len(&self) -> Result<u64, Error> {
        let mut header = raw::Header::EMPTY;
        let (record, _) = checked!(self.template(&mut header));
        Ok(record.data_end)
    }
}

impl Default for Attributes<'_> {
    /// A file of layer 2.1 without a schema, with room for 128 chunks and 1024 bytes of names, as
    /// gsd creates it.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The blocks of an empty file.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Blocks {
    pub(in crate::gsd) names: NameBlock,
    pub(in crate::gsd) index: IndexBlock,
    pub(in crate::gsd) end: u64,
}

impl Blocks {
    /// The name list and the index of an empty file, at `from` or later.
    pub(in crate::gsd) const fn behind(
        from: u64,
        align: NonZeroU64,
        units: u64,
        slots: u64,
    ) -> Result<Self, Error> {
        let unit = if align.get() > SECTOR.get() { align } else { SECTOR };
        let full = Error::FileFull { data_end: from, len: u64::MAX };
        if from > MAX_LEN {
            return Err(full);
        }
        // exact: lists and indexes of new files have at most 2^46 bytes, and `from` is at most 2^63
        let names = NameBlock { location: aligned(from, SECTOR), units };
        let index = IndexBlock { location: aligned(names.exact_span().end(), unit), slots };
        let end = aligned(index.slot(slots), unit);
        match end <= MAX_LEN {
            true => Ok(Self { names, index, end }),
            false => Err(full),
        }
    }
}

impl Attributes<'_> {
    /// The alignment, as a power of two.
    pub(in crate::gsd) const fn align_log(&self) -> Result<u8, Error> {
        const MAX: u64 = 1 << 30;
        if !self.align.is_power_of_two() || self.align > MAX {
            let (field, value) = (raw::Commit::align, self.align);
            return Err(Error::OutOfRange { field, value, min: 1, max: MAX });
        }
        let [log, ..] = self.align.trailing_zeros().to_le_bytes();
        Ok(log)
    }

    /// Fills `header` for a new file, and `image` with the part of it that commits change; returns
    /// the length of the file.
    pub(super) fn fill_header(
        &self,
        header: &mut raw::Header,
        image: &mut Image,
        checksum: Checksum,
    ) -> Result<u64, Error> {
        let (mut record, _) = self.template(header)?;
        record.ident_crc = header.ident_crc(checksum);
        header.copy_image(image);
        image.set_record(&record, checksum);
        header.set_image(image);
        Ok(record.data_end)
    }

    /// Fills `header` for a new file, but for its commit record, which it returns without
    /// checksums, and with the whole index.
    pub(in crate::gsd) const fn template(
        &self,
        header: &mut raw::Header,
    ) -> Result<(Record, IndexBlock), Error> {
        let align = checked!(self.align_log());
        let is_of_layer_1 = self.layer.number() == (Version { major: 1, minor: 0 }).number();
        if self.layer.number() != Version::LAYER.number() && !is_of_layer_1 {
            return Err(Error::Layer { gsd_version: self.layer.number(), kind: None });
        }
        checked!(in_range(raw::Commit::index_reserved, self.index_slots, 1, MAX_SLOTS));
        let shown = raw::Header::index_allocated_entries;
        checked!(in_range(shown, self.shown_slots, 1, SHOWN_SLOTS));
        checked!(in_range(raw::Commit::names_len, self.names_len, 1, MAX_NAMES_LEN));
        let units = self.names_len.div_ceil(NAME_UNIT);
        let unit = align_of(align);
        let from = SHADOW.saturating_add(Shadow::BOTH_LEN);
        let shown = whole_sectors(self.shown_slots, unit);
        let slots = whole_sectors(self.index_slots, unit).saturating_add(shown);
        let blocks = checked!(Blocks::behind(from, unit, units, slots));
        let shown = match blocks.index.last(shown) {
            Some(shown) => shown,
            None => blocks.index,
        };
        header.magic = U64::new(raw::Header::MAGIC);
        header.index_location = U64::new(shown.location);
        header.index_allocated_entries = U64::new(shown.slots);
        header.namelist_location = U64::new(blocks.names.location);
        header.namelist_allocated_entries = U64::new(units);
        header.schema_version = U32::new(self.schema_version.number());
        header.gsd_version = U32::new(self.layer.number());
        (header.application, header.schema) = ([0; 64], [0; 64]);
        let (application, schema) = (raw::Header::application, raw::Header::schema);
        checked!(put(application, self.application, &mut header.application));
        checked!(put(schema, self.schema, &mut header.schema));
        header.reserved = [0; 80];
        let [layer, _] = self.layer.major.to_le_bytes();
        let record = Record {
            index_reserved: slots,
            data_end: blocks.end,
            shadow: SHADOW,
            align,
            checksums: self.checksums,
            one_sync: self.one_sync,
            layer,
            ..Record::from_raw(&raw::Commit::EMPTY)
        };
        Ok((record, blocks.index))
    }

    /// The first field in which the header of a file differs from these attributes: the header is
    /// about all frames, so only the program that it names may add frames.
    pub(in crate::gsd) fn differ_from(
        &self,
        (application, schema): (&Label, &Label),
        schema_version: u32,
    ) -> Option<FieldId> {
        if !application.is(self.application) {
            Some(raw::Header::application)
        } else if !schema.is(self.schema) {
            Some(raw::Header::schema)
        } else {
            let is_same = schema_version == self.schema_version.number();
            (!is_same).then_some(raw::Header::schema_version)
        }
    }

    /// Sets `header`, which is zeros, to that of a file with these attributes and this image.
    pub(in crate::gsd) fn restore(&self, header: &mut raw::Header, image: &Image) {
        header.magic = U64::new(raw::Header::MAGIC);
        copy_front(self.application.as_bytes(), &mut header.application);
        copy_front(self.schema.as_bytes(), &mut header.schema);
        header.set_image(image);
    }
}

const fn in_range(field: FieldId, value: u64, min: u64, max: u64) -> Result<(), Error> {
    match min <= value && value <= max {
        true => Ok(()),
        false => Err(Error::OutOfRange { field, value, min, max }),
    }
}

#[allow(clippy::as_conversions, reason = "const, and lossless")]
const fn put(field: FieldId, text: &str, place: &mut [u8; 64]) -> Result<(), Error> {
    match Label::put(text, place) {
        true => Ok(()),
        false => Err(Error::OutOfRange { field, value: text.len() as u64, min: 0, max: 63 }),
    }
}

/// The alignment that is stored as a power of two.
#[allow(clippy::as_conversions, reason = "const, and lossless")]
pub(in crate::gsd) const fn align_of(log: u8) -> NonZeroU64 {
    let align = match 1_u64.checked_shl(log as u32) {
        Some(align) => NonZeroU64::new(align),
        None => None,
    };
    match align {
        Some(align) => align,
        None => NonZeroU64::MIN,
    }
}
