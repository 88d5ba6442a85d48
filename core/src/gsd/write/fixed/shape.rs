//! The shape of a log: what its header says, and its names.

use crate::field::FieldId;
use crate::gsd::disk::header::Version;
use crate::gsd::disk::names::check_name;
use crate::gsd::disk::record::Record;
use crate::gsd::error::Error;
use crate::gsd::layout::{IndexBlock, MAX_NAMES, NameBlock};
use crate::gsd::raw::{Commit, Header, Image};
use crate::gsd::write::create::{Attributes, checked};
use crate::integrity::crc32c;

/// All that is known of a log when a program is compiled: its attributes and its `N` names.
///
/// ```
/// use striae_core::gsd::{Attributes, Shape};
///
/// const ABOUT: Attributes<'static> = Attributes {
///     application: "probe 1.0",
///     schema: "probe",
///     align: 512,
///     index_slots: 8192,
///     ..Attributes::DEFAULT
/// };
/// static SHAPE: Shape<'static, 2> = match Shape::new(&ABOUT, ["temperature", "pressure"]) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have this shape"), // then it does not compile
/// };
/// # assert_eq!(SHAPE.names(), &["temperature", "pressure"]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a, const N: usize> {
    base: Base,
    names: [&'a str; N],
}

/// A shape without its names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    /// The header of a new file, without its commit record.
    header: Header,
    /// The commit record of a new file, without checksums.
    record: Record,
    /// The whole index of a new file, of which a header shows a part.
    pub(super) index: IndexBlock,
}

/// The places of the blocks of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) names: NameBlock,
    pub(super) index: IndexBlock,
}

impl<'a, const N: usize> Shape<'a, N> {
    /// The shape of files with these attributes and names. The id of a name is its place in
    /// `names`. The name list has [`names_len`](Attributes::names_len) bytes, or more if the names
    /// need more.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for attributes that no file can have, and for checksums and commits of
    /// one sync; [`Error::Layer`] for a layer before 2.1: only [`Logger`](crate::gsd::Logger)
    /// writes these. [`Error::BadName`], [`Error::NamesFull`] and [`Error::Duplicate`] for names
    /// that no list can have; [`Error::FileFull`] if the file would be too long.
    pub const fn new(attributes: &Attributes<'_>, names: [&'a str; N]) -> Result<Self, Error> {
        checked!(check_off(attributes.checksums, Commit::checksums));
        checked!(check_off(attributes.one_sync, Commit::one_sync));
        if attributes.layer.number() != Version::LAYER.number() {
            return Err(Error::Layer { gsd_version: attributes.layer.number(), kind: None });
        }
        let (count, len) = checked!(measure(&names));
        let mut attributes = *attributes;
        if attributes.names_len < widened(len) {
            attributes.names_len = widened(len);
        }
        let mut header = Header::EMPTY;
        let (mut record, index) = checked!(attributes.template(&mut header));
        (record.names, record.names_len) = (count, len);
        Ok(Self { base: Base { header, record, index }, names })
    }

    /// The names.
    #[must_use]
    pub const fn names(&self) -> &[&'a str; N] {
        &self.names
    }

    /// The smallest store that holds a log of this shape: the bytes of a new file.
    #[must_use]
    pub const fn least_len(&self) -> u64 {
        self.base.record.data_end
    }

    pub(super) const fn base(&self) -> &Base {
        &self.base
    }
}

impl Base {
    /// The least number of slots that a header shows.
    pub(super) const fn shown_slots(&self) -> u64 {
        self.header.index_allocated_entries.get()
    }

    /// The blocks of a new file.
    pub(super) const fn blocks(&self) -> Blocks {
        let names = NameBlock {
            location: self.header.namelist_location.get(),
            units: self.header.namelist_allocated_entries.get(),
        };
        Blocks { names, index: self.index }
    }

    /// The commit record of a new file with these names.
    pub(super) fn record(&self, names: &[&str]) -> Record {
        let mut crc = 0;
        for name in names {
            crc = crc32c(crc32c(crc, name.as_bytes()), &[0]);
        }
        Record { names_crc: crc, ident_crc: self.header.ident_crc(crc32c), ..self.record }
    }

    /// The part of the header that commits change, after the commit of `record` with these blocks.
    #[inline(never)]
    pub(super) fn image(&self, record: &Record, blocks: &Blocks) -> Image {
        let Blocks { names, index } = blocks;
        let mut image = self.header.image();
        if record.entries > 0 {
            image.index_location = index.location.into();
            image.index_allocated_entries = record.entries.into();
        }
        image.namelist_location = names.location.into();
        image.namelist_allocated_entries = names.units.into();
        image.commit = record.to_raw();
        image.commit.commit_crc = image.commit_crc(crc32c).into();
        image
    }

    /// Whether `found`, which has no record, is the header with this image, after its sector was
    /// erased.
    #[inline(never)]
    pub(super) fn is_erased_in(&self, image: &Image, found: &Header) -> bool {
        let mut header = Header::EMPTY;
        self.fill_header(image, &mut header);
        header.is_erased_in(found)
    }

    /// Makes `header` the one with this image.
    pub(super) fn fill_header(&self, image: &Image, header: &mut Header) {
        *header = self.header;
        header.set_image(image);
    }

    /// Whether `found` has the application and the schema of these attributes.
    pub(super) fn is_of(&self, found: &Header) -> bool {
        found.application == self.header.application && found.schema == self.header.schema
    }

    /// The byte of the list of `names` at an offset of the file, if it is one of a name.
    pub(super) fn name_byte(&self, names: &[&str], offset: u64) -> Option<u8> {
        let at = offset.checked_sub(self.header.namelist_location.get())?;
        let mut left = usize::try_from(at).ok()?;
        for name in names {
            if left <= name.len() {
                return name.as_bytes().get(left).copied();
            }
            left = left.checked_sub(name.len().saturating_add(1))?;
        }
        None
    }
}

/// A `u32` as a `u64`.
#[allow(clippy::as_conversions, reason = "const, and lossless")]
const fn widened(number: u32) -> u64 {
    number as u64
}

const fn check_off(value: bool, field: FieldId) -> Result<(), Error> {
    match value {
        true => Err(Error::OutOfRange { field, value: 1, min: 0, max: 0 }),
        false => Ok(()),
    }
}

/// The number of names, and the bytes of their list.
const fn measure(names: &[&str]) -> Result<(u32, u32), Error> {
    let (mut rest, mut count, mut len) = (names, 0_u32, 0_u32);
    while let Some((name, others)) = rest.split_first() {
        checked!(check_name(name.as_bytes(), Version::LAYER));
        let mut compared = others;
        while let Some((other, more)) = compared.split_first() {
            if is_same(name.as_bytes(), other.as_bytes()) {
                let [low, high, ..] = count.to_le_bytes();
                return Err(Error::Duplicate { id: u16::from_le_bytes([low, high]), frame: 0 });
            }
            compared = more;
        }
        let mut bytes = name.as_bytes();
        while let Some((_, more)) = bytes.split_first() {
            (bytes, len) = (more, len.saturating_add(1));
        }
        (rest, count, len) = (others, count.saturating_add(1), len.saturating_add(1));
    }
    match count <= MAX_NAMES {
        true => Ok((count, len)),
        false => Err(Error::NamesFull),
    }
}

const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let (Some((one, rest_a)), Some((other, rest_b))) = (a.split_first(), b.split_first()) {
        if *one != *other {
            return false;
        }
        (a, b) = (rest_a, rest_b);
    }
    a.is_empty() && b.is_empty()
}
