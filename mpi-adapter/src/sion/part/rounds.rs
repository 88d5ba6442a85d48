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
}

/// The most collective writes between two rounds of ranks that need them, so that records that
/// grow cannot wait for long.
const MOST: u64 = 1 << 13;

impl Rounds {
    pub(super) const fn new() -> Self {
        Self { left: 1, written: 0, longest: 0, pending: Vec::new() }
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
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Writes a record of each rank. The ranks meet when the room before META2 may be used up, or
    /// the buffer of one that cannot write it by itself; all of them know when from the records up
    /// to the last time.
    pub(in crate::sion) fn coll_write(&mut self, record: &[u8]) -> Result<(), Error> {
        self.comm.error().map_or(Ok(()), Err)?;
        let len = match self.merged.clone() {
            Some(group) => self.put_merged(record, &group)?,
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
        let chunksize = self.mine.tasks().first().map(|task| task.pen().cursor().chunksize());
        let fits = chunksize.is_some_and(|chunksize| usize_to_u64(record.len()) <= chunksize);
        let placed = match fits && self.rounds.pending.is_empty() {
            true => self.ensure_free_space(usize_to_u64(record.len())),
            false => Ok(()),
        };
        if let Err(error) = placed {
            self.mine.fail("writing a record", &error);
        } else if !self.rounds.pending.is_empty() {
            self.rounds.pending.extend_from_slice(record);
        } else if let Err(error) = self.write(record) {
            match error.kind() {
                io::ErrorKind::WouldBlock => self.rounds.pending.extend_from_slice(record),
                _ => self.mine.fail("writing a record", &error),
            }
        }
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
        if pending > 0 { self.write_pending() } else { Ok(()) }
    }

    /// Writes what had no place. All ranks call this if one of them has something.
    pub(super) fn write_pending(&mut self) -> Result<(), Error> {
        self.advance(usize_to_u64(self.rounds.pending()))?;
        let pending = std::mem::take(&mut self.rounds.pending);
        if pending.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.write(&pending) {
            self.mine.fail("writing a record", &error);
        }
        Ok(())
    }

    /// Collective writes until a buffer that this rank does not write by itself is full, or the
    /// room before META2, if all records are as long as the longest.
    fn next_round(&self) -> u64 {
        let reach = self.book.reach();
        let buffer = match self.file.needs_others() {
            true => usize_to_u64(self.file.limit()),
            false if reach == u64::MAX => return u64::MAX,
            false => u64::MAX,
        };
        let Some(cursor) = self.mine.tasks().first().map(|task| task.pen().cursor()) else {
            return MOST;
        };
        let blocks = reach.saturating_sub(u64::from(cursor.chunk()));
        let room = blocks.saturating_sub(1).saturating_mul(cursor.chunksize());
        let room = room.saturating_add(cursor.room());
        buffer.min(room).checked_div(self.rounds.longest).unwrap_or(MOST).clamp(1, MOST)
    }
}
