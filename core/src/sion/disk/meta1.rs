//! The fixed part of META1, checked (`spec/sion.md#meta1`).

mod attributes;

pub use crate::sion::kind::{FormatVersion, KeyvalMode};
pub use attributes::Attributes;

use crate::endian::{ByteOrder, I32, I64};
use crate::field::{FieldId, checked};
use crate::sion::error::Error;
use crate::sion::layout::{Layout, MAX_I32, signed, widen, widen_u32};
use crate::sion::raw;
use crate::store::usize_to_u64;
use core::num::NonZeroU32;
use zerocopy::FromBytes;

/// The prefix: the name that the set was created under, of at most 1024 bytes in any encoding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefix(heapless::Vec<u8, 1024>);

impl Prefix {
    /// The prefix with these bytes; empty if they are too many.
    pub(in crate::sion) fn new(bytes: &[u8]) -> Self {
        Self(heapless::Vec::from_slice(bytes).unwrap_or_default())
    }
}

impl core::ops::Deref for Prefix {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The most tasks of a physical file: SIONlib computes the length of META1, 1088 + 16 N, as an
/// `int`.
pub const MAX_TASKS: u32 = 134_217_659;

/// The most bytes of a prefix: SIONlib reads it up to a NUL (sion_metadata.c:479).
const MAX_PREFIX: usize = 1023;

/// The fixed part of META1 without the prefix, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Meta1 {
    order: ByteOrder,
    data_order: ByteOrder,
    version: i32,
    patchlevel: i32,
    layout: Layout,
    nfiles: NonZeroU32,
    filenumber: Option<u32>,
    flag1: i64,
    flag2: i64,
}

impl Meta1 {
    /// The length in bytes of the longest version of the fixed part; [`Meta1::parse`] needs no
    /// more.
    pub const MAX_LEN: usize = size_of::<raw::Meta1>();

    /// Reads the fixed part from the start of `bytes`: the first [`Meta1::MAX_LEN`] bytes of a
    /// physical file of `file_len` bytes, or all bytes of a shorter file.
    ///
    /// # Errors
    /// [`Error::NotSion`], [`Error::FormatVersion`] and [`Error::Sionlib2`] for other files;
    /// [`Error::Cut`] if the file ends inside META1's fixed part or tables; [`Error::TooSmall`] if
    /// fsblksize, ntasks or nfiles is below 1 or filenumber below 0.
    pub fn parse(bytes: &[u8], file_len: u64) -> Result<Self, Error> {
        Self::judge(bytes, file_len, Err)
    }

    /// Reads the fixed part as [`parse`](Self::parse) does, and passes each field that is too small
    /// to `judge`. If `judge` lets it pass, the field has its smallest right value. It is not asked
    /// about `ntasks`, on which the places of everything after it depend.
    ///
    /// # Errors
    /// See [`parse`](Self::parse); the errors of `judge`.
    pub fn judge(
        bytes: &[u8],
        file_len: u64,
        mut judge: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        check_magic(bytes)?;
        let ident: &raw::Ident = front(bytes, raw::Ident::TABLE.fields, 0, file_len)?;
        let [order, data_order] = raw::Ident::orders(ident.endianness);
        let version = format_version(ident, order)?;

        let (fixed, number, flags) = if version == FormatVersion::V2 {
            let meta1: &raw::Meta1V2 = front(bytes, raw::Meta1V2::FIELDS, 2, file_len)?;
            ([meta1.fsblksize, meta1.ntasks, meta1.nfiles], None, None)
        } else {
            let meta1: &raw::Meta1 = front(bytes, raw::Meta1::FIELDS, 1, file_len)?;
            (
                [meta1.fsblksize, meta1.ntasks, meta1.nfiles],
                Some(meta1.filenumber),
                Some((meta1.flag1.get(order), meta1.flag2.get(order))),
            )
        };
        let [fsblksize, ntasks, nfiles] = fixed;
        let layout = Layout {
            version,
            fsblksize: positive(fsblksize.get(order), raw::Meta1::fsblksize, &mut judge)?,
            ntasks: positive(ntasks.get(order), raw::Meta1::ntasks, Err)?,
        };
        let nfiles = positive(nfiles.get(order), raw::Meta1::nfiles, &mut judge)?;
        let filenumber = number.map(|number: I32| not_negative(number.get(order), judge));
        let filenumber = filenumber.transpose()?;
        check_tables(&layout, file_len)?;

        let (flag1, flag2) = flags.unwrap_or((0, 0));
        Ok(Self {
            order,
            data_order,
            version: ident.version.get(order),
            patchlevel: ident.patchlevel.get(order),
            layout,
            nfiles,
            filenumber,
            flag1,
            flag2,
        })
    }

    /// META1 of a new physical file with `ntasks` tasks, with the versions that SIONlib 1.7.6
    /// writes.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for values that no file can hold.
    pub const fn new(attributes: &Attributes, ntasks: u64) -> Result<Self, Error> {
        let Attributes { order, data_order, fsblksize, nfiles, filenumber, keyval } = *attributes;
        let last_file = if nfiles == 1 { 1 } else { nfiles.saturating_sub(1) };
        let ntasks = checked!(within(ntasks, 1, MAX_TASKS, raw::Meta1::ntasks));
        let nfiles = checked!(within(widen_u32(nfiles), 1, MAX_I32, raw::Meta1::nfiles));
        let fsblksize = checked!(within(widen_u32(fsblksize), 1, MAX_I32, raw::Meta1::fsblksize));
        let filenumber = widen_u32(filenumber);
        let filenumber = checked!(within(filenumber, 0, last_file, raw::Meta1::filenumber));
        Ok(Self {
            order,
            data_order,
            version: 1007,
            patchlevel: 6,
            layout: Layout {
                version: FormatVersion::V5,
                fsblksize: at_least_1(fsblksize),
                ntasks: at_least_1(ntasks),
            },
            nfiles: at_least_1(nfiles),
            filenumber: Some(filenumber),
            flag1: if keyval { 51 << 32 } else { PLAIN },
            flag2: 0,
        })
    }

    /// Refuses sets of several files and key-value records.
    pub(in crate::sion) const fn check_is_simple(&self) -> Result<(), Error> {
        if self.nfiles() > 1 {
            let (field, value) = (raw::Meta1::nfiles, widen_u32(self.nfiles()).cast_signed());
            return Err(Error::OutOfRange { field, value, min: 1, max: 1 });
        }
        if self.is_keyval() {
            let (field, value) = (raw::Meta1::flag1, self.flag1);
            return Err(Error::OutOfRange { field, value, min: PLAIN, max: PLAIN });
        }
        Ok(())
    }

    /// The fixed part as stored in a file of fileformat_version 5.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`] above 1023 bytes; [`Error::OutOfRange`] if the prefix has a NUL.
    pub const fn to_raw(&self, prefix: &[u8]) -> Result<raw::Meta1, Error> {
        if prefix.len() > MAX_PREFIX {
            let len = usize_to_u64(prefix.len());
            return Err(Error::PrefixTooLong { len });
        }
        if has_nul(prefix) {
            let field = raw::Meta1::filenameprefix;
            return Err(Error::OutOfRange { field, value: 0, min: 1, max: 255 });
        }
        let (meta, data) = (order_bit(self.order), order_bit(self.data_order));
        let order = self.order;
        let filenumber = match self.filenumber {
            Some(filenumber) => filenumber,
            None => 0,
        };
        let mut fixed = raw::Meta1 {
            ident: raw::Ident {
                magic: raw::Ident::MAGIC,
                endianness: [meta, data, data, meta],
                version: I32::new(self.version, order),
                patchlevel: I32::new(self.patchlevel, order),
                fileformat_version: I32::new(
                    i32::from_le_bytes([self.layout.version.number(), 0, 0, 0]),
                    order,
                ),
            },
            fsblksize: stored(self.fsblksize(), order),
            ntasks: stored(self.ntasks(), order),
            nfiles: stored(self.nfiles(), order),
            filenumber: stored(filenumber, order),
            flag1: I64::new(self.flag1, order),
            flag2: I64::new(self.flag2, order),
            filenameprefix: [0; 1024],
        };
        if let Some((front, _)) = fixed.filenameprefix.split_at_mut_checked(prefix.len()) {
            front.copy_from_slice(prefix);
        }
        Ok(fixed)
    }

    /// The byte order of all metadata, and of the headers of key-value records.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The byte order that the writer states for its own data. striae never swaps data.
    #[must_use]
    pub const fn data_order(&self) -> ByteOrder {
        self.data_order
    }

    /// The version of the library that wrote the file, 1000 * main + sub, and its patch level.
    #[must_use]
    pub const fn library_version(&self) -> (i32, i32) {
        (self.version, self.patchlevel)
    }

    /// The version of the file format.
    #[must_use]
    pub const fn fileformat_version(&self) -> FormatVersion {
        self.layout.version
    }

    /// The block size of the file system in bytes, as the writer saw it.
    #[must_use]
    pub const fn fsblksize(&self) -> u32 {
        self.layout.fsblksize.get()
    }

    /// The number of tasks in this physical file.
    #[must_use]
    pub const fn ntasks(&self) -> u32 {
        self.layout.ntasks.get()
    }

    /// The number of physical files in the set.
    #[must_use]
    pub const fn nfiles(&self) -> u32 {
        self.nfiles.get()
    }

    /// The number of physical files to open as one set: `nfiles`, but 1 in fileformat_version 2,
    /// whose files have no filenumber.
    #[must_use]
    pub const fn files_in_set(&self) -> u32 {
        match self.filenumber {
            Some(_) => self.nfiles.get(),
            None => 1,
        }
    }

    /// The number of this physical file in its set; `None` in fileformat_version 2. A file that was
    /// written serially has 1, although it is the only one.
    #[must_use]
    pub const fn filenumber(&self) -> Option<u32> {
        self.filenumber
    }

    /// Whether this is file 0 of several: the set is opened by it, and it holds the mapping.
    ///
    /// A file of fileformat_version 2 has no filenumber; like SIONlib, we open it alone.
    #[must_use]
    pub const fn is_first_of_several(&self) -> bool {
        self.files_in_set() > 1 && matches!(self.filenumber, Some(0))
    }

    /// Whether a mapping without entries follows META2: in the only file of a set that a serial
    /// writer made.
    #[must_use]
    pub const fn has_empty_mapping(&self) -> bool {
        self.files_in_set() == 1 && !matches!(self.filenumber, Some(0))
    }

    /// The bytes between META2 and a seal. In the first file of several: a mapping with `entries`
    /// entries. In a serial writer's only file: a mapping without entries. Else 0.
    #[must_use]
    pub const fn mapping_len(&self, entries: u64) -> u64 {
        if self.is_first_of_several() {
            entries.saturating_mul(MAPPING_ENTRY_LEN).saturating_add(MAPPING_SIZE_LEN)
        } else if self.has_empty_mapping() {
            MAPPING_SIZE_LEN
        } else {
            0
        }
    }

    /// [`mapping_len`](Self::mapping_len) in a file that ends `left` bytes after META2: a mapping
    /// that no reader needs, such as the empty one of a serial writer, may be missing.
    pub(in crate::sion) const fn mapping_len_within(&self, entries: u64, left: u64) -> u64 {
        if left < MAPPING_SIZE_LEN { 0 } else { self.mapping_len(entries) }
    }

    /// Whether streams are key-value records, which exist since fileformat_version 5.
    #[must_use]
    pub const fn keyval(&self) -> KeyvalMode {
        match self.layout.version {
            FormatVersion::V5 => KeyvalMode::from_flag1(self.flag1),
            _ => KeyvalMode::None,
        }
    }

    pub(in crate::sion) const fn is_keyval(&self) -> bool {
        matches!(self.keyval(), KeyvalMode::Inline)
    }

    /// `flag1` and `flag2` as stored; 0 in fileformat_version 2.
    #[must_use]
    pub const fn flags(&self) -> (i64, i64) {
        (self.flag1, self.flag2)
    }

    /// The places that META1 fixes.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The field of the prefix in this file's version.
    #[must_use]
    pub const fn prefix_field(&self) -> FieldId {
        match self.layout.version {
            FormatVersion::V2 => raw::Meta1V2::filenameprefix,
            _ => raw::Meta1::filenameprefix,
        }
    }

    /// The prefix, which is the name that the set was created under, from the `bytes` given to
    /// [`Meta1::parse`].
    ///
    /// The file may have another name now, and the other files of the set are not found by the
    /// prefix.
    #[must_use]
    pub fn prefix<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let padded = bytes.get(usize::from(self.prefix_field().offset())..).unwrap_or_default();
        let padded = padded.get(..1024).unwrap_or(padded);
        // SIONlib pads with NULs, but does not require one after 1024 bytes.
        padded.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// `flag1` of plain streams.
const PLAIN: i64 = 50 << 32;

const MAPPING_SIZE_LEN: u64 = widen(raw::MappingSize::TABLE.len);
const MAPPING_ENTRY_LEN: u64 = widen(raw::MappingEntry::TABLE.len);

const fn has_nul(mut bytes: &[u8]) -> bool {
    while let Some((&byte, rest)) = bytes.split_first() {
        if byte == 0 {
            return true;
        }
        bytes = rest;
    }
    false
}

/// The bit of `endianness` for a byte order.
const fn order_bit(order: ByteOrder) -> u8 {
    match order {
        ByteOrder::Little => 0,
        ByteOrder::Big => 1,
    }
}

/// A number as stored, which `Meta1::new` or `Meta1::parse` has checked to be at most [`MAX_I32`].
const fn stored(number: u32, order: ByteOrder) -> I32 {
    I32::new(number.cast_signed(), order)
}

/// `number`, which is at least 1.
pub(in crate::sion) const fn at_least_1(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

/// Returns `value` if it is from `min` to `max`, as the field that a caller gives must be.
pub(in crate::sion) const fn within(
    value: u64,
    min: u32,
    max: u32,
    field: FieldId,
) -> Result<u32, Error> {
    #[allow(clippy::as_conversions, reason = "const, and compared with `max`")]
    let small = value as u32;
    if min <= small && value <= widen_u32(max) {
        return Ok(small);
    }
    let (min, max) = (signed(widen_u32(min)), signed(widen_u32(max)));
    Err(Error::OutOfRange { field, value: signed(value), min, max })
}

fn check_magic(bytes: &[u8]) -> Result<(), Error> {
    let magic = raw::Ident::MAGIC;
    if bytes.starts_with(&magic) || magic.starts_with(bytes) {
        return Ok(()); // an empty file, or one that ends inside the magic, is a cut one
    }
    let mut magic = [0; 4];
    magic.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Err(Error::NotSion { magic })
}

/// The structure at the start of `bytes`, or an error with the first field that is cut.
fn front<'a, T>(
    bytes: &'a [u8],
    fields: &[crate::field::Field],
    table: u8,
    file_len: u64,
) -> Result<&'a T, Error>
where
    T: FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned,
{
    T::ref_from_prefix(bytes).map(|(structure, _)| structure).map_err(|_| {
        let have = usize_to_u64(bytes.len());
        let end =
            |field: &crate::field::Field| u64::from(field.offset).saturating_add(field.size.into());
        let cut = fields.iter().find(|field| end(field) > have);
        let offset = cut.map_or(0, |field| field.offset);
        Error::Cut { field: FieldId::new(table, offset), offset: offset.into(), count: 1, file_len }
    })
}

fn format_version(ident: &raw::Ident, order: ByteOrder) -> Result<FormatVersion, Error> {
    // SIONlib 2 puts all metadata into one block at the start of the file. It is told by the
    // library's version, so that it is not mistaken for a damaged file.
    let version = ident.version.get(order);
    if version >= 2000 {
        return Err(Error::Sionlib2 { version });
    }
    match ident.fileformat_version.get(order) {
        2 => Ok(FormatVersion::V2),
        3 => Ok(FormatVersion::V3),
        4 => Ok(FormatVersion::V4),
        5 => Ok(FormatVersion::V5),
        fileformat_version => Err(Error::FormatVersion { fileformat_version }),
    }
}

/// The value, which must be at least 1; 1 if `judge` lets another one pass.
fn positive(
    value: i32,
    field: FieldId,
    judge: impl FnOnce(Error) -> Result<(), Error>,
) -> Result<NonZeroU32, Error> {
    let found = u32::try_from(value).ok().and_then(NonZeroU32::new);
    let too_small = || too_small(field, value, 1);
    found.map_or_else(|| judge(too_small()).map(|()| NonZeroU32::MIN), Ok)
}

/// The value, which must be at least 0; 0 if `judge` lets another one pass.
fn not_negative(value: i32, judge: impl FnOnce(Error) -> Result<(), Error>) -> Result<u32, Error> {
    let too_small = || too_small(raw::Meta1::filenumber, value, 0);
    u32::try_from(value).or_else(|_| judge(too_small()).map(|()| 0))
}

fn too_small(field: FieldId, value: i32, min: i64) -> Error {
    Error::TooSmall { field, offset: field.offset().into(), value: value.into(), min }
}

/// Checks that the tables are in the file, which bounds all counts in it. The commit fields may be
/// missing: they are first written when the file is closed.
fn check_tables(layout: &Layout, file_len: u64) -> Result<(), Error> {
    let tables = [
        (raw::GlobalrankEntry::globalrank, layout.globalranks()),
        (raw::ChunksizeEntry::chunksize, layout.chunksizes()),
    ];
    for (field, span) in tables {
        if !span.fits(file_len) {
            let count = layout.ntasks.get().into();
            return Err(Error::Cut { field, offset: span.offset(), count, file_len });
        }
    }
    Ok(())
}
