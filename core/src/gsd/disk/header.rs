//! The header: versions, names, and the places of the index and the name list.

use crate::gsd::error::Error;
pub use crate::gsd::kind::Version;
use crate::gsd::layout::{IndexBlock, NameBlock};
use crate::gsd::raw;
use crate::integrity::{Checksum, crc32c};
use crate::store::copy_front;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// A text of at most 64 bytes, as application and schema are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Label([u8; Label::MAX_LEN]);

impl Label {
    /// No text.
    pub(in crate::gsd) const EMPTY: Self = Self([0; Self::MAX_LEN]);

    /// The most bytes of a text in a file; a writer leaves one of them for the NUL.
    pub const MAX_LEN: usize = 64;

    /// The bytes before the first NUL, or all 64.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let len = self.0.iter().position(|&byte| byte == 0);
        self.0.get(..len.unwrap_or(Self::MAX_LEN)).unwrap_or_default()
    }

    /// Whether this is the label of `text`. It is one function: a device's code is small.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(in crate::gsd) fn is(&self, text: &str) -> bool {
        self.as_bytes() == text.as_bytes()
    }

    /// The text, or `None` if it is not UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.as_bytes()).ok()
    }

    /// Whether a NUL ends the text, as gsd's readers expect.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.0.contains(&0)
    }

    /// Makes a label of a text; `None` if it has more than 63 bytes or a NUL.
    #[must_use]
    pub const fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::MAX_LEN];
        match Self::put(text, &mut bytes) {
            true => Some(Self(bytes)),
            false => None,
        }
    }

    /// Copies a text to the front of `bytes`; `false` if it has more than 63 bytes or a NUL. It is
    /// one function: a device's code is small.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(in crate::gsd) const fn put(text: &str, bytes: &mut [u8; Self::MAX_LEN]) -> bool {
        let mut rest = text.as_bytes();
        while let Some((&byte, others)) = rest.split_first() {
            if byte == 0 {
                return false;
            }
            rest = others;
        }
        match bytes.split_at_mut_checked(text.len()) {
            Some((front, rest)) if !rest.is_empty() => front.copy_from_slice(text.as_bytes()),
            _ => return false,
        }
        true
    }

    pub(in crate::gsd) const fn from_raw(bytes: [u8; Self::MAX_LEN]) -> Self {
        Self(bytes)
    }
}

/// The header, checked against the file's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// The version of the file layer.
    pub version: Version,
    /// The version of the schema.
    pub schema_version: Version,
    /// The name of the program that made the file.
    pub application: Label,
    /// The name of the schema.
    pub schema: Label,
    /// The visible index block, which is in the file.
    pub index: IndexBlock,
    /// The name list, which is in the file.
    pub names: NameBlock,
}

impl Header {
    /// The bytes of a header.
    pub const LEN: usize = 256;

    /// Reads the header of a file of `file_len` bytes from its first [`Header::LEN`] bytes, or from
    /// all bytes of a shorter file.
    ///
    /// # Errors
    /// [`Error::NotGsd`] and [`Error::Version`] for other files; [`Error::Cut`] if the file ends
    /// inside the header; [`Error::Outside`] and [`Error::TooSmall`] for wrong blocks.
    pub fn parse(bytes: &[u8], file_len: u64) -> Result<Self, Error> {
        let raw = read(bytes, file_len)?;
        let image = raw.image();
        image.check_blocks(file_len)?;
        Ok(Self::of(&image, Label(raw.application), Label(raw.schema)))
    }

    /// The CRC-32C of the fields that identify the file: schema version, application, schema.
    #[must_use]
    pub fn ident_crc(&self, checksum: Checksum) -> u32 {
        let version = self.schema_version.number().into();
        ident_crc(version, (&self.application, &self.schema), checksum)
    }

    /// The header with the part that commits change, which was checked, and these texts.
    pub(in crate::gsd) const fn of(image: &raw::Image, application: Label, schema: Label) -> Self {
        Self {
            version: Version::from_number(image.gsd_version.get()),
            schema_version: Version::from_number(image.schema_version.get()),
            application,
            schema,
            index: image.index(),
            names: image.name_block(),
        }
    }
}

impl raw::Image {
    /// Checks that the version can be read, and that the blocks are in the file.
    pub(in crate::gsd) fn check_blocks(&self, file_len: u64) -> Result<(), Error> {
        let gsd_version = self.gsd_version.get();
        if !Version::from_number(gsd_version).is_readable() {
            return Err(Error::Version { gsd_version });
        }
        self.name_block().check(file_len)?;
        self.index().check(file_len)
    }
}

/// Whether `bytes` are the start of a GSD file, as far as they go.
pub(in crate::gsd) fn begins_header(bytes: &[u8]) -> bool {
    raw::Header::MAGIC.to_le_bytes().iter().zip(bytes).all(|(magic, byte)| magic == byte)
}

/// Reads the header in `bytes`, if its version can be read.
///
/// # Errors
/// [`Error::NotGsd`] or [`Error::Version`] for other files; [`Error::Cut`] if the bytes end inside
/// the header.
pub(in crate::gsd) fn read(bytes: &[u8], file_len: u64) -> Result<&raw::Header, Error> {
    if !begins_header(bytes) {
        let mut magic = [0; 8];
        copy_front(bytes, &mut magic);
        return Err(Error::NotGsd { magic });
    }
    let (header, _) = raw::Header::ref_from_prefix(bytes).map_err(|_| Error::Cut { file_len })?;
    let gsd_version = header.gsd_version.get();
    if !Version::from_number(gsd_version).is_readable() {
        return Err(Error::Version { gsd_version });
    }
    Ok(header)
}

/// The CRC-32C of the fields that identify a file: schema version, application, schema.
pub(in crate::gsd) fn ident_crc(
    version: U32,
    (application, schema): (&Label, &Label),
    checksum: Checksum,
) -> u32 {
    let crc = checksum(0, version.as_bytes());
    checksum(checksum(crc, &application.0), &schema.0)
}

impl raw::Header {
    /// The CRC-32C of the fields that identify the file: schema version, application, schema.
    #[must_use]
    pub fn ident_crc(&self, checksum: Checksum) -> u32 {
        let crc = checksum(0, self.schema_version.as_bytes());
        checksum(checksum(crc, &self.application), &self.schema)
    }

    /// The part of the header that commits change.
    #[must_use]
    pub fn image(&self) -> raw::Image {
        let mut image = raw::Image::new_zeroed();
        self.copy_image(&mut image);
        image
    }

    /// Makes `image` the part of the header that commits change. It is one function: a device's
    /// code is small.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(in crate::gsd) fn copy_image(&self, image: &mut raw::Image) {
        *image = raw::Image {
            index_location: self.index_location,
            index_allocated_entries: self.index_allocated_entries,
            namelist_location: self.namelist_location,
            namelist_allocated_entries: self.namelist_allocated_entries,
            schema_version: self.schema_version,
            gsd_version: self.gsd_version,
            commit: zerocopy::transmute!(self.reserved),
        };
    }

    /// Whether the header has a commit record with the right checksum.
    #[inline(never)]
    pub(in crate::gsd) fn has_record(&self) -> bool {
        let image = self.image();
        image.has_record() && image.commit.commit_crc.get() == image.commit_crc(crc32c)
    }

    /// Whether `found` is this header after its sector was erased: all zeros or all ones, even if a
    /// part was written again. A header that [has a record](Self::has_record) does not count: only
    /// its magic was removed. The caller looks for one before it makes this header, since both are
    /// large for a device's stack.
    pub(in crate::gsd) fn is_erased_in(&self, found: &Self) -> bool {
        let pairs = || found.as_bytes().iter().zip(self.as_bytes());
        let is_erased = |fill| pairs().all(|(&it, &own)| it == fill || it == own);
        is_erased(0x00) || is_erased(0xFF)
    }

    /// Replaces the part that commits change by `image`.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    pub(in crate::gsd) fn set_image(&mut self, image: &raw::Image) {
        self.index_location = image.index_location;
        self.index_allocated_entries = image.index_allocated_entries;
        self.namelist_location = image.namelist_location;
        self.namelist_allocated_entries = image.namelist_allocated_entries;
        self.schema_version = image.schema_version;
        self.gsd_version = image.gsd_version;
        self.reserved = zerocopy::transmute!(image.commit);
    }
}
