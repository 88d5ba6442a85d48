//! Key-value records in a task's stream (`spec/sion.md#key-value`).
//!
//! A record is a key, a length and a value of that many bytes. Records follow each other without
//! regard to chunks: even a header may lie in two chunks. A key may have several records; its value
//! is the values of all of them, in order. Each task has its own keys.

use super::stream::Stream;
use crate::endian::ByteOrder;
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
#[twin(Lengths)]
use crate::sion::position::Lengths;
use crate::sion::raw::RecordHeader;
use crate::step::DriveError;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use embedded_io::{ErrorType, Read};
use striae_twin::twin;
use zerocopy::FromZeros;
use zerocopy::IntoBytes;

/// A record of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Record {
    /// The key.
    pub key: u64,
    /// The stream position of the value's first byte.
    pub position: u64,
    /// The length of the value in bytes.
    pub len: u64,
}

/// An iterator over the records of a stream.
#[derive(Debug)]
pub struct Records<'s, S, L> {
    stream: &'s mut Stream<S, L>,
    order: ByteOrder,
    next: u64,
    total: u64,
}

impl<'s, S, L> Records<'s, S, L> {
    /// The stream. Its position does not affect the iteration.
    pub const fn stream(&mut self) -> &mut Stream<S, L> {
        self.stream
    }

    /// The value of `key`: the values of all its remaining records, in order.
    #[must_use]
    pub const fn value(self, key: u64) -> Value<'s, S, L> {
        Value { records: self, key, left: 0 }
    }
}

#[twin(ReadAt, Lengths, ReadError = AsyncError)]
impl<'s, S: ReadAt, L: Lengths<ReadError<S>>> Records<'s, S, L> {
    /// The records of `stream`; `order` is the byte order of META1.
    ///
    /// # Errors
    /// An error of reading the chunk lengths.
    pub async fn new(stream: &'s mut Stream<S, L>, order: ByteOrder) -> Result<Self, ReadError<S>> {
        Self::behind(stream, order, 0).await
    }

    /// The records of `stream` from stream position `next` on. A record must start there: at 0, or
    /// after the value of another record.
    ///
    /// # Errors
    /// An error of reading the chunk lengths.
    pub async fn behind(
        stream: &'s mut Stream<S, L>,
        order: ByteOrder,
        next: u64,
    ) -> Result<Self, ReadError<S>> {
        let total = stream.total().await?;
        stream.will_read(total).await;
        Ok(Self { stream, order, next, total })
    }

    /// The next record: that of the [`Iterator`].
    #[allow(clippy::should_implement_trait, reason = "it does, and this has two forms")]
    pub async fn next(&mut self) -> Option<Result<Record, ReadError<S>>> {
        if self.next >= self.total {
            return None;
        }
        let record = self.read_next().await;
        if record.is_err() {
            self.next = self.total; // where the next record starts is not known any more
        }
        Some(record)
    }

    async fn read_next(&mut self) -> Result<Record, ReadError<S>> {
        let left = self.total.saturating_sub(self.next);
        let header_len = u64::from(RecordHeader::TABLE.len);
        let cut = |len| DriveError::Format(Error::RecordCut { position: self.next, len, left });
        if left < header_len {
            return Err(cut(header_len));
        }
        let mut header = RecordHeader::new_zeroed();
        self.stream.seek_to(self.next);
        self.stream.read_all(header.as_mut_bytes()).await?;
        let (key, len) = (header.key.get(self.order), header.len.get(self.order));
        let whole = header_len.saturating_add(len);
        if whole > left {
            return Err(cut(whole));
        }
        let position = self.next.saturating_add(header_len);
        self.next = position.saturating_add(len);
        Ok(Record { key, position, len })
    }
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Iterator for Records<'_, S, L> {
    type Item = Result<Record, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        Records::next(self)
    }
}

/// The value of one key, as a stream of bytes.
#[derive(Debug)]
pub struct Value<'s, S, L> {
    records: Records<'s, S, L>,
    key: u64,
    left: u64,
}

#[twin(ReadAt, Lengths, ReadError = AsyncError)]
impl<S: ReadAt, L: Lengths<ReadError<S>>> Value<'_, S, L> {
    /// Reads bytes into `buf`, at most the rest of the current record and of its chunk, and returns
    /// how many. Returns 0 only if `buf` is empty or at the end of the value.
    ///
    /// # Errors
    /// An error of the store, or of reading the chunk lengths; [`Error::RecordCut`].
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        if buf.is_empty() {
            return Ok(0);
        }
        while self.left == 0 {
            if self.records.next >= self.records.total {
                return Ok(0);
            }
            let record = self.records.read_next().await?; // after an error it is read again
            if record.key == self.key {
                self.left = record.len;
                self.records.stream.seek_to(record.position);
            }
        }
        let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        let n = self.records.stream.read(buf.get_mut(..len).unwrap_or_default()).await?;
        self.left = self.left.saturating_sub(usize_to_u64(n));
        Ok(n)
    }
}

impl<S: ReadAt, L> ErrorType for Value<'_, S, L> {
    type Error = ReadError<S>;
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Read for Value<'_, S, L> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        Value::read(self, buf)
    }
}
