//! What every writer of a set computes, whatever moves the bytes: the parts of maps, the sizes of
//! variables, the checksums of values, the room of a seal, and how a subfile is completed.

use super::append::NUMRECS;
use crate::blob::disk::seal::Shape;
use crate::blob::layout::{Content, Share};
use crate::blob::map::Request;
use crate::blob::names::Part;
use crate::cdf::{Define, Plan, VarDef};
use crate::endian::{ByteOrder, I32, I64};
use crate::hdf5::Container;
use crate::span::Span;
use crate::store::{WriteAt, usize_to_u64};
use zerocopy::IntoBytes;

/// The number of the requests of a blob in a decomposition, and of their elements; `None` if they
/// cannot be stored: the values of the file are signed.
#[must_use]
pub fn numbers_of(requests: &[Request]) -> Option<(u64, u64)> {
    let count = requests.iter().try_fold(0_u64, |sum, one| sum.checked_add(one.len))?;
    i32::try_from(requests.len()).ok()?;
    Some((usize_to_u64(requests.len()), count))
}

/// Puts what a blob with these requests has in a variable of the decomposition, piece by piece. A
/// dimension has nothing.
///
/// ```
/// use striae_core::blob::map::Request;
/// use striae_core::blob::{Part, Share, book};
/// use striae_core::endian::ByteOrder;
///
/// let requests = [Request { offset: 6, len: 2 }, Request { offset: 9, len: 1 }];
/// let (nreqs, count) = book::numbers_of(&requests).unwrap();
/// let (share, mut bytes) = (Share { nreqs, start: 0, count }, Vec::<u8>::new());
/// book::put_part(Part::Offsets, share, &requests, ByteOrder::Big, |one| bytes.extend(one));
/// assert_eq!(bytes, [0, 0, 0, 6, 0, 0, 0, 9]);
/// ```
pub fn put_part(
    part: Part,
    share: Share,
    requests: &[Request],
    order: ByteOrder,
    mut put: impl FnMut(&[u8]),
) {
    // All numbers were checked to be below 2^31, or 2^63.
    let int = |value: u64| I32::new(i32::try_from(value).unwrap_or(i32::MAX), order);
    let int64 = |value: u64| I64::new(i64::try_from(value).unwrap_or(i64::MAX), order);
    match part {
        Part::Nreqs => put(int(share.nreqs).as_bytes()),
        Part::BlobStart => put(int64(share.start).as_bytes()),
        Part::BlobCount => put(int64(share.count).as_bytes()),
        Part::Offsets => requests.iter().for_each(|one| put(int(one.offset).as_bytes())),
        Part::Lengths => requests.iter().for_each(|one| put(int(one.len).as_bytes())),
        Part::Nelems | Part::MaxNreqs => {}
    }
}

/// The bytes that each blob has in a variable of a decomposition in the variable-centric layout.
/// What follows the requests of a blob is zeros: E3SM-IO leaves garbage there.
#[must_use]
pub const fn row_len(part: Part, max_nreqs: u64) -> u64 {
    match part {
        Part::Nreqs => 4,
        Part::BlobStart | Part::BlobCount => 8,
        Part::Offsets | Part::Lengths => max_nreqs.saturating_mul(Share::REQUEST_LEN),
        Part::Nelems | Part::MaxNreqs => 0,
    }
}

/// The size of a canonical variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Size {
    /// Whether it has records.
    pub is_record: bool,
    /// The bytes of all values, or of those of one record.
    pub len: u64,
    /// The bytes of a value.
    pub value_len: u64,
}

impl Size {
    /// The size of a variable of this definition; `None` if it exceeds `u64::MAX`.
    #[must_use]
    pub fn of<D: Define + ?Sized>(definition: &D, var: &VarDef<'_>) -> Option<Self> {
        let length = |&dimid| definition.dim(dimid).map_or(0, |dim| dim.length);
        let is_record = var.dimids.first().is_some_and(|dimid| length(dimid) == 0);
        let value_len = var.nc_type.size();
        let mut own = var.dimids.iter().skip(is_record.into()).map(length);
        let len = own.try_fold(value_len, u64::checked_mul)?;
        Some(Self { is_record, len, value_len })
    }

    /// What the variable has in a process-centric blob, of a set with so many records; `None` if
    /// its length exceeds `u64::MAX`.
    #[must_use]
    pub fn content(self, decomposition: Option<usize>, records: u64) -> Option<Content> {
        let records = if self.is_record { records } else { 1 };
        Some(match decomposition {
            None => Content::Whole { len: self.len.checked_mul(records)? },
            Some(decomposition) => {
                Content::Elements { decomposition, len: self.value_len.checked_mul(records)? }
            }
        })
    }
}

/// The gap for a seal in a variable-centric subfile; `None` if the file has no values, and so no
/// place before them.
#[must_use]
pub fn gap(plan: &Plan) -> Option<Span> {
    let has_values = !plan.fixed().is_empty() || plan.recsize() > 0;
    Span::between(plan.header_len(), plan.fixed().offset()).filter(|_| has_values)
}

/// The container of a process-centric subfile with a header and data of these lengths. A seal of
/// this shape gets the gap before the data, if there are data. `None` if the file would be longer
/// than HDF5 files can be.
#[must_use]
pub fn container(
    header_len: u64,
    data_len: u64,
    shape: Option<Shape>,
) -> Option<(Container, Option<(Shape, Span)>)> {
    let header_end = Container::header_end(header_len)?;
    let sealed = match shape.filter(|_| data_len > 0) {
        Some(shape) => Some((shape, shape.gap_after(header_end)?)),
        None => None,
    };
    let begin = sealed.map_or(header_end, |(_, gap)| gap.end());
    Some((Container::with_gap(header_len, begin, data_len)?, sealed))
}

/// The checksum of a blob's values of a variable, over the records that were written in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sum {
    /// The record that comes next.
    next: u64,
    crc: u32,
    /// The checksum over the records that there were before.
    before: u32,
    /// Whether records were written out of order, or twice.
    is_stale: bool,
}

impl Sum {
    /// The checksum over so many records, to be continued.
    #[must_use]
    pub const fn after(records: u64, crc: u32) -> Self {
        Self { next: records, crc, before: crc, is_stale: false }
    }

    /// The checksum so far, which that of the next record continues.
    #[must_use]
    pub const fn crc(self) -> u32 {
        self.crc
    }

    /// Adds a record, whose bytes continue the checksum of `before` to `crc`. `before` is the sum
    /// as it was when the bytes were written: another thread may have added a record since.
    pub fn add(&mut self, before: Self, record: u64, crc: u32) {
        if *self == before && self.next == record {
            (self.next, self.crc) = (record.saturating_add(1), crc);
        } else {
            self.is_stale = true;
        }
    }

    /// The checksum over all records.
    ///
    /// # Errors
    /// If records were not written in order: the checksum over the records that there were before.
    /// It is continued over all others when they are read again.
    pub const fn all(self) -> Result<u32, u32> {
        if self.is_stale { Err(self.before) } else { Ok(self.crc) }
    }
}

/// The place of a record of a variable in a list of bits that says what was written: the word, and
/// the bit in it.
#[must_use]
pub fn bit(nvars: usize, variable: usize, record: u64) -> (usize, u64) {
    let row = usize_to_u64(nvars).saturating_mul(record);
    let bit = row.saturating_add(usize_to_u64(variable));
    (usize::try_from(bit >> 6).unwrap_or(usize::MAX), 1 << (bit & 63))
}

/// Completes a subfile of so many bytes, whose values are all in the store: a variable-centric one
/// gets the number of its records.
///
/// # Errors
/// The store's own error.
pub fn complete<S: WriteAt>(store: &mut S, len: u64, numrecs: Option<u64>) -> Result<(), S::Error> {
    store.set_size(len)?;
    match numrecs {
        Some(numrecs) => store.write_all_at(NUMRECS, &numrecs.to_be_bytes()),
        None => Ok(()),
    }
}
