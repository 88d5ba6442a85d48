//! The machine that creates an empty file; its first bytes are written last.

use super::error::Error;
use super::header::{Header, Label, Version};
use super::layout::{IndexBlock, NAME_UNIT, NameBlock, SHOWN_SLOTS, whole_sectors};
use super::raw::{self, Image, Shadow};
use super::record::Record;
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::span::{Span, round_up};
use crate::step::{Machine, Step};
use crate::store::copy_front;
use core::convert::Infallible;
use core::num::NonZeroU64;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromZeros, IntoBytes};

/// The value, or a return of the error; a constant function has no `?`.
macro_rules! checked {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
pub(super) use checked;

/// The offset of the shadows in a file that striae made: the first one is in the sector of the
/// header.
pub const SHADOW: u64 = 256;

/// The least alignment of blocks: a sector.
pub const SECTOR: NonZeroU64 = NonZeroU64::MIN.saturating_add(511);

/// The attributes of a new file (`spec/gsd.md#a-new-file`).
#[derive(Debug, Clone, Copy)]
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
    /// The bytes of the first name list; it doubles when it is full.
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
pub(super) struct Blocks {
    pub(super) names: NameBlock,
    pub(super) index: IndexBlock,
    pub(super) end: u64,
}

impl Blocks {
    /// The name list and the index of an empty file, at `from` or later.
    pub(super) const fn behind(
        from: u64,
        align: NonZeroU64,
        units: u64,
        slots: u64,
    ) -> Result<Self, Error> {
        let unit = if align.get() > SECTOR.get() { align } else { SECTOR };
        match Self::at(round_up(from, SECTOR), unit, units, slots) {
            Some(blocks) if blocks.end <= i64::MAX.unsigned_abs() => Ok(blocks),
            _ => Err(Error::FileFull { data_end: from, len: u64::MAX }),
        }
    }

    const fn at(start: Option<u64>, unit: NonZeroU64, units: u64, slots: u64) -> Option<Self> {
        let Some(location) = start else { return None };
        let names = NameBlock { location, units };
        let Some(span) = names.span() else { return None };
        let Some(location) = round_up(span.end(), unit) else { return None };
        let index = IndexBlock { location, slots };
        let Some(span) = index.span() else { return None };
        let Some(end) = round_up(span.end(), unit) else { return None };
        Some(Self { names, index, end })
    }
}

impl Attributes<'_> {
    /// The alignment, as a power of two.
    pub(super) const fn align_log(&self) -> Result<u8, Error> {
        const MAX: u64 = 1 << 30;
        if !self.align.is_power_of_two() || self.align > MAX {
            return Err(out_of_range(raw::Commit::align, self.align, 1, MAX));
        }
        let [log, ..] = self.align.trailing_zeros().to_le_bytes();
        Ok(log)
    }

    /// Fills `header` for a new file; returns the length of the file.
    fn fill_header(&self, header: &mut raw::Header, checksum: Checksum) -> Result<u64, Error> {
        let (mut record, _) = self.template(header)?;
        record.ident_crc = header.ident_crc(checksum);
        header.set_image(&header.image().with_record(record, checksum));
        Ok(record.data_end)
    }

    /// Fills `header` for a new file, but for its commit record, which it returns without
    /// checksums, and with the whole index.
    pub(super) const fn template(
        &self,
        header: &mut raw::Header,
    ) -> Result<(Record, IndexBlock), Error> {
        let align = checked!(self.align_log());
        let is_of_layer_1 = self.layer.number() == (Version { major: 1, minor: 0 }).number();
        if self.layer.number() != Version::LAYER.number() && !is_of_layer_1 {
            return Err(Error::Layer { gsd_version: self.layer.number(), kind: None });
        }
        checked!(in_range(raw::Commit::index_reserved, self.index_slots, 1, 1 << 40));
        let shown = raw::Header::index_allocated_entries;
        checked!(in_range(shown, self.shown_slots, 1, SHOWN_SLOTS));
        checked!(in_range(raw::Commit::names_len, self.names_len, 1, 1 << 31));
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
        header.application = checked!(label(raw::Header::application, self.application)).raw();
        header.schema = checked!(label(raw::Header::schema, self.schema)).raw();
        header.reserved = [0; 80];
        let [layer, _] = self.layer.major.to_le_bytes();
        let record = Record {
            entries: 0,
            index_reserved: slots,
            data_end: blocks.end,
            shadow: SHADOW,
            crc_from: 0,
            sequence: 0,
            names_len: 0,
            names: 0,
            index_crc: 0,
            names_crc: 0,
            ident_crc: 0,
            align,
            checksums: self.checksums,
            one_sync: self.one_sync,
            layer,
        };
        Ok((record, blocks.index))
    }
}

impl Attributes<'_> {
    /// The first field in which the header of a file differs from these attributes: the header is
    /// about all frames, so only the program that it names may add frames.
    pub(super) fn differ_from(&self, header: &Header) -> Option<FieldId> {
        let has_application = header.application.as_bytes() == self.application.as_bytes();
        let has_schema = header.schema.as_bytes() == self.schema.as_bytes();
        match (has_application, has_schema, header.schema_version == self.schema_version) {
            (false, ..) => Some(raw::Header::application),
            (_, false, _) => Some(raw::Header::schema),
            (.., false) => Some(raw::Header::schema_version),
            _ => None,
        }
    }

    /// The header of a file with these attributes and this image.
    pub(super) fn restored(&self, image: &Image) -> raw::Header {
        let mut header = raw::Header::new_zeroed();
        header.magic = U64::new(raw::Header::MAGIC);
        copy_front(self.application.as_bytes(), &mut header.application);
        copy_front(self.schema.as_bytes(), &mut header.schema);
        header.set_image(image);
        header
    }
}

const fn out_of_range(field: FieldId, value: u64, min: u64, max: u64) -> Error {
    Error::OutOfRange { field, value, min, max }
}

const fn in_range(field: FieldId, value: u64, min: u64, max: u64) -> Result<(), Error> {
    match min <= value && value <= max {
        true => Ok(()),
        false => Err(out_of_range(field, value, min, max)),
    }
}

#[allow(clippy::as_conversions, reason = "const, and lossless")]
const fn label(field: FieldId, text: &str) -> Result<Label, Error> {
    match Label::new(text) {
        Some(label) => Ok(label),
        None => Err(out_of_range(field, text.len() as u64, 0, 63)),
    }
}

/// The alignment that is stored as a power of two.
#[allow(clippy::as_conversions, reason = "const, and lossless")]
pub(super) const fn align_of(log: u8) -> NonZeroU64 {
    let align = match 1_u64.checked_shl(log as u32) {
        Some(align) => NonZeroU64::new(align),
        None => None,
    };
    match align {
        Some(align) => align,
        None => NonZeroU64::MIN,
    }
}

/// Which bytes a sector that was never written may consist of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fills {
    zeros: bool,
    ones: bool,
}

impl Fills {
    /// All zeros, or all ones, as in erased flash.
    pub(super) const ANY: Self = Self { zeros: true, ones: true };
}

/// Creates an empty file.
///
/// The store becomes as long as the file needs. Its old content is lost: from the first step on it
/// is not a GSD file any more, and the new file is one only after the last step.
#[derive(Debug)]
pub struct Create {
    header: raw::Header,
    /// The shadow of a commit that changes nothing: without one, an append by gsd would look like
    /// damage.
    shadow: Shadow,
    data_end: u64,
    /// Length of the store, which is never made shorter.
    store_len: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Invalidate,
    SyncInvalid,
    Size,
    Shadow,
    /// Clears this quarter of the second shadow, which may be from an older file.
    OtherShadow(u64),
    /// Clears the name list from this unit on.
    Names(u64),
    /// Clears the visible slots, two at a time, from this one on.
    Slots(u64),
    SyncBlocks,
    Rest,
    /// Syncs the rest of the header before the magic is written: a torn sector may have the magic
    /// and not the rest.
    SyncRest,
    Magic,
    SyncAll,
    Done,
}

const ZEROS: [u8; 64] = [0; 64];

impl Create {
    /// Makes a machine that creates a file with `attributes` in a store of `store_len` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::Layer`] for attributes that no file can have;
    /// [`Error::FileFull`] if the file would be too long.
    pub fn new(
        attributes: &Attributes<'_>,
        store_len: u64,
        checksum: Checksum,
    ) -> Result<Self, Error> {
        let mut create = Self::nothing();
        create.set(attributes, store_len, checksum)?;
        Ok(create)
    }

    /// A machine that makes nothing yet.
    #[inline]
    pub(super) fn nothing() -> Self {
        let (header, shadow) = (raw::Header::new_zeroed(), Shadow::new_zeroed());
        Self { header, shadow, data_end: 0, store_len: 0, stage: Stage::Done }
    }

    /// Sets this to make a file, as [`new`](Self::new), in place: it is large for a device's stack.
    #[inline(never)]
    pub(super) fn set(
        &mut self,
        attributes: &Attributes<'_>,
        store_len: u64,
        checksum: Checksum,
    ) -> Result<(), Error> {
        let data_end = attributes.fill_header(&mut self.header, checksum)?;
        self.begin(data_end, store_len, checksum);
        Ok(())
    }

    /// Sets this to make the file of the header that `fill` fills, which may have names that the
    /// caller writes when this [waits for them](Self::waits_for_names).
    pub(super) fn set_header(
        &mut self,
        fill: impl FnOnce(&mut raw::Header),
        data_end: u64,
        store_len: u64,
        checksum: Checksum,
    ) {
        fill(&mut self.header);
        self.begin(data_end, store_len, checksum);
    }

    fn begin(&mut self, data_end: u64, store_len: u64, checksum: Checksum) {
        (self.data_end, self.store_len) = (data_end, store_len);
        self.stage = if store_len == 0 { Stage::Size } else { Stage::Invalidate };
        let image = self.header.image();
        self.shadow.set(&image, &image, 0, checksum);
    }

    /// Whether all blocks are cleared and the next step makes them durable.
    pub(super) const fn waits_for_names(&self) -> bool {
        matches!(self.stage, Stage::SyncBlocks)
    }

    /// The header of the file.
    #[must_use]
    pub const fn header(&self) -> &raw::Header {
        &self.header
    }

    /// The length of the file in bytes.
    #[must_use]
    pub const fn data_end(&self) -> u64 {
        self.data_end
    }

    /// Checks that bytes at `offset` may be in a blank store, even if a power cut interrupted the
    /// creation of this file there. `fills` is what the bytes before allow.
    ///
    /// # Errors
    /// [`Error::NotBlank`] if they may not.
    pub(super) fn check_blank(
        &self,
        offset: u64,
        bytes: &[u8],
        fills: &mut Fills,
    ) -> Result<(), Error> {
        self.check_blank_but(offset, bytes, fills, |_| None)
    }

    /// [`check_blank`](Self::check_blank) if the caller writes more, such as names: `more` is the
    /// byte that it writes at an offset.
    pub(super) fn check_blank_but(
        &self,
        offset: u64,
        bytes: &[u8],
        fills: &mut Fills,
        more: impl Fn(u64) -> Option<u8>,
    ) -> Result<(), Error> {
        for (offset, &value) in (offset..).zip(bytes) {
            if offset.is_multiple_of(SECTOR.get()) {
                *fills = Fills::ANY;
            }
            // A sector is blank, has a part of its new bytes, or was erased to write them.
            let is_written = self.written(offset) == Some(value)
                || (offset < 8 && value == 0)
                || more(offset) == Some(value);
            fills.zeros &= is_written || value == 0x00;
            fills.ones &= is_written || value == 0xFF;
            if !(fills.zeros || fills.ones) {
                return Err(Error::NotBlank { offset, value });
            }
        }
        Ok(())
    }

    /// The byte that the creation writes at `offset`, if any.
    fn written(&self, offset: u64) -> Option<u8> {
        let front = [self.header.as_bytes(), self.shadow.as_bytes()];
        let mut front = front.iter().copied().flatten().copied();
        let other = Span::new(Shadow::offset_of(SHADOW, 1), Shadow::LEN);
        let image = self.header.image();
        let zeros = [other, image.name_block().span(), image.index().span()];
        let is_zero =
            zeros.iter().flatten().any(|span| (span.offset()..span.end()).contains(&offset));
        match usize::try_from(offset) {
            _ if is_zero => Some(0),
            Ok(at) => front.nth(at),
            Err(_) => None,
        }
    }

    /// Whether the file is made.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    fn next(&self) -> Stage {
        let units = self.header.namelist_allocated_entries.get();
        let slots = self.header.index_allocated_entries.get();
        match self.stage {
            Stage::Invalidate => Stage::SyncInvalid,
            Stage::SyncInvalid => Stage::Size,
            Stage::Size => Stage::Shadow,
            Stage::Shadow => Stage::OtherShadow(0),
            Stage::OtherShadow(quarter) if quarter < 3 => {
                Stage::OtherShadow(quarter.saturating_add(1))
            }
            Stage::OtherShadow(_) => Stage::Names(0),
            Stage::Names(unit) if unit.saturating_add(1) < units => {
                Stage::Names(unit.saturating_add(1))
            }
            Stage::Names(_) => Stage::Slots(0),
            Stage::Slots(slot) if slot.saturating_add(2) < slots => {
                Stage::Slots(slot.saturating_add(2))
            }
            Stage::Slots(_) => Stage::SyncBlocks,
            Stage::SyncBlocks => Stage::Rest,
            Stage::Rest => Stage::SyncRest,
            Stage::SyncRest => Stage::Magic,
            Stage::Magic => Stage::SyncAll,
            Stage::SyncAll | Stage::Done => Stage::Done,
        }
    }
}

impl Machine for Create {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let stage = self.stage;
        self.stage = self.next();
        let (header, zeros) = (&self.header, &ZEROS);
        match stage {
            Stage::Invalidate => {
                Step::Write { offset: 0, bytes: zeros.get(..8).unwrap_or_default() }
            }
            Stage::SyncInvalid | Stage::SyncBlocks | Stage::SyncRest | Stage::SyncAll => Step::Sync,
            Stage::Size => Step::SetSize { len: self.data_end.max(self.store_len) },
            Stage::Shadow => Step::Write { offset: SHADOW, bytes: self.shadow.as_bytes() },
            Stage::OtherShadow(quarter) => {
                let other = Shadow::offset_of(SHADOW, 1);
                let offset = other.saturating_add(quarter.saturating_mul(64));
                Step::Write { offset, bytes: zeros }
            }
            Stage::Names(unit) => {
                let skip = unit.saturating_mul(NAME_UNIT);
                let offset = header.namelist_location.get().saturating_add(skip);
                Step::Write { offset, bytes: zeros }
            }
            Stage::Slots(slot) => {
                let shown = self.header.image().index();
                let both = shown.slots.saturating_sub(slot) > 1;
                let len = if both { 64 } else { 32 };
                let bytes = zeros.get(..len).unwrap_or_default();
                Step::Write { offset: shown.offset_of(slot), bytes }
            }
            Stage::Rest => {
                Step::Write { offset: 8, bytes: header.as_bytes().get(8..).unwrap_or_default() }
            }
            Stage::Magic => {
                Step::Write { offset: 0, bytes: header.as_bytes().get(..8).unwrap_or_default() }
            }
            Stage::Done => Step::Done(()),
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

const _: () = assert!(Header::LEN == 256 && size_of::<raw::Header>() == Header::LEN);
