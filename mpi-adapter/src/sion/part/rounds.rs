//! Collective writes, of which most need no message.

use super::Part;
use crate::collective::{Collective, Fold};
use crate::error::Error;
use crate::file::SharedFile;
use crate::operation::Operation;
use std::io;
use striae_core::store::usize_to_u64;

/// When the ranks meet to hand their records over: equal at all ranks.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Collective writes up to the next round, that one included.
    left: u64,
    /// Collective writes so far.
    written: u64,
    /// The length of this rank's longest record.
    longest: u64,
    /// Records for which there was no place before the META2 of the last commit.
    pending: Vec<u8>,
    /// Their lengths.
    lens: Vec<usize>,
}

/// The most collective writes between two rounds of ranks that need them, so that records that
/// grow cannot wait for long.
const MOST: u64 = 1 << 13;

impl Rounds {
    pub(super) const fn new() -> Self {
        Self { left: 1, written: 0, longest: 0, pending: Vec::new(), lens: Vec::new() }
    }

    /// The ranks meet in the next collective write: there is less room than they thought.
    pub(super) const fn meet(&mut self) {
        self.left = 1;
    }

    /// Counts a collective write, with a record of `len` bytes of this rank.
    #[inline]
    fn count(&mut self, len: u64) {
        self.longest = self.longest.max(len);
        self.left = self.left.saturating_sub(1);
        self.written = self.written.wrapping_add(1);
    }

    /// The number of collective writes so far.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Number of bytes that have no place yet.
    pub(super) const fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Keeps a record that has no place yet.
    fn wait(&mut self, record: &[u8]) {
        self.pending.extend_from_slice(record);
        self.lens.push(record.len());
    }

    fn take_pending(&mut self) -> (Vec<u8>, Vec<usize>) {
        (std::mem::take(&mut self.pending), std::mem::take(&mut self.lens))
    }
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Writes a record of each rank. The ranks meet when the room before META2 may be used up, or
    /// the buffer of one that cannot write it by itself; all of them know when from the records up
    /// to the last time.
    pub(in crate::sion) fn coll_write(&mut self, record: &[u8]) -> Result<(), Error> {
        self.comm.error().map_or(Ok(()), Err)?;
        let len = match self.merged.clone() {
            Some(group) => {
                self.begin(Operation::SionWrite);
                // Before a rank waits for messages of its group: what a rank has lost is told here.
                let mine = self.mine.take_untold().map_or(Ok(()), Err);
                self.comm.agree(mine)?;
                self.put_merged(record, &group)?
            }
            None => {
                if !self.append(record) {
                    self.put(record);
                }
                usize_to_u64(record.len())
            }
        };
        self.rounds.count(len);
        if self.rounds.left == 0 { self.round() } else { Ok(()) }
    }

    /// As [`coll_write`](Self::coll_write), if the ranks do not meet in it and the record only has
    /// to wait; otherwise does nothing and returns false.
    #[inline]
    pub(in crate::sion) fn coll_append(&mut self, record: &[u8]) -> bool {
        let done = self.rounds.left > 1 && self.merged.is_none() && self.append(record);
        if done {
            self.rounds.count(usize_to_u64(record.len()));
        }
        done
    }

    /// A record goes to one chunk if it fits into any, as SIONlib's do.
    pub(super) fn put(&mut self, record: &[u8]) {
        if record.is_empty() || self.mine.is_failed() {
            return;
        }
        if self.rounds.pending() > 0 {
            return self.rounds.wait(record);
        }
        if let Err(error) = self.place(record) {
            match error.kind() {
                io::ErrorKind::WouldBlock => self.rounds.wait(record),
                _ => self.mine.fail("writing a record", &error),
            }
        }
    }

    fn place(&mut self, record: &[u8]) -> io::Result<()> {
        let len = usize_to_u64(record.len());
        let chunksize = self.mine.tasks().first().map(|task| task.pen().cursor().chunksize());
        if chunksize.is_some_and(|chunksize| len <= chunksize) {
            self.ensure_free_space(len)?;
        }
        self.write(record)
    }

    fn round(&mut self) -> Result<(), Error> {
        self.leave_lane();
        self.begin(Operation::SionWrite);
        let mut mine = self.mine.take_untold().map_or(Ok(()), Err);
        if self.file.hands_over() {
            self.comm.agree(mine)?; // before a rank waits for messages of its group
            mine = Ok(());
        }
        let mine = self.file.hand_over(mine);
        let mine = mine.map(|()| [self.next_round(), usize_to_u64(self.rounds.pending())]);
        let [next, pending] = self.comm.combine(mine, [Fold::Min, Fold::Max])?;
        self.file.settle();
        self.rounds.left = next;
        if pending > 0 { self.advance(0) } else { Ok(()) }
    }

    /// Writes what had no place and now has one, each record as if it came now.
    pub(super) fn write_pending(&mut self) {
        let (bytes, lens) = self.rounds.take_pending();
        let mut rest = bytes.as_slice();
        for len in lens {
            let Some((record, after)) = rest.split_at_checked(len) else { return };
            rest = after;
            if let Err(error) = self.place(record) {
                return self.mine.fail("writing a record", &error); // the stream ends before it
            }
        }
    }

    /// The last block that the records need for which there was no place, and `len` more bytes.
    pub(super) fn block_after_pending(&self, len: u64) -> u64 {
        let Some(cursor) = self.mine.tasks().first().map(|task| task.pen().cursor()) else {
            return 0;
        };
        let (mut block, mut room) = (u64::from(cursor.chunk()), cursor.room());
        let size = cursor.chunksize();
        if size == 0 {
            return block; // it has room for no byte
        }
        let mut take = |len: u64, is_record: bool| {
            if is_record && room < len && len <= size {
                room = 0; // the record is not split
            }
            let more = len.saturating_sub(room).div_ceil(size);
            block = block.saturating_add(more);
            room = room.saturating_add(more.saturating_mul(size)).saturating_sub(len);
        };
        self.rounds.lens.iter().for_each(|len| take(usize_to_u64(*len), true));
        take(len, false);
        block
    }

    /// Collective writes until a buffer that this rank does not write by itself is full, or the
    /// room before META2, if all records are as long as the longest.
    fn next_round(&self) -> u64 {
        let reach = self.book.reach();
        let longest = self.rounds.longest;
        let buffer = match self.file.needs_others() {
            true => usize_to_u64(self.file.limit()).checked_div(longest).unwrap_or(MOST),
            false if reach == u64::MAX => return u64::MAX,
            false => u64::MAX,
        };
        let Some(cursor) = self.mine.tasks().first().map(|task| task.pen().cursor()) else {
            return MOST;
        };
        let blocks = reach.saturating_sub(u64::from(cursor.chunk())).saturating_sub(1);
        let (size, room) = (cursor.chunksize(), cursor.room());
        let records = match size.checked_div(longest) {
            None => MOST,
            // They go on in the next chunk.
            Some(0) => blocks.saturating_mul(size).saturating_add(room).div_euclid(longest.max(1)),
            Some(of_chunk) => {
                let of_room = room.checked_div(longest).unwrap_or(0);
                blocks.saturating_mul(of_chunk).saturating_add(of_room)
            }
        };
        buffer.min(records).clamp(1, MOST)
    }
}
