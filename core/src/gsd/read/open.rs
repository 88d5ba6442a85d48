//! The machine that opens a file: it reads the header and checks its commit record; without a valid
//! one, it counts the used entries.

use crate::exact::Exact;
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::disk::header::{self, Header};
use crate::gsd::disk::names::Counter;
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, MAX_NAMES, NAME_UNIT};
use crate::gsd::raw::IndexEntry;
use crate::gsd::verdict::{Damage, Head, Judge, Read};
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use zerocopy::FromBytes;

/// Opens a file; needs a buffer of [`Open::WINDOW`] bytes.
///
/// A file with a commit record is opened in two reads; another file takes a read of the names and
/// log2(slots) reads of a slot. If commits may take one sync, a shadow is also read, and if it is
/// later than the header, the bytes that its commit added: at most 2 MiB.
#[derive(Debug)]
pub struct Open(Stage);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one behind the other, in the same memory")]
enum Stage {
    /// Reads the header of a file of this length.
    Header(u64),
    /// Judges the header.
    Judge(Header, Judge<false>),
    /// Counts the used entries and names.
    Count(Head, Count),
}

#[derive(Debug, Clone, Copy)]
enum Count {
    Names(Counter),
    LastByte,
    FirstSlot,
    /// Searches for the first unused slot: the last slot known to be used, its frame, and the first
    /// slot known to be unused.
    Search {
        used: u64,
        frame: u64,
        unused: u64,
    },
    LastEntry,
    Done,
}

impl Open {
    /// The bytes that the buffer needs.
    pub const WINDOW: usize = Header::LEN;

    /// Makes a machine that opens a file of `file_len` bytes.
    #[must_use]
    pub const fn new(file_len: u64) -> Self {
        Self(Stage::Header(file_len))
    }

    /// The head, if it is complete.
    pub(in crate::gsd) const fn head(&self) -> Option<&Head> {
        match &self.0 {
            Stage::Count(head, Count::Done) => Some(head),
            _ => None,
        }
    }

    #[inline(never)]
    fn feed_header(&mut self, file_len: u64, bytes: &[u8]) -> Result<(), Error> {
        let raw = header::read(bytes, file_len)?;
        self.0 = Stage::Judge(Header::unchecked(raw), Judge::unasked(&raw.image(), file_len));
        Ok(())
    }

    /// Ends the judgement: the commit record has the counts, or they must be found.
    #[inline(never)]
    fn judged(&mut self) -> Result<(), Error> {
        let Stage::Judge(header, judge) = &self.0 else { return Ok(()) };
        match judge.damage {
            None => {}
            Some(Damage::Error(error)) => return Err(error),
            Some(_) => return Err(judge.image.crc_error()),
        }
        let mut head = Head {
            file_len: judge.file_len,
            header: *header,
            image: judge.image,
            is_torn: judge.is_torn,
            state: judge.state,
            entries: 0,
            names: 0,
            names_len: 0,
            frames: 0,
        };
        head.header.set_blocks(&judge.image, judge.file_len)?;
        let count = match judge.state.record() {
            Some(record) => {
                (head.entries, head.names) = (record.entries, record.names);
                head.names_len = record.names_len.into();
                if record.entries == 0 { Count::Done } else { Count::LastEntry }
            }
            None if head.header.names.units == 0 => head.count_slots(),
            None => Count::Names(Counter::new(head.header.version)),
        };
        self.0 = Stage::Count(head, count);
        Ok(())
    }
}

impl Head {
    fn slot(&self, slot: u64) -> Read {
        let offset = self.header.index.slot(slot);
        Read { offset, need: 32, want: ENTRY_LEN }
    }

    #[inline(never)]
    fn entry(&self, bytes: &[u8], slot: u64) -> Result<Option<Chunk>, Error> {
        match IndexEntry::ref_from_prefix(bytes) {
            Ok((entry, _)) => Chunk::parse(entry, self.header.index, slot, self.limits()),
            Err(_) => Ok(None), // the driver feeds what is needed
        }
    }

    fn feed_names(&mut self, mut counter: Counter, bytes: &[u8]) -> Count {
        counter.feed(bytes);
        let block_len = self.header.names.span().map_or(0, Span::len);
        if !counter.is_done() && counter.read() < block_len {
            return Count::Names(counter);
        }
        self.names = counter.names().min(MAX_NAMES);
        self.names_len = counter.used().min(block_len);
        Count::LastByte
    }

    const fn count_slots(&self) -> Count {
        match self.header.index.slots {
            0 => Count::Done,
            _ => Count::FirstSlot,
        }
    }

    /// Notes that `entries` slots are used, and that the last one has a chunk of `frame`.
    const fn counted(&mut self, entries: u64, frame: u64) -> Count {
        (self.entries, self.frames) = (entries, frame.saturating_add(1));
        Count::Done
    }

    #[inline(never)]
    fn feed_search(
        &mut self,
        (used, frame, unused): (u64, u64, u64),
        bytes: &[u8],
    ) -> Result<Count, Error> {
        let slot = middle(used, unused);
        let (used, frame, unused) = match self.entry(bytes, slot)? {
            None => (used, frame, slot),
            Some(chunk) if chunk.frame < frame => {
                let offset = self.header.index.slot(slot);
                return Err(Error::Order { offset, frame: chunk.frame, before: frame });
            }
            Some(chunk) => (slot, chunk.frame, unused),
        };
        match unused.exact_sub(used) > 1 {
            true => Ok(Count::Search { used, frame, unused }),
            false => Ok(self.counted(unused, frame)),
        }
    }

    /// Takes the frames of a committed file from its last entry.
    #[inline(never)]
    fn feed_last(&mut self, bytes: &[u8]) -> Result<Count, Error> {
        let slot = self.entries.exact_sub(1);
        match self.entry(bytes, slot)? {
            Some(last) => Ok(self.counted(self.entries, last.frame)),
            None => Err(Chunk::unused(self.header.index, slot)),
        }
    }

    #[inline(never)]
    fn feed(&mut self, count: &mut Count, bytes: &[u8]) -> Result<(), Error> {
        *count = self.count(*count, bytes)?;
        Ok(())
    }

    #[inline]
    fn count(&mut self, count: Count, bytes: &[u8]) -> Result<Count, Error> {
        match count {
            Count::Names(counter) => Ok(self.feed_names(counter, bytes)),
            Count::LastByte => match bytes.first() {
                Some(&value) if value != 0 => {
                    let end = self.header.names.span().map_or(0, Span::end);
                    Err(Error::NotTerminated { offset: end.exact_sub(1), value })
                }
                _ => Ok(self.count_slots()),
            },
            Count::FirstSlot => match (self.entry(bytes, 0)?, self.header.index.slots) {
                (None, _) => Ok(Count::Done),
                (Some(chunk), 1) => Ok(self.counted(1, chunk.frame)),
                (Some(chunk), unused) => Ok(Count::Search { used: 0, frame: chunk.frame, unused }),
            },
            Count::Search { used, frame, unused } => self.feed_search((used, frame, unused), bytes),
            Count::LastEntry => self.feed_last(bytes),
            Count::Done => Ok(Count::Done),
        }
    }

    /// The next read to count entries or names.
    fn next_read(&self, count: &Count) -> Option<Read> {
        let names = self.header.names.span().unwrap_or(Span::ZERO);
        match count {
            Count::Names(counter) => {
                let want = names.len().exact_sub(counter.read());
                let need = usize::try_from(want.min(NAME_UNIT)).unwrap_or(0);
                let offset = names.offset().exact_add(counter.read());
                Some(Read { offset, need, want })
            }
            Count::LastByte => Some(Read { offset: names.end().exact_sub(1), need: 1, want: 1 }),
            Count::FirstSlot => Some(self.slot(0)),
            Count::Search { used, unused, .. } => Some(self.slot(middle(*used, *unused))),
            Count::LastEntry => Some(self.slot(self.entries.exact_sub(1))),
            Count::Done => None,
        }
    }
}

fn middle(low: u64, high: u64) -> u64 {
    low.wrapping_add(high.wrapping_sub(low) / 2) // exact: `low` is not larger
}

impl Open {
    /// The next read. For a refused file, it is empty, and the file is refused again.
    fn next_read(&self) -> Read {
        let read = match &self.0 {
            Stage::Header(file_len) => {
                let want = usize_to_u64(Header::LEN).min(*file_len);
                Some(Read { offset: 0, need: usize::try_from(want).unwrap_or(0), want })
            }
            Stage::Judge(_, judge) => judge.next_read(),
            Stage::Count(head, count) => head.next_read(count),
        };
        read.unwrap_or(Read { offset: 0, need: 0, want: 0 })
    }

    // The parts are separate functions: each one's place on a small stack is free for the others.
    fn feed_stage(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let is_judged = match &mut self.0 {
            Stage::Header(file_len) => {
                let file_len = *file_len;
                self.feed_header(file_len, bytes)?;
                self.start_judge()
            }
            Stage::Judge(_, judge) => feed_judge(judge, bytes),
            Stage::Count(head, count) => return head.feed(count, bytes),
        };
        if is_judged { self.judged() } else { Ok(()) }
    }

    fn start_judge(&mut self) -> bool {
        let Stage::Judge(_, judge) = &mut self.0 else { return false };
        judge.start();
        judge.next_read().is_none()
    }
}

/// Feeds a judge, and returns whether it is done.
#[inline(never)]
fn feed_judge(judge: &mut Judge<false>, bytes: &[u8]) -> bool {
    judge.feed_stage(bytes);
    judge.next_read().is_none()
}

impl ReadMachine for Open {
    type Output = Head;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Head> {
        match &self.0 {
            Stage::Count(head, Count::Done) => ReadStep::Done(*head),
            _ => self.next_read().step(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.feed_stage(bytes)
    }
}

/// Opens in place: the result stays in [`Open::head`] and is not moved on a small stack.
#[derive(Debug)]
pub(in crate::gsd) struct InPlace<'a>(pub &'a mut Open);

impl ReadMachine for InPlace<'_> {
    type Output = ();
    type Error = Error;

    fn poll(&mut self) -> ReadStep<()> {
        match self.0.head() {
            Some(_) => ReadStep::Done(()),
            None => self.0.next_read().step(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.feed_stage(bytes)
    }
}
