//! [`Container`]: a new file with the two arrays of E3SM-IO, `header_blob` and `data_blob`.

use crate::hdf5::lookup3::lookup3;
use crate::hdf5::raw::SIGNATURE;
use crate::hdf5::raw::UNDEFINED;
use crate::span::Span;
use crate::store::copy_front;

/// A file with two arrays of bytes, `header_blob` and `data_blob`, in the form of E3SM-IO's HDF5
/// blob files (`spec/blob.md#written-containers`): the metadata, then each array after the other.
///
/// The metadata have no times, so equal arrays make equal files.
///
/// ```
/// use striae_core::hdf5::{Container, Reader};
///
/// let container = Container::new(3, 5).unwrap();
/// let mut file = container.metadata().to_vec();
/// file.extend(b"abcdefgh");
/// let mut memory = [0; Reader::<()>::MEMORY];
/// let file = Reader::open(&file[..], &mut memory)?;
/// let data = file.dataset(b"data_blob", &mut memory)?.unwrap();
/// assert_eq!(data.values, container.data());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Container {
    header: Span,
    data: Span,
}

impl Container {
    /// The bytes of the metadata, with zeros after the last structure.
    pub const METADATA: usize = 512;

    const ROOT: u64 = 48;
    const HEADER: u64 = 137;
    const DATA: u64 = 216;

    /// A container for arrays of so many bytes; `None` if its end exceeds `u64::MAX`.
    #[must_use]
    pub const fn new(header_len: u64, data_len: u64) -> Option<Self> {
        match Self::header_end(header_len) {
            Some(begin) => Self::with_gap(header_len, begin, data_len),
            None => None,
        }
    }

    /// A container in which `data_blob` begins at offset `begin`; `None` if that is before the end
    /// of `header_blob`, too. No reader looks between the arrays.
    #[must_use]
    pub const fn with_gap(header_len: u64, begin: u64, data_len: u64) -> Option<Self> {
        match (Span::new(512, header_len), Span::new(begin, data_len)) {
            (Some(header), Some(data)) if header.end() <= begin => Some(Self { header, data }),
            _ => None,
        }
    }

    /// The end of a `header_blob` of so many bytes; `None` if it exceeds `u64::MAX`.
    #[must_use]
    pub const fn header_end(header_len: u64) -> Option<u64> {
        header_len.checked_add(512)
    }

    /// The span of `header_blob`.
    #[must_use]
    pub const fn header(self) -> Span {
        self.header
    }

    /// The span of `data_blob`, up to the end of the file.
    #[must_use]
    pub const fn data(self) -> Span {
        self.data
    }

    /// The bytes from offset 0 up to `header_blob`.
    #[must_use]
    pub fn metadata(self) -> [u8; Self::METADATA] {
        let mut out = Encoder { bytes: [0; Self::METADATA], len: 0 };
        self.superblock(&mut out);
        Self::root(&mut out);
        Self::dataset(&mut out, self.header);
        Self::dataset(&mut out, self.data);
        out.bytes
    }

    fn superblock(self, out: &mut Encoder) {
        out.put(&SIGNATURE);
        out.put(&[3, 8, 8, 0]);
        for address in [0, UNDEFINED, self.data.end(), Self::ROOT] {
            out.put(&address.to_le_bytes());
        }
        out.sum_from(0);
    }

    fn root(out: &mut Encoder) {
        let start = out.len;
        out.put(b"OHDR\x02\x00\x4e");
        out.put(b"\x02\x12\x00\x00\x00\x00"); // link info: no fractal heap
        out.put(&[0xff; 16]);
        out.put(b"\x0a\x02\x00\x01\x00\x00"); // group info
        out.put(b"\x06\x16\x00\x00\x01\x00\x0bheader_blob");
        out.put(&Self::HEADER.to_le_bytes());
        out.put(b"\x06\x14\x00\x00\x01\x00\x09data_blob");
        out.put(&Self::DATA.to_le_bytes());
        out.sum_from(start);
    }

    fn dataset(out: &mut Encoder, values: Span) {
        let start = out.len;
        let len = values.len().to_le_bytes();
        out.put(b"OHDR\x02\x00\x44");
        out.put(b"\x01\x14\x00\x00\x02\x01\x01\x01"); // dataspace: 1 dimension, its largest length
        out.put(&len);
        out.put(&len);
        out.put(b"\x03\x0c\x00\x01\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00"); // u8
        out.put(b"\x05\x02\x00\x01\x03\x15"); // no fill value; space is allocated early
        out.put(b"\x08\x12\x00\x01\x04\x01"); // layout 4: contiguous
        let address = if values.is_empty() { UNDEFINED } else { values.offset() };
        out.put(&address.to_le_bytes());
        out.put(&len);
        out.sum_from(start);
    }
}

/// Bytes that follow each other.
struct Encoder {
    bytes: [u8; Container::METADATA],
    len: usize,
}

impl Encoder {
    fn put(&mut self, bytes: &[u8]) {
        let place = self.bytes.get_mut(self.len..).unwrap_or_default();
        self.len = self.len.saturating_add(copy_front(bytes, place));
    }

    /// Puts the checksum of the bytes from `start` on.
    fn sum_from(&mut self, start: usize) {
        let sum = lookup3(self.bytes.get(start..self.len).unwrap_or_default());
        self.put(&sum.to_le_bytes());
    }
}
