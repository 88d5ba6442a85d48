//! A writer without its store.

use super::memory::Tasks;
use super::put::Put;
use crate::endian::U64;
use crate::integrity::Checksum;
use crate::sion::book::{Ahead, Book};
use crate::sion::error::Error;
use crate::sion::meta1::{KeyvalMode, Meta1};
use crate::sion::pen::Since;
use crate::sion::publish::{Publish, Terms};
use crate::sion::raw::RecordHeader;
use crate::sion::tables::Tables;
use crate::step::DriveError;
use crate::store::usize_to_u64;
use embedded_io::ErrorKind;

/// A writer's state and memory.
#[derive(Debug)]
pub(super) struct Desk<'m> {
    pub(super) book: Book,
    pub(super) tasks: Tasks<'m>,
    pub(super) window: &'m mut [u8],
    pub(super) ahead: Ahead,
    pub(super) checksum: Checksum,
}

/// The machine of a commit or close, and the memory for its reads.
pub(super) type Publishing<'d, 'm> = (Publish<'d, Emitting<'d, 'm>>, &'d mut [u8]);

/// What a commit changes; an entered block changes nothing.
type Changes<'d, 'm> = Option<Since<&'d Tasks<'m>>>;

type Emitting<'d, 'm> = Tables<'d, Changes<'d, 'm>>;

impl<'m> Desk<'m> {
    pub(super) const fn meta1(&self) -> &Meta1 {
        self.book.meta1()
    }

    /// Checks that streams are plain.
    pub(super) fn check_plain(&self) -> Result<(), Error> {
        match self.meta1().keyval() {
            KeyvalMode::Inline => Err(Error::OnlyKeyval),
            _ => Ok(()),
        }
    }

    /// Puts `bytes` into a plain stream.
    pub(super) fn put<'d, 'b>(
        &'d mut self,
        local: u32,
        bytes: &'b [u8],
    ) -> Result<Put<'d, 'm, 'b>, Error> {
        self.check_plain()?;
        Put::new(self, local, [bytes, &[]])
    }

    /// The header of a key-value record.
    pub(super) fn header(&self, key: u64, value: &[u8]) -> Result<RecordHeader, Error> {
        if self.meta1().keyval() != KeyvalMode::Inline {
            return Err(Error::NoKeyval);
        }
        let (order, len) = (self.meta1().order(), usize_to_u64(value.len()));
        Ok(RecordHeader { key: U64::new(key, order), len: U64::new(len, order) })
    }

    /// The commit of a file of `file_len` bytes. Call [`committed`](Self::committed) after its
    /// success.
    pub(super) fn commit(&mut self, file_len: u64) -> Result<Publishing<'_, 'm>, Error> {
        self.publish(file_len, Publish::commit)
    }

    /// The close of a file of `file_len` bytes. Call [`closed`](Self::closed) after it.
    pub(super) fn close(&mut self, file_len: u64) -> Result<Publishing<'_, 'm>, Error> {
        self.publish(file_len, Publish::close)
    }

    fn publish<'d>(
        &'d mut self,
        file_len: u64,
        publish: impl FnOnce(
            &'d mut Book,
            u32,
            Changes<'d, 'm>,
            Terms,
            &'d mut [u8],
        ) -> Result<Publish<'d, Emitting<'d, 'm>>, Error>,
    ) -> Result<Publishing<'d, 'm>, Error> {
        let terms = Terms { ahead: self.ahead, file_len, checksum: self.checksum, set_number: 0 };
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let (maxchunks, written) = (self.tasks.maxchunks(), Some(Since(&self.tasks)));
        Ok((publish(&mut self.book, maxchunks, written, terms, front)?, back))
    }

    /// Records that all written bytes are committed.
    pub(super) fn committed(&mut self) {
        self.tasks.committed();
    }

    /// Records the result of a close.
    pub(super) fn closed<E: embedded_io::Error>(
        &mut self,
        closed: Result<(), DriveError<E, Error>>,
    ) -> Result<(), DriveError<E, Error>> {
        match closed {
            // All but the cut was done, and the device has no way to do that.
            Err(DriveError::Store(error))
                if error.kind() == ErrorKind::Unsupported && self.book.is_closed() => {}
            closed => closed?,
        }
        self.committed();
        Ok(())
    }
}
