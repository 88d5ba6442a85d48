//! Opening: the header, whether its commit record holds, and if not, how much is used.

use super::chunk::{Chunk, Limits};
use super::error::Error;
use super::header::{self, Header};
use super::layout::{ENTRY_LEN, IndexBlock, MAX_NAMES, NAME_UNIT};
use super::names::Counter;
use super::raw::{self, Image, IndexEntry, Shadow};
use super::record::Record;
use super::shadow::{Added, SHADOW_LEN, Settled, shadows};
use crate::integrity::crc32c;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros};

/// How opening knows what is in the file (`spec/gsd.md#reading-the-commit-record`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum State {
    /// There is no commit record: all slots up to the first empty one are used.
    Plain,
    /// The commit record is older than what gsd has appended since: as [`State::Plain`].
    Appended,
    /// The commit record holds.
    Committed(Record),
    /// Publishing a commit was cut off while the header was written. It had all that it needs: what
    /// was read is that commit.
    Torn(Record),
    /// A commit of one sync was made, and its header was not written, or was not durable. A shadow has
    /// it, and all that it added is there: what was read is that commit.
    Ahead(Record),
}

impl State {
    /// The commit record that holds.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        match self {
            Self::Plain | Self::Appended => None,
            Self::Committed(record) | Self::Torn(record) | Self::Ahead(record) => Some(record),
        }
    }
}

/// What opening learns about a file: all that does not grow with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Length of the file in bytes.
    pub file_len: u64,
    /// What the header says.
    pub header: Header,
    /// The part of the header that commits change; of a torn one, as it should be.
    pub image: Image,
    /// Whether the header is half written. If a commit is ahead of it, the one before was being written:
    /// that must be written first, since only the header of that and of the next one have a shadow.
    pub is_torn: bool,
    /// How it is known what is in the file.
    pub state: State,
    /// Index entries that are used.
    pub entries: u64,
    /// Names that there are.
    pub names: u32,
    /// Bytes of the name list that are used.
    pub names_len: u64,
    /// Frames, with those that have no chunks; none of these stand at the end.
    pub frames: u64,
}

impl Head {
    /// What an entry of this file is checked against.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits { file_len: self.file_len, names: self.names }
    }

    /// The entries that are used, as a block of their own.
    #[must_use]
    pub const fn index(&self) -> IndexBlock {
        IndexBlock { location: self.header.index.location, slots: self.entries }
    }

    /// The names that there are, one behind the other.
    #[must_use]
    pub const fn name_list(&self) -> Span {
        match Span::new(self.header.names.location, self.names_len) {
            Some(span) => span,
            None => Span::ZERO, // never: it is a part of the name list, which lies in the file
        }
    }
}

/// Opens a file; needs a buffer of [`Open::WINDOW`] bytes.
///
/// A file with a commit record is opened in two reads; another one in a read of the names and
/// log2(slots) reads of a slot. If commits may take one sync, a shadow is read, too, and, if it is ahead of
/// the header, what its commit added: at most 2 MiB.
#[derive(Debug)]
pub struct Open {
    head: Head,
    stage: Stage,
    /// What a shadow says the header should be, and the checksum of what a commit of one sync added.
    next: (Image, u32),
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Header,
    /// Whether the header was torn, by the first of the shadows.
    Shadow,
    /// By the second one, and what the first one said.
    OtherShadow(Option<Settled>),
    /// Whether a shadow is ahead of the header.
    NextShadow(State),
    /// Whether all that it added is there: what of that is left to read, and the checksums so far.
    Added(State, Added, (u32, u32)),
    /// Whether gsd has put an entry behind the committed ones without moving the index.
    SlotBehind(Record),
    Names(Counter),
    LastByte,
    FirstSlot,
    /// The search for the first slot that is not used: the last that is known to be used, its
    /// frame, and the first that is known not to be.
    Search {
        used: u64,
        frame: u64,
        unused: u64,
    },
    LastEntry,
    Done,
}

impl Open {
    /// Bytes that the buffer needs.
    pub const WINDOW: usize = Header::LEN;

    /// Opens a file of `file_len` bytes.
    #[must_use]
    pub fn new(file_len: u64) -> Self {
        let nothing = raw::Header::new_zeroed();
        let head = Head {
            file_len,
            header: Header::unchecked(&nothing),
            image: nothing.image(),
            is_torn: false,
            state: State::Plain,
            entries: 0,
            names: 0,
            names_len: 0,
            frames: 0,
        };
        Self { head, stage: Stage::Header, next: (head.image, 0) }
    }

    /// What is known so far.
    pub(super) const fn head(&self) -> &Head {
        &self.head
    }

    /// The record holds unless somebody has written behind it.
    fn committed(&mut self, state: State) -> Stage {
        let head = &mut self.head;
        let Some(&record) = state.record() else { return self.scan() };
        if u16::from(record.layer) != head.header.version.major {
            head.state = State::Appended; // gsd_upgrade was here
            return self.scan();
        }
        head.state = state;
        head.entries = record.entries;
        head.names = record.names;
        head.names_len = record.names_len.into();
        match head.header.index.slots > record.entries {
            true => Stage::SlotBehind(record),
            false => Stage::LastEntry,
        }
    }

    /// The header's record holds, or did before it was torn; perhaps there is a later one.
    fn look_ahead(&mut self, state: State, record: Record) -> Stage {
        match shadows(record.shadow, self.head.file_len).filter(|_| record.one_sync) {
            Some(_) => Stage::NextShadow(state),
            None => self.committed(state),
        }
    }

    #[inline(never)]
    fn feed_next_shadow(&mut self, state: State, bytes: &[u8]) -> Stage {
        let Some(shadow) = Shadow::parse(bytes) else { return self.committed(state) };
        let added = shadow.added_to(&self.head.image);
        let Some(added) = added.filter(|added| added.fits(self.head.file_len)) else {
            return self.committed(state);
        };
        self.next = (shadow.new, shadow.added_crc.get());
        Stage::Added(state, added, (0, 0))
    }

    /// Sums up what a commit added, and believes in it if all of that is there.
    #[inline(never)]
    fn feed_added(
        &mut self,
        state: State,
        mut left: Added,
        (mut chunks, mut entries): (u32, u32),
        bytes: &[u8],
    ) -> Stage {
        let crc = if left.chunks.is_empty() { &mut entries } else { &mut chunks };
        *crc = crc32c(*crc, bytes);
        left.pass(usize_to_u64(bytes.len()));
        if !left.entries.is_empty() {
            return Stage::Added(state, left, (chunks, entries));
        }
        let (new, want) = &mut self.next;
        let (head, is_whole) = (&mut self.head, Added::crc(chunks, entries, crc32c) == *want);
        new.gsd_version = head.image.gsd_version; // gsd may have looked, and raised it
        match new.record(head.file_len) {
            Ok(Some(record)) if is_whole && head.header.set_blocks(new, head.file_len).is_ok() => {
                head.image = *new;
                self.committed(State::Ahead(record))
            }
            _ => self.committed(state),
        }
    }

    /// The first stage for a file whose contents have to be counted.
    fn scan(&mut self) -> Stage {
        self.head.entries = 0;
        match self.head.header.names.units {
            0 => self.index_stage(),
            _ => Stage::Names(Counter::new(self.head.header.version)),
        }
    }

    /// The shadow of the commit of this number.
    fn shadow(&self, sequence: u32) -> Read {
        let both = self.head.image.commit.shadow.get();
        let offset = Shadow::offset_of(both, sequence);
        Read { offset, need: SHADOW_LEN, want: Shadow::LEN }
    }

    fn slot(&self, slot: u64) -> Read {
        let offset = self.head.header.index.offset_of(slot);
        Read { offset, need: 32, want: ENTRY_LEN }
    }

    fn entry(&self, bytes: &[u8], slot: u64) -> Result<Option<Chunk>, Error> {
        match IndexEntry::ref_from_prefix(bytes) {
            Ok((entry, _)) => Chunk::parse(entry, self.head.header.index, slot, self.head.limits()),
            Err(_) => Ok(None), // the driver feeds what is needed
        }
    }

    #[inline(never)]
    fn feed_header(&mut self, bytes: &[u8]) -> Result<Stage, Error> {
        let file_len = self.head.file_len;
        let raw = header::read(bytes, file_len)?;
        self.head.image = raw.image();
        self.head.header = Header::unchecked(raw);
        let Head { image, header, .. } = &mut self.head;
        if !image.has_record() {
            header.set_blocks(image, file_len)?;
            return Ok(self.scan());
        }
        if let Some(record) = image.record(file_len)? {
            header.set_blocks(image, file_len)?;
            return Ok(self.look_ahead(State::Committed(record), record));
        }
        shadows(image.commit.shadow.get(), file_len).ok_or_else(|| image.crc_error())?;
        Ok(Stage::Shadow)
    }

    /// What the header is in the light of one of the shadows.
    #[inline(never)]
    fn feed_shadow(&mut self, bytes: &[u8]) -> Option<Settled> {
        let shadow = Shadow::parse(bytes)?;
        let settled = shadow.settle(&self.head.image);
        if settled == Settled::Torn {
            self.next.0 = shadow.new;
        }
        Some(settled)
    }

    /// What it is in the light of both: one of them knows if it was torn.
    #[inline(never)]
    fn settle(&mut self, first: Option<Settled>, second: &[u8]) -> Result<Stage, Error> {
        let second = self.feed_shadow(second);
        let head = &mut self.head;
        match first.into_iter().chain(second).min() {
            Some(Settled::Torn) => {
                let damaged = head.image.crc_error();
                (head.image, head.is_torn) = (self.next.0, true);
                head.header.set_blocks(&head.image, head.file_len)?;
                let record = head.image.record(head.file_len)?.ok_or(damaged)?;
                Ok(self.look_ahead(State::Torn(record), record))
            }
            None if !head.image.is_moved() => Err(head.image.crc_error()),
            None | Some(Settled::Appended) => {
                head.state = State::Appended;
                head.header.set_blocks(&head.image, head.file_len)?;
                Ok(self.scan())
            }
            Some(Settled::Damaged) => Err(head.image.crc_error()),
        }
    }

    fn feed_names(&mut self, mut counter: Counter, bytes: &[u8]) -> Stage {
        counter.feed(bytes);
        let block_len = self.head.header.names.span().map_or(0, Span::len);
        if !counter.is_done() && counter.read() < block_len {
            return Stage::Names(counter);
        }
        self.head.names = counter.names().min(MAX_NAMES);
        self.head.names_len = counter.used().min(block_len);
        Stage::LastByte
    }

    fn index_stage(&self) -> Stage {
        match self.head.header.index.slots {
            0 => Stage::Done,
            _ => Stage::FirstSlot,
        }
    }

    #[inline(never)]
    fn feed_search(
        &mut self,
        (used, frame, unused): (u64, u64, u64),
        bytes: &[u8],
    ) -> Result<Stage, Error> {
        let slot = middle(used, unused);
        let (used, frame, unused) = match self.entry(bytes, slot)? {
            None => (used, frame, slot),
            Some(chunk) if chunk.frame < frame => {
                let offset = self.head.header.index.offset_of(slot);
                return Err(Error::Order { offset, frame: chunk.frame, before: frame });
            }
            Some(chunk) => (slot, chunk.frame, unused),
        };
        if unused.saturating_sub(used) > 1 {
            return Ok(Stage::Search { used, frame, unused });
        }
        self.head.entries = unused;
        self.head.frames = frame.saturating_add(1);
        Ok(Stage::Done)
    }

    /// The frames of a committed file, from its last entry.
    #[inline(never)]
    fn feed_last(&mut self, bytes: &[u8]) -> Result<Stage, Error> {
        if let Ok((entry, _)) = IndexEntry::ref_from_prefix(bytes) {
            let (index, limits) = (self.head.header.index, self.head.limits());
            let slot = self.head.entries.saturating_sub(1);
            let last = Chunk::parse_used(entry, index, slot, limits)?;
            self.head.frames = last.frame.saturating_add(1);
        }
        Ok(Stage::Done)
    }
}

fn middle(low: u64, high: u64) -> u64 {
    low.saturating_add(high.saturating_sub(low) / 2)
}

/// What opening wants to read next; see [`ReadStep::Read`].
struct Read {
    offset: u64,
    need: usize,
    want: u64,
}

impl Read {
    const fn step<T>(self) -> ReadStep<T> {
        ReadStep::Read { offset: self.offset, need: self.need, want: self.want }
    }
}

impl Open {
    /// What to read next, or `None` if all is known.
    fn next_read(&self) -> Option<Read> {
        let names = self.head.header.names;
        let read = match self.stage {
            Stage::Header => {
                let want = self.head.file_len.min(usize_to_u64(Header::LEN));
                Read { offset: 0, need: usize::try_from(want).unwrap_or(0), want }
            }
            Stage::Shadow => self.shadow(0),
            Stage::OtherShadow(_) => self.shadow(1),
            Stage::NextShadow(_) => {
                self.shadow(self.head.image.commit.sequence.get().wrapping_add(1))
            }
            Stage::Added(_, left, _) => {
                let left = if left.chunks.is_empty() { left.entries } else { left.chunks };
                Read { offset: left.offset(), need: 1, want: left.len() }
            }
            Stage::SlotBehind(record) => self.slot(record.entries),
            Stage::Names(counter) => {
                let len = names.span().map_or(0, Span::len);
                let want = len.saturating_sub(counter.read());
                let need = usize::try_from(want.min(NAME_UNIT)).unwrap_or(0);
                Read { offset: names.location.saturating_add(counter.read()), need, want }
            }
            Stage::LastByte => {
                let end = names.span().map_or(0, Span::end);
                Read { offset: end.saturating_sub(1), need: 1, want: 1 }
            }
            Stage::FirstSlot => self.slot(0),
            Stage::Search { used, unused, .. } => self.slot(middle(used, unused)),
            Stage::LastEntry if self.head.entries == 0 => return None,
            Stage::LastEntry => self.slot(self.head.entries.saturating_sub(1)),
            Stage::Done => return None,
        };
        Some(read)
    }

    fn feed_stage(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.stage = match self.stage {
            Stage::Header => self.feed_header(bytes)?,
            Stage::Shadow => Stage::OtherShadow(self.feed_shadow(bytes)),
            Stage::OtherShadow(first) => self.settle(first, bytes)?,
            Stage::NextShadow(state) => self.feed_next_shadow(state, bytes),
            Stage::Added(state, left, crcs) => self.feed_added(state, left, crcs, bytes),
            Stage::SlotBehind(_) => match self.is_used(bytes) {
                true => {
                    self.head.state = State::Appended;
                    self.scan()
                }
                false => Stage::LastEntry,
            },
            Stage::Names(counter) => self.feed_names(counter, bytes),
            Stage::LastByte => match bytes.first() {
                Some(&value) if value != 0 => {
                    let end = self.head.header.names.span().map_or(0, Span::end);
                    return Err(Error::NotTerminated { offset: end.saturating_sub(1), value });
                }
                _ => self.index_stage(),
            },
            Stage::FirstSlot => match self.entry(bytes, 0)? {
                None => Stage::Done,
                Some(chunk) => match self.head.header.index.slots {
                    1 => {
                        self.head.entries = 1;
                        self.head.frames = chunk.frame.saturating_add(1);
                        Stage::Done
                    }
                    unused => Stage::Search { used: 0, frame: chunk.frame, unused },
                },
            },
            Stage::Search { used, frame, unused } => {
                self.feed_search((used, frame, unused), bytes)?
            }
            Stage::LastEntry => self.feed_last(bytes)?,
            Stage::Done => Stage::Done,
        };
        Ok(())
    }

    fn is_used(&self, bytes: &[u8]) -> bool {
        IndexEntry::ref_from_prefix(bytes).is_ok_and(|(entry, _)| entry.is_used())
    }
}

impl ReadMachine for Open {
    type Output = Head;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Head> {
        self.next_read().map_or(ReadStep::Done(self.head), Read::step)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.feed_stage(bytes)
    }
}

/// The same without a result, which [`Open::head`] has: it is not moved about on a small stack.
#[derive(Debug)]
pub(super) struct InPlace<'a>(pub &'a mut Open);

impl ReadMachine for InPlace<'_> {
    type Output = ();
    type Error = Error;

    fn poll(&mut self) -> ReadStep<()> {
        self.0.next_read().map_or(ReadStep::Done(()), Read::step)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.feed_stage(bytes)
    }
}
