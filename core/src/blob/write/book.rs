//! What every writer of a set computes, whatever moves the bytes: the parts of maps, and the
//! checksums of values.

use crate::blob::layout::Share;
use crate::blob::map::Request;
use crate::blob::names::Part;
use crate::endian::{ByteOrder, I32, I64};
use crate::integrity::Crc32cParts;
use crate::store::usize_to_u64;
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

/// The checksum of a blob's row of this length: `len` bytes that have the checksum `crc`, then
/// zeros.
#[must_use]
pub const fn row_crc(crc: u32, len: u64, row_len: u64) -> u32 {
    let mut parts = Crc32cParts::NONE;
    parts.add(crc, len, row_len.saturating_sub(len));
    parts.crc(row_len)
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
