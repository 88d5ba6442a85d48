//! The containers of subfiles: where the header and the blobs are.

use super::flaw::Flaw;
use super::grammar::{has_attributes, order_of, read_header};
use crate::cdf::Header;
use crate::subject::{Failed, read};
use alloc::vec::Vec;
use striae_core::blob::names::WORLD_RANKS;
use striae_core::endian::ByteOrder;
use striae_core::hdf5;
use striae_core::source::Fault;
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// The most bytes of a header in HDF5: that of the largest case of E3SM-IO has 0.2 MB.
const MOST: u64 = 1 << 26;

/// The bytes of a file's front that are told to its store before its container is known.
const FRONT: u64 = 4096;

/// The dataset with the header, and that with the blobs.
const DATASETS: [&str; 2] = ["header_blob", "data_blob"];

/// The first bytes of an HDF5 file.
pub const HDF5_MAGIC: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// What a set is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// CDF-5 files: variable-centric.
    Cdf,
    /// HDF5 files: process-centric.
    Hdf5,
}

impl Container {
    /// The name in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdf => "cdf",
            Self::Hdf5 => "hdf5",
        }
    }
}

/// The bytes of a span that a file has named. If the file does not have them, they need no memory.
///
/// # Errors
/// [`Flaw::Cut`] if the file ends before; [`DriveError::BufferTooSmall`] if they are more than the
/// memory; an error of the store.
pub fn bytes_of<S: ReadAt>(store: &S, span: Span) -> Result<Vec<u8>, Failed<S, Flaw>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    if !span.fits(file_len) {
        return Err(DriveError::Format(Flaw::Cut { end: span.end(), file_len }));
    }
    let mut bytes = memory(usize::try_from(span.len()).unwrap_or(usize::MAX))?;
    read(store, span.offset(), &mut bytes)?;
    Ok(bytes)
}

/// Memory for values of which a file says how many there are.
pub(super) fn memory<E, T: Clone + Default>(len: usize) -> Result<Vec<T>, DriveError<E, Flaw>> {
    let mut memory = Vec::new();
    room(&mut memory, len)?;
    memory.resize(len, T::default());
    Ok(memory)
}

/// Room for so many more values.
pub(super) fn room<E, T>(memory: &mut Vec<T>, more: usize) -> Result<(), DriveError<E, Flaw>> {
    let need = memory.len().saturating_add(more).saturating_mul(size_of::<T>());
    memory.try_reserve(more).map_err(|_| DriveError::BufferTooSmall { need })
}

/// The header of a file, its end, its byte order, and the blobs of an HDF5 file.
pub(super) type Parts = (Header, u64, ByteOrder, Option<Span>);

/// The parts of a file. `like` is a header that is likely to have the same items: then its items
/// are not parsed again.
pub(super) fn parts<S: ReadAt>(store: &S, like: Option<&Header>) -> Result<Parts, Failed<S, Flaw>> {
    if container(store)? == Container::Cdf {
        let twin = || {
            let like = like.filter(|like| like.order() == ByteOrder::Big)?;
            let mut start = bytes_of(store, Span::new(0, like.head().header_len)?).ok()?;
            like.twin(&mut start, store.size().ok()?, WORLD_RANKS)
        };
        let header = match twin() {
            Some(header) => header,
            None => read_header(store, ByteOrder::Big)?,
        };
        let end = header.head().header_len;
        return Ok((header, end, ByteOrder::Big, None));
    }
    let (header, data) = datasets(store)?;
    let (at, end) = (header.offset(), header.end());
    let mut header = bytes_of(store, header)?;
    let (order, len) = (order_of(&header), usize_to_u64(header.len()));
    let like = like.filter(|like| like.order() == order);
    let header = match like.and_then(|like| like.twin(&mut header, len, WORLD_RANKS)) {
        Some(header) => header,
        None => read_header(&header[..], order).map_err(|error| Flaw::of_header_blob(error, at))?,
    };
    Ok((header, end, order, Some(data)))
}

/// The places of the header and of the blobs in an HDF5 file.
pub(super) fn datasets<S: ReadAt>(store: &S) -> Result<(Span, Span), Failed<S, Flaw>> {
    let mut memory = [0; hdf5::Reader::<()>::MEMORY];
    let file_len = store.size().map_err(DriveError::Store)?;
    let wrong = |error| Flaw::of_hdf5(error, file_len);
    let reader = hdf5::Reader::open(store, &mut memory).map_err(wrong)?;
    let mut find = |name: &'static str| {
        let array = match reader.dataset(name.as_bytes(), &mut memory) {
            // The blobs before the end of the file are there: the search for blobs says which are
            // not.
            Err(DriveError::Format(Fault::Format(hdf5::Error::OutOfFile {
                offset, end, ..
            }))) => {
                let cut = DriveError::Format(Flaw::Cut { end, file_len });
                return Span::between(offset, end).ok_or(cut);
            }
            array => array.map_err(wrong)?,
        };
        Ok(array.ok_or(DriveError::Format(Flaw::NoDataset { name }))?.values)
    };
    let [header, data] = DATASETS;
    let (header, data) = (find(header)?, find(data)?);
    if header.len() > MOST {
        return Err(DriveError::Format(Flaw::LongHeader { len: header.len(), most: MOST }));
    }
    Ok((header, data))
}

/// The container of a file: HDF5 if it starts like one.
///
/// # Errors
/// An error of the store.
pub fn container<S: ReadAt>(store: &S) -> Result<Container, Failed<S, Flaw>> {
    let mut magic = [0; HDF5_MAGIC.len()];
    let len = store.size().map_err(DriveError::Store)?;
    if len >= usize_to_u64(magic.len()) {
        let front = Span::new(0, FRONT.min(len)).unwrap_or(Span::ZERO);
        store.will_read(&[Stride::one(front)]); // objects of HDF5, or a part of the header
        read(store, 0, &mut magic)?;
    }
    Ok(if magic == HDF5_MAGIC { Container::Hdf5 } else { Container::Cdf })
}

/// Whether a file has the header of a subfile.
pub fn is_blob<S: ReadAt>(store: &S) -> bool {
    parts(store, None).is_ok_and(|(header, ..)| has_attributes(&header))
}
