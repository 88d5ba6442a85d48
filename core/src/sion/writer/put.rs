//! [`Put`] puts bytes into the stream of a task. It returns steps; the caller does them.

use super::Desk;
use super::desk::Publishing;
use crate::sion::book::Book;
use crate::sion::error::Error;
use crate::sion::pen::Pen;
use crate::sion::publish::{Publish, Terms};
use crate::store::usize_to_u64;

/// Puts bytes into the stream of a task. If it is dropped before its end, none of the bytes are in
/// the stream: bytes that are already in the store lie after the end of the stream and will be
/// overwritten.
#[derive(Debug)]
pub(super) struct Put<'d, 'm, 'b> {
    desk: &'d mut Desk<'m>,
    local: u32,
    /// The Pen before the call; `None` when all bytes are put.
    mark: Option<Pen>,
    /// The bytes that must fit into the chunk. If they do not, the task goes to its next chunk
    /// first.
    fit: Option<u64>,
    parts: [&'b [u8]; 2],
    /// Whether to stop at the end of one chunk.
    is_some: bool,
    /// The last write: its length, and the checksum of the chunk after it.
    asked: Option<(usize, u32)>,
    put: usize,
}

/// The next step. A further call assumes that the last step was done.
#[derive(Debug)]
pub(super) enum Next<'b> {
    /// Enter a block: run the machine of [`Put::enter`].
    Enter(u32),
    /// Write `bytes` at `offset`.
    Write { offset: u64, bytes: &'b [u8] },
    /// The end: this number of bytes was put.
    Done(usize),
}

impl<'d, 'm, 'b> Put<'d, 'm, 'b> {
    /// Puts `parts` into the stream of task `local`, chunk after chunk.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task.
    pub(super) fn new(
        desk: &'d mut Desk<'m>,
        local: u32,
        parts: [&'b [u8]; 2],
    ) -> Result<Self, Error> {
        let mark = Some(*desk.tasks.pen(local)?);
        Ok(Self { desk, local, mark, fit: None, parts, is_some: false, asked: None, put: 0 })
    }

    /// Puts only the bytes that fit into one chunk.
    pub(super) fn some(self) -> Self {
        let mut put = self;
        put.is_some = true;
        put
    }

    /// Goes to the next chunk first, unless `len` bytes fit into the current one.
    pub(super) fn fitting(self, len: u64) -> Self {
        let mut put = self;
        put.fit = Some(len);
        put
    }

    /// The Book of the file.
    pub(super) const fn book(&self) -> &Book {
        &self.desk.book
    }

    /// The next step.
    ///
    /// # Errors
    /// [`Error::RecordTooLong`], [`Error::FileFull`], [`Error::LedgerFull`].
    pub(super) fn poll(&mut self) -> Result<Next<'b>, Error> {
        if let Some((len, crc)) = self.asked.take() {
            self.desk.tasks.pen_mut(self.local)?.wrote(usize_to_u64(len), crc);
            self.put = self.put.saturating_add(len);
            let [bytes, _] = &mut self.parts;
            *bytes = bytes.get(len..).unwrap_or_default();
        }
        loop {
            let pen = *self.desk.tasks.pen(self.local)?;
            if let Some(len) = self.fit {
                if pen.cursor().fits(len)? {
                    self.fit = None;
                    continue;
                }
            } else {
                let [bytes, later] = self.parts;
                match bytes.is_empty() || (self.is_some && self.put > 0) {
                    true if later.is_empty() || self.is_some => break,
                    true => {
                        self.parts = [later, &[]];
                        continue;
                    }
                    false if pen.cursor().room() > 0 => return self.write(&pen, bytes),
                    false => {}
                }
            }
            // The task goes to the start of its next chunk.
            let next = pen.cursor().next_chunk()?.chunk();
            if self.must_enter(next) {
                return Ok(Next::Enter(next));
            }
            self.desk.tasks.leave(self.local)?;
            self.fit = None;
        }
        self.mark = None;
        Ok(Next::Done(self.put))
    }

    /// The step that writes as many of `bytes` as fit into the chunk.
    fn write(&mut self, pen: &Pen, bytes: &'b [u8]) -> Result<Next<'b>, Error> {
        // Of a file that was reopened, or after a close that failed, the block may not be entered.
        if self.must_enter(pen.chunk()) {
            return Ok(Next::Enter(pen.chunk()));
        }
        let len = usize::try_from(pen.cursor().room()).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = bytes.get(..len).unwrap_or_default();
        let place = pen.cursor().place(usize_to_u64(len))?;
        self.asked = Some((len, pen.crc_after(bytes, self.desk.checksum)));
        Ok(Next::Write { offset: place.offset(), bytes })
    }

    /// Whether `block` is not entered yet, so that the last commit may be in the way.
    fn must_enter(&self, block: u32) -> bool {
        u64::from(block) >= self.desk.book.entered()
    }

    /// The machine that enters `block` in a file of `file_len` bytes, and the memory for its reads.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too small.
    pub(super) fn enter<'e>(
        &'e mut self,
        block: u32,
        file_len: u64,
    ) -> Result<Publishing<'e, 'm>, Error> {
        let Desk { book, window, ahead, checksum, .. } = &mut *self.desk;
        let terms = Terms { ahead: *ahead, file_len, checksum: *checksum, set_number: 0 };
        let (front, back) = window.split_at_mut(window.len() >> 1);
        Ok((Publish::enter_too(book, block, terms, front)?, back))
    }
}

impl Drop for Put<'_, '_, '_> {
    fn drop(&mut self) {
        if let Some(mark) = &self.mark {
            self.desk.tasks.take_back(mark);
        }
    }
}
