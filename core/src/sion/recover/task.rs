//! Recovery of the stream of one task.

use super::certainty::{Certainty, Doubt, Proof, Recovered};
use super::entries::{Entries, Work};
use super::evidence::{Remains, Rival, Trust};
use super::records::{Stop, Walked, are_records, walk};
use super::scan::{Room, Sparse, used_len};
use super::scratch::Scratch;
use crate::endian::U32;
use crate::sion::disk::meta2::entry;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::{Error, ReadError};
use crate::sion::read::locate::Task;
use crate::sion::verdict::seal::checksum_of;
use crate::span::Span;
use crate::step::{DriveError, read_exact};

/// A callback for each chunk with data, in order: the chunk's index and its used bytes. In a sealed
/// file it is also called with 0 for chunks of which nothing is left.
pub type EachChunk<'a> = &'a mut dyn FnMut(u64, u64) -> Result<(), Error>;

impl Remains {
    /// Judges the stream of `task`, one of [`Remains::tasks`], and calls `each` for its chunks.
    /// Chunks without a call have no used bytes.
    ///
    /// # Errors
    /// The error of `each`; the store's own error.
    pub fn recover<S: Sparse>(
        &self,
        store: &S,
        task: &Task,
        scratch: &mut Scratch<'_>,
        each: EachChunk<'_>,
    ) -> Result<Recovered, ReadError<S>> {
        let work = Work { remains: self, store, local: task.local, chunks: task.chunks };
        let mut tally = Tally { each, bytes: 0, blockcount: 1 };
        let certainty = match (task.chunks.chunksize, self.word) {
            (0, Trust::Sealed) => Certainty::Exact,
            (0, Trust::Doubtful(doubt @ Doubt::Meta2Misplaced)) => Certainty::Guess(doubt),
            (0, _) => Certainty::AsFound(Proof::NoRoom),
            _ => work.judge(scratch, &mut tally)?,
        };
        let certainty = match certainty {
            guess @ Certainty::Guess(_) => guess,
            sound => work.unless_contradicted(sound, tally.bytes)?,
        };
        Ok(Recovered { blockcount: tally.blockcount, bytes: tally.bytes, certainty })
    }
}

/// The sum of the chunks of a task that were reported.
struct Tally<'a> {
    each: EachChunk<'a>,
    bytes: u64,
    blockcount: u64,
}

impl Tally<'_> {
    fn add<E>(&mut self, chunk: u64, len: u64) -> Result<(), DriveError<E, Error>> {
        if len > 0 { self.add_any(chunk, len) } else { Ok(()) }
    }

    /// Adds a chunk to the blockcount, even if it is empty.
    fn add_any<E>(&mut self, chunk: u64, len: u64) -> Result<(), DriveError<E, Error>> {
        (self.each)(chunk, len).map_err(DriveError::Format)?;
        self.bytes = self.bytes.saturating_add(len);
        self.blockcount = self.blockcount.max(chunk.saturating_add(1));
        Ok(())
    }
}

impl<S: Sparse> Work<'_, S> {
    fn judge(
        &self,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let word = self.remains.word;
        let sealed = self.remains.varheader.as_ref().filter(|_| self.remains.is_sealed());
        if let Some(sealed) = sealed.filter(|_| word == Trust::SealedChunks) {
            return self.by_checksums(sealed, scratch, tally);
        }
        let entries = self.entries(scratch)?;
        if let Some(sealed) = sealed {
            return match entries {
                Entries::Sound(count) => self.as_sealed(sealed, count, scratch, tally),
                Entries::Zero | Entries::InPart => self.by_checksums(sealed, scratch, tally),
            };
        }
        let proof = match word {
            Trust::SealedMeta2 => Some(Proof::SealedMeta2),
            Trust::Committed | Trust::Closed => Some(Proof::Meta2),
            _ => None,
        };
        if let (Entries::Sound(count), Some(proof), Some(varheader)) =
            (&entries, proof, &self.remains.varheader)
        {
            let more = self.more_than(varheader)?;
            let (varheader, count) = more.unwrap_or((varheader, *count));
            self.tell_entries(varheader, count, tally)?;
            return Ok(match more {
                Some(_) => Certainty::Guess(Doubt::TwoMeta2),
                None => Certainty::AsFound(proof),
            });
        }
        let walked = match self.is_keyval() {
            true => {
                let (room, order) = (self.room(), self.remains.head.meta1.order());
                Some(walk(self.store, &room, order, scratch.window)?)
            }
            false => None,
        };
        let certainty = walked.map(|walked| self.certainty_of(&walked)).transpose()?;
        match (entries, word, walked.zip(certainty)) {
            (Entries::Sound(count), Trust::Doubtful(doubt), walked)
                if !walked.is_some_and(|(_, certainty)| certainty.is_sound()) =>
            {
                if let Some(varheader) = &self.remains.varheader {
                    self.tell_entries(varheader, count, tally)?;
                }
                Ok(Certainty::Guess(doubt))
            }
            (entries, _, Some((walked, certainty))) => {
                self.tell_full(walked.len, tally)?;
                let Entries::Zero = entries else { return Ok(certainty) };
                // META2 and the records both say that there is nothing, or they differ.
                let is_empty = walked.len == 0 && walked.stop == Stop::Zeros;
                Ok(match &self.remains.varheader {
                    Some(place) if is_empty && self.bytes_in(place)? == 0 => {
                        Certainty::AsFound(Proof::Records)
                    }
                    _ => Certainty::Guess(Doubt::ZeroBlocksize),
                })
            }
            (entries, _, None) => self.by_data(&entries, scratch, tally),
        }
    }

    /// Another META2 with a longer stream than the one at `varheader`, and its blockcount.
    fn more_than(&self, varheader: &Varheader) -> Result<Option<(&Varheader, u64)>, ReadError<S>> {
        let Some(Rival::Other(other)) = &self.remains.rival else { return Ok(None) };
        let bytes = self.bytes_in(other)?;
        let order = self.remains.head.meta1.order();
        let is_more = self.bytes_in(varheader)? < bytes
            && (!self.is_keyval() || are_records(self.store, self.chunks, bytes, order)?);
        Ok(self.blockcount(other)?.filter(|_| is_more).map(|count| (other, count)))
    }

    /// Checks that the word for a stream of `bytes` bytes holds whichever META2 is that of the last
    /// commit.
    fn unless_contradicted(&self, sound: Certainty, bytes: u64) -> Result<Certainty, ReadError<S>> {
        if self.remains.has_lost_sizes {
            return Ok(Certainty::Guess(Doubt::LostSizes));
        }
        let stands = match &self.remains.rival {
            None => true,
            // A stream only grows.
            Some(Rival::Older(other)) => self.bytes_in(other)? <= bytes,
            Some(Rival::Other(other)) => self.bytes_in(other)? == bytes,
            Some(Rival::Many) => false,
        };
        Ok(if stands { sound } else { Certainty::Guess(Doubt::TwoMeta2) })
    }

    /// All chunks that may have data.
    pub(super) fn room(&self) -> Room {
        let limit = self.remains.varheader.map_or(u64::MAX, |place| place.maxchunks().into());
        Room { chunks: self.chunks, end: self.remains.data_end(), limit }
    }

    /// The bytes of a chunk up to its last byte that is not zero.
    pub(super) fn used(&self, chunk: u64, scratch: &mut Scratch<'_>) -> Result<u64, ReadError<S>> {
        match self.room().place(chunk) {
            Some(place) => used_len(self.store, place, scratch.window),
            None => Ok(0),
        }
    }

    fn tell_entries(
        &self,
        varheader: &Varheader,
        count: u64,
        tally: &mut Tally<'_>,
    ) -> Result<(), ReadError<S>> {
        let mut chunk = 0;
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            tally.add(next, self.blocksize(varheader, next)?.unwrap_or(0))?;
            chunk = next.saturating_add(1);
        }
        tally.blockcount = tally.blockcount.max(count);
        Ok(())
    }

    /// Reports a stream of `len` bytes that fills chunk after chunk.
    fn tell_full(&self, len: u64, tally: &mut Tally<'_>) -> Result<(), ReadError<S>> {
        let (mut chunk, mut left) = (0u64, len);
        while left > 0 {
            let here = left.min(self.chunks.chunksize);
            tally.add(chunk, here)?;
            left = left.saturating_sub(here);
            chunk = chunk.saturating_add(1);
        }
        Ok(())
    }

    /// The certainty of a stream from its records.
    fn certainty_of(&self, walked: &Walked) -> Result<Certainty, ReadError<S>> {
        let remains = self.remains;
        let guess = |doubt| Ok(Certainty::Guess(doubt));
        if walked.zero_records {
            return guess(Doubt::ZeroRecords);
        }
        match walked.stop {
            Stop::NoRecord => return guess(Doubt::NoRecord),
            Stop::Cut | Stop::End if remains.is_cut() => return guess(Doubt::FileCut),
            // A record goes on where there is something else.
            Stop::Cut if !remains.unnamed || remains.varheader.is_some() => {
                return guess(Doubt::NoRecord);
            }
            Stop::Cut => return Ok(Certainty::AsFound(Proof::RecordsBeforeUnfinished)),
            Stop::Zeros | Stop::End => {}
        }
        if walked.ends_in_zero {
            return guess(Doubt::LastRecord);
        }
        let is_proven = match (&remains.varheader, remains.word) {
            (None, _) => remains.unnamed,
            // Behind a commit there may be older records than those that it is of.
            (Some(varheader), Trust::Closed | Trust::Committed) => {
                self.last_end(varheader)? == Some(walked.len)
            }
            (Some(varheader), _) => remains.unnamed && self.bytes_in(varheader)? == walked.len,
        };
        match is_proven {
            true => Ok(Certainty::AsFound(Proof::Records)),
            false => guess(Doubt::Meta2InPart),
        }
    }

    /// The end of the stream by the blocksize of its last chunk, if all other chunks are full.
    fn last_end(&self, varheader: &Varheader) -> Result<Option<u64>, ReadError<S>> {
        let count = self.blockcount(varheader)?;
        let Some(last) = count.and_then(|count| count.checked_sub(1)) else { return Ok(None) };
        let size = self.blocksize(varheader, last)?.filter(|&size| size > 0);
        Ok(size.and_then(|size| last.checked_mul(self.chunks.chunksize)?.checked_add(size)))
    }

    /// The number of rows that META2 has by its place, if the blockcount of the task is more than
    /// maxchunks and no more than these: then maxchunks is damaged. After a commit there may be
    /// bytes before META2 that are not part of it, but its place is that of a close by chance only.
    fn rows_by_place(&self, varheader: &Varheader) -> Result<Option<u64>, ReadError<S>> {
        let value = self.read_entry(entry(varheader.blockcounts(), self.local))?;
        let count = value.and_then(|(value, _)| u64::try_from(value).ok());
        let (start, blocks) = (varheader.span().offset(), &self.remains.blocks);
        let rows = blocks.before(start);
        let known = u64::from(varheader.maxchunks()).saturating_add(1)..=rows;
        let is_close = blocks.end(rows) == Some(start);
        Ok(count.filter(|count| is_close && known.contains(count)).map(|_| rows))
    }

    /// Reports chunks by META2, or else up to their last byte that is not zero.
    fn by_data(
        &self,
        entries: &Entries,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let mut room = self.room();
        let is_cut = self.remains.is_cut();
        let Some(varheader) = self.remains.varheader.as_ref().filter(|_| !is_cut) else {
            let mut chunk = 0;
            while let Some((found, place)) = room.next(self.store, chunk)? {
                tally.add(found, used_len(self.store, place, scratch.window)?)?;
                chunk = found.saturating_add(1);
            }
            let doubt = if is_cut { Doubt::FileCut } else { Doubt::NoMeta2 };
            return Ok(Certainty::Guess(doubt));
        };
        // A blockcount that other entries contradict does not say which chunks are in use.
        let mut count = self.blockcount(varheader)?;
        if let Some(few) = count
            && !self.are_unused(varheader, few)?
        {
            count = None;
        } else if let Some(rows) = self.rows_by_place(varheader)? {
            room.limit = rows;
        }
        let row_len = varheader.blockcounts().len();
        let there = self.remains.head.file_len.saturating_sub(varheader.blocksizes().offset());
        let rows = there.checked_div(row_len).unwrap_or(0).saturating_add(1);
        let end = count.unwrap_or(room.limit).min(rows.max(room.count()));
        let mut chunk = 0;
        loop {
            let by_meta2 = self.next_blocksize(varheader, chunk)?;
            let by_data = room.next(self.store, chunk)?.map(|(found, _)| found);
            let next = by_meta2.into_iter().chain(by_data).min();
            let Some(next) = next.filter(|&next| next < end) else { break };
            let size = self.blocksize(varheader, next)?.unwrap_or(0);
            let size = match room.place(next) {
                Some(place) if size == 0 => used_len(self.store, place, scratch.window)?,
                _ => size,
            };
            tally.add(next, size)?;
            chunk = next.saturating_add(1);
        }
        tally.blockcount = tally.blockcount.max(count.map_or(0, |count| count.min(end)));
        Ok(Certainty::Guess(match (entries, self.remains.word) {
            (Entries::Zero, _) => Doubt::ZeroBlocksize,
            (_, Trust::Doubtful(doubt)) => doubt,
            _ => Doubt::Meta2InPart,
        }))
    }

    /// Reports chunks by a META2 that is as sealed; their bytes may differ.
    fn as_sealed(
        &self,
        varheader: &Varheader,
        count: u64,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let (mut is_exact, mut chunk) = (true, 0);
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            let len = self.blocksize(varheader, next)?.unwrap_or(0);
            // Of a stream that is a guess anyway, nobody needs to know which chunks make it one.
            if is_exact && len > 0 {
                let place = self.chunks.chunk(next).and_then(|place| place.part(0, len));
                let place = place.unwrap_or(Span::ZERO);
                let checksum = self.remains.checksum;
                let crc = checksum_of(self.store, place, 0, checksum, scratch.window)?;
                is_exact = crc == self.sealed_crc(varheader, next)?;
            }
            tally.add(next, len)?;
            chunk = next.saturating_add(1);
        }
        tally.blockcount = tally.blockcount.max(count);
        Ok(if is_exact { Certainty::Exact } else { Certainty::Guess(Doubt::NotAsSealed) })
    }

    /// The checksum of a chunk in the seal.
    fn sealed_crc(&self, varheader: &Varheader, chunk: u64) -> Result<u32, ReadError<S>> {
        let place = varheader.crc(self.local, chunk).unwrap_or(Span::ZERO);
        let mut crc = [0; 4];
        read_exact(self.store, place.offset(), &mut crc)?;
        Ok(U32::from(crc).get(self.remains.head.meta1.order()))
    }

    /// Reports chunks by their checksums in the seal.
    fn by_checksums(
        &self,
        varheader: &Varheader,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let mut is_exact = true;
        for chunk in 0..u64::from(varheader.maxchunks()) {
            let sealed = self.sealed_crc(varheader, chunk)?;
            let size = self.blocksize(varheader, chunk)?.unwrap_or(0);
            match self.sealed_len(chunk, sealed, size, scratch)? {
                Some(len) => tally.add(chunk, len)?,
                None => {
                    is_exact = false;
                    // Even if nothing is left of it, there was something.
                    tally.add_any(chunk, self.used(chunk, scratch)?)?;
                }
            }
        }
        if let Some(count) = self.blockcount(varheader)? {
            tally.blockcount = tally.blockcount.max(count); // empty chunks at the end
        }
        Ok(if is_exact { Certainty::Exact } else { Certainty::Guess(Doubt::NotAsSealed) })
    }

    /// The number of bytes of a chunk that have this checksum: the blocksize, or the data up to the
    /// last byte that is not zero, or these and further zeros.
    fn sealed_len(
        &self,
        chunk: u64,
        sealed: u32,
        said: u64,
        scratch: &mut Scratch<'_>,
    ) -> Result<Option<u64>, ReadError<S>> {
        let checksum = self.remains.checksum;
        let place = self.room().place(chunk).unwrap_or(Span::ZERO);
        let sum = |from: u64, len: u64, before: u32, window: &mut [u8]| {
            let span = place.part(from, len).unwrap_or(Span::ZERO);
            checksum_of(self.store, span, before, checksum, window)
        };
        if 0 < said && said <= place.len() && sum(0, said, 0, scratch.window)? == sealed {
            return Ok(Some(said));
        }
        if sealed == 0 {
            return Ok(Some(0)); // the checksum of nothing
        }
        let mut len = used_len(self.store, place, scratch.window)?;
        let mut crc = sum(0, len, 0, scratch.window)?;
        while crc != sealed && len < place.len() && scratch.zeros > 0 {
            crc = checksum(crc, &[0]);
            len = len.saturating_add(1);
            scratch.zeros = scratch.zeros.saturating_sub(1);
        }
        Ok((crc == sealed).then_some(len))
    }
}
