//! The stream of one task.

use super::evidence::{Remains, Word};
use super::records::{Stop, Walked, walk};
use super::scan::{Room, Sparse, used_len};
use super::{Certainty, Doubt, Proof, Recovered, Scratch};
use crate::endian::{I64, U32};
use crate::sion::ReadError;
use crate::sion::error::Error;
use crate::sion::layout::{CRC_LEN, Chunks, ENTRY_LEN, Varheader};
use crate::sion::locate::{Task, check_blockcount, check_blocksize};
use crate::sion::meta1::KeyvalMode;
use crate::sion::meta2::entry;
use crate::sion::seal::checksum_of;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::usize_to_u64;

/// Is told of each chunk with data: its index, and how much of it is used; in order. Of a sealed
/// file it is also told of chunks of which nothing is left: 0.
pub type EachChunk<'a> = &'a mut dyn FnMut(u64, u64) -> Result<(), Error>;

/// Bytes that storage writes as a whole, at least.
const SECTOR: usize = 512;

/// What the entries of a task say.
enum Entries {
    /// All of them are there and sound; so many chunks.
    Sound(u64),
    /// All are, but a block size of 0 may be one that was never written.
    Zero,
    /// Some are not.
    InPart,
}

impl Remains {
    /// Judges the stream of `task`, one of [`Remains::tasks`], and tells `each` about its chunks:
    /// of those that it is not told about nothing is used.
    ///
    /// # Errors
    /// Those of `each`; the store's own.
    pub fn recover<S: Sparse>(
        &self,
        store: &S,
        task: &Task,
        scratch: &mut Scratch<'_>,
        each: EachChunk<'_>,
    ) -> Result<Recovered, ReadError<S>> {
        let work = Work { remains: self, store, local: task.local, chunks: task.chunks };
        if task.chunks.chunksize == 0 {
            let certainty = Certainty::Exact(Proof::NoRoom);
            return Ok(Recovered { blockcount: 1, bytes: 0, certainty });
        }
        let mut tally = Tally { each, bytes: 0, blockcount: 1 };
        let certainty = work.judge(scratch, &mut tally)?;
        Ok(Recovered { blockcount: tally.blockcount, bytes: tally.bytes, certainty })
    }
}

/// Adds up what is told of a task's chunks.
struct Tally<'a> {
    each: EachChunk<'a>,
    bytes: u64,
    blockcount: u64,
}

impl Tally<'_> {
    fn add<E>(&mut self, chunk: u64, len: u64) -> Result<(), DriveError<E, Error>> {
        if len > 0 { self.add_any(chunk, len) } else { Ok(()) }
    }

    /// The same, and the chunk counts even if it is empty.
    fn add_any<E>(&mut self, chunk: u64, len: u64) -> Result<(), DriveError<E, Error>> {
        (self.each)(chunk, len).map_err(DriveError::Format)?;
        self.bytes = self.bytes.saturating_add(len);
        self.blockcount = self.blockcount.max(chunk.saturating_add(1));
        Ok(())
    }
}

/// One task of a file.
struct Work<'a, S> {
    remains: &'a Remains,
    store: &'a S,
    local: u32,
    chunks: Chunks,
}

impl<S: Sparse> Work<'_, S> {
    fn judge(
        &self,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let word = self.remains.word;
        if word == Word::SealedChunks {
            return self.by_checksums(scratch, tally);
        }
        let entries = self.entries(scratch)?;
        if word == Word::Sealed {
            return match entries {
                Entries::Sound(count) => self.as_sealed(count, scratch, tally),
                Entries::Zero | Entries::InPart => self.by_checksums(scratch, tally),
            };
        }
        let proof = match word {
            Word::SealedMeta2 => Some(Proof::SealedMeta2),
            Word::Committed | Word::Closed => Some(Proof::Meta2),
            _ => None,
        };
        if let (Entries::Sound(count), Some(proof)) = (&entries, proof) {
            self.tell_entries(*count, tally)?;
            return Ok(Certainty::Exact(proof));
        }
        let is_keyval = self.remains.head.meta1.keyval() == KeyvalMode::Inline;
        let walked = match is_keyval {
            true => {
                let (room, order) = (self.room(), self.remains.head.meta1.order());
                Some(walk(self.store, &room, order, scratch.window)?)
            }
            false => None,
        };
        let certainty = walked.map(|walked| self.certainty_of(&walked)).transpose()?;
        match (entries, word, walked.zip(certainty)) {
            (Entries::Sound(count), Word::Doubtful(doubt), walked)
                if !walked.is_some_and(|(_, certainty)| certainty.is_exact()) =>
            {
                self.tell_entries(count, tally)?;
                Ok(Certainty::Guess(doubt))
            }
            (_, _, Some((walked, certainty))) => {
                self.tell_full(walked.len, tally)?;
                Ok(certainty)
            }
            (entries, _, None) => self.by_data(&entries, scratch, tally),
        }
    }

    /// All chunks of which there may be data.
    fn room(&self) -> Room {
        let limit = self.remains.varheader.map_or(u64::MAX, |place| place.maxchunks.into());
        Room { chunks: self.chunks, end: self.remains.data_end(), limit }
    }

    /// Reads an entry; `None` if the file ends before it does.
    fn read_entry(&self, place: Option<Span>) -> Result<Option<(i64, u64)>, ReadError<S>> {
        let Some(place) = place.filter(|place| place.fits(self.remains.head.file_len)) else {
            return Ok(None);
        };
        let mut bytes = [0; 8];
        read_exact(self.store, place.offset(), &mut bytes)?;
        Ok(Some((I64::from(bytes).get(self.remains.head.meta1.order()), place.offset())))
    }

    /// Its block count, if that is there and sound.
    fn blockcount(&self, varheader: &Varheader) -> Result<Option<u64>, ReadError<S>> {
        let value = self.read_entry(entry(varheader.blockcounts(), self.local))?;
        Ok(value.and_then(|(value, at)| check_blockcount(value, at, varheader.maxchunks).ok()))
    }

    /// A block size and where it stands, if it is there and sound. It need not be in use.
    fn blocksize(
        &self,
        varheader: &Varheader,
        chunk: u64,
    ) -> Result<Option<(u64, Span)>, ReadError<S>> {
        let place = self.blocksize_place(varheader, chunk);
        let Some((value, at)) = self.read_entry(place)? else { return Ok(None) };
        let span = self.chunks.chunk(chunk);
        let size = check_blocksize(value, at, span, self.remains.head.file_len).ok();
        Ok(size.zip(place))
    }

    fn blocksize_place(&self, varheader: &Varheader, chunk: u64) -> Option<Span> {
        let row = chunk.checked_mul(varheader.ntasks.into())?;
        let index = row.checked_add(self.local.into())?;
        varheader.blocksizes().part(index.checked_mul(ENTRY_LEN)?, ENTRY_LEN)
    }

    /// The first chunk from `chunk` on whose block size may be other than 0, as far as holes of the
    /// file tell; `None` if its own is not in the file.
    fn next_blocksize(
        &self,
        varheader: &Varheader,
        chunk: u64,
    ) -> Result<Option<u64>, ReadError<S>> {
        let sizes = varheader.blocksizes();
        let end = sizes.end().min(self.remains.head.file_len);
        let place = self.blocksize_place(varheader, chunk).filter(|place| place.fits(end));
        let Some(place) = place else { return Ok(None) };
        let rest = Span::new(place.offset(), end.saturating_sub(place.offset()));
        let data = self.store.first_data(rest.unwrap_or(Span::ZERO)).map_err(DriveError::Store)?;
        let data = data.map_or(end, Span::offset);
        let row_len = u64::from(varheader.ntasks).saturating_mul(ENTRY_LEN);
        let row = data.saturating_sub(sizes.offset()).checked_div(row_len).unwrap_or(0);
        Ok(Some(row.max(chunk)))
    }

    /// Whether one of these chunks holds a byte that is not zero.
    fn has_data(
        &self,
        chunks: core::ops::Range<u64>,
        scratch: &mut Scratch<'_>,
    ) -> Result<bool, ReadError<S>> {
        let (room, mut chunk) = (self.room(), chunks.start);
        while let Some((found, place)) = room.next(self.store, chunk)? {
            if found >= chunks.end {
                break;
            }
            if used_len(self.store, place, scratch.window)? > 0 {
                return Ok(true);
            }
            chunk = found.saturating_add(1);
        }
        Ok(false)
    }

    /// What all entries together say.
    fn entries(&self, scratch: &mut Scratch<'_>) -> Result<Entries, ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else { return Ok(Entries::InPart) };
        let Some(count) = self.blockcount(varheader)? else { return Ok(Entries::InPart) };
        let (mut zero, mut chunk) = (false, 0u64);
        while chunk < count {
            let doubts = self.remains.word == Word::Closed && !zero;
            let next = match self.next_blocksize(varheader, chunk)? {
                None => return Ok(Entries::InPart),
                Some(next) if next > chunk => {
                    let next = next.min(count); // a hole of META2: surely not written
                    zero |= doubts && self.has_data(chunk..next, scratch)?;
                    next
                }
                Some(_) => match self.blocksize(varheader, chunk)? {
                    None => return Ok(Entries::InPart),
                    Some((size, place)) => {
                        if size == 0 && doubts && (count > 1 || !self.is_written(place)?) {
                            zero = self.used(chunk, scratch)? > 0;
                        }
                        chunk.saturating_add(1)
                    }
                },
            };
            chunk = next;
        }
        Ok(if zero { Entries::Zero } else { Entries::Sound(count) })
    }

    /// Whether this entry, which is 0, was surely written: bytes that are not zero stand behind it
    /// in its sector. SIONlib writes the commit fields first and then META2 from front to end, so
    /// they may lead to a META2 of which the end, or some sectors, were never written.
    fn is_written(&self, place: Span) -> Result<bool, ReadError<S>> {
        let mut sector = [0; SECTOR];
        let from = place.end();
        let into = from & usize_to_u64(SECTOR).saturating_sub(1);
        let left = self.remains.head.file_len.saturating_sub(from);
        let len = match into {
            0 => 0, // it ends where its sector does
            into => usize_to_u64(SECTOR).saturating_sub(into).min(left),
        };
        let len = usize::try_from(len).unwrap_or(SECTOR);
        let bytes = sector.get_mut(..len).unwrap_or_default();
        read_exact(self.store, from, bytes)?;
        Ok(bytes.iter().any(|&byte| byte != 0))
    }

    /// Bytes of a chunk up to its last one that is not zero.
    fn used(&self, chunk: u64, scratch: &mut Scratch<'_>) -> Result<u64, ReadError<S>> {
        match self.room().place(chunk) {
            Some(place) => used_len(self.store, place, scratch.window),
            None => Ok(0),
        }
    }

    fn tell_entries(&self, count: u64, tally: &mut Tally<'_>) -> Result<(), ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else { return Ok(()) };
        let mut chunk = 0;
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            let size = self.blocksize(varheader, next)?;
            tally.add(next, size.map_or(0, |(size, _)| size))?;
            chunk = next.saturating_add(1);
        }
        tally.blockcount = tally.blockcount.max(count);
        Ok(())
    }

    /// A stream of `len` bytes that fills one chunk after another.
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

    /// What the records prove.
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
            Stop::Cut => return Ok(Certainty::Exact(Proof::RecordsBeforeUnfinished)),
            Stop::Zeros | Stop::End => {}
        }
        if walked.ends_in_zero {
            return guess(Doubt::LastRecord);
        }
        // Behind a commit there may be older records than those that it is of.
        let is_first_hand = remains.unnamed || remains.word == Word::Closed;
        if !is_first_hand || !self.agrees(walked.len)? {
            return guess(Doubt::Meta2InPart);
        }
        Ok(Certainty::Exact(Proof::Records))
    }

    /// Whether the block sizes that are there are those of a stream of `len` bytes.
    fn agrees(&self, len: u64) -> Result<bool, ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else { return Ok(true) };
        let chunksize = self.chunks.chunksize;
        let last = len.checked_div(chunksize).unwrap_or(0).min(varheader.maxchunks.into());
        for chunk in 0..=last {
            let before = chunk.saturating_mul(chunksize);
            let here = len.saturating_sub(before).min(chunksize);
            let size = self.blocksize(varheader, chunk)?.map_or(0, |(size, _)| size);
            if size > 0 && size != here {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Chunks as far as their bytes are not zero, unless META2 says what they are.
    fn by_data(
        &self,
        entries: &Entries,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let room = self.room();
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
        let count = self.blockcount(varheader)?;
        let row_len = u64::from(varheader.ntasks).saturating_mul(ENTRY_LEN);
        let there = self.remains.head.file_len.saturating_sub(varheader.blocksizes().offset());
        let rows = there.checked_div(row_len).unwrap_or(0).saturating_add(1);
        let end = count.unwrap_or(room.limit).min(rows.max(room.count()));
        let mut chunk = 0;
        loop {
            let by_meta2 = self.next_blocksize(varheader, chunk)?;
            let by_data = room.next(self.store, chunk)?.map(|(found, _)| found);
            let next = by_meta2.into_iter().chain(by_data).min();
            let Some(next) = next.filter(|&next| next < end) else { break };
            let size = self.blocksize(varheader, next)?.map_or(0, |(size, _)| size);
            let size = if size > 0 { size } else { self.used(next, scratch)? };
            tally.add(next, size)?;
            chunk = next.saturating_add(1);
        }
        tally.blockcount = tally.blockcount.max(count.map_or(0, |count| count.min(end)));
        Ok(Certainty::Guess(match (entries, self.remains.word) {
            (Entries::Zero, _) => Doubt::ZeroBlocksize,
            (_, Word::Doubtful(doubt)) => doubt,
            _ => Doubt::Meta2InPart,
        }))
    }

    /// Chunks as META2 says, which is as it was sealed; their bytes may not be.
    fn as_sealed(
        &self,
        count: u64,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else {
            return Ok(Certainty::Guess(Doubt::NoMeta2));
        };
        let (mut is_exact, mut chunk) = (true, 0);
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            let len = self.blocksize(varheader, next)?.map_or(0, |(size, _)| size);
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
        Ok(match is_exact {
            true => Certainty::Exact(Proof::Sealed),
            false => Certainty::Guess(Doubt::NotAsSealed),
        })
    }

    /// The checksum that a chunk was sealed with.
    fn sealed_crc(&self, varheader: &Varheader, chunk: u64) -> Result<u32, ReadError<S>> {
        let row = chunk.saturating_mul(varheader.ntasks.into());
        let skip = row.saturating_add(self.local.into()).saturating_mul(CRC_LEN);
        let place = varheader.crcs().part(skip, CRC_LEN).unwrap_or(Span::ZERO);
        let mut crc = [0; 4];
        read_exact(self.store, place.offset(), &mut crc)?;
        Ok(U32::from(crc).get(self.remains.head.meta1.order()))
    }

    /// Chunks as far as their bytes have the checksum that they were sealed with.
    fn by_checksums(
        &self,
        scratch: &mut Scratch<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<Certainty, ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else {
            return Ok(Certainty::Guess(Doubt::NoMeta2));
        };
        let mut is_exact = true;
        for chunk in 0..u64::from(varheader.maxchunks) {
            let sealed = self.sealed_crc(varheader, chunk)?;
            let size = self.blocksize(varheader, chunk)?.map_or(0, |(size, _)| size);
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
        Ok(match is_exact {
            true => Certainty::Exact(Proof::SealedChunks),
            false => Certainty::Guess(Doubt::NotAsSealed),
        })
    }

    /// How many bytes of a chunk have this checksum: what META2 says, or data, or data and zeros.
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
