//! The machine that opens a file: it reads the header and checks its commit record; without a valid
//! one, it counts the used entries.

use crate::exact::Exact;
use crate::gsd::disk::chunk::{Chunk, Limits};
use crate::gsd::disk::header::{self, Header, Label, Version};
use crate::gsd::disk::names::Counter;
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, MAX_NAMES, NAME_UNIT};
use crate::gsd::raw::{Image, IndexEntry};
use crate::gsd::verdict::{Counted, Damage, Head, Judge, Read};
use crate::span::{Span, Stride};
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros};

/// Opens a file; needs a buffer of [`Open::WINDOW`] bytes.
///
/// A file with a commit record is opened in two reads; another file takes a read of the names and
/// log2(slots) reads of a slot. If commits may take one sync, a shadow is also read, and if it is
/// later than the header, the bytes that its commit added, at most 2 MiB, and then the other one.
#[derive(Debug)]
pub struct Open {
    application: Label,
    schema: Label,
    judge: Judge<false>,
    stage: Stage,
    counted: Counted,
}

/// What is read next.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Header,
    /// What the judge asks for.
    Judge,
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
    pub fn new(file_len: u64) -> Self {
        Self {
            application: Label::EMPTY,
            schema: Label::EMPTY,
            judge: Judge::unasked(&Image::new_zeroed(), file_len),
            stage: Stage::Header,
            counted: Counted::NONE,
        }
    }

    /// Whether the file is open.
    pub(in crate::gsd) const fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    /// The judgement of the file, when it is open.
    pub(in crate::gsd) const fn judge(&self) -> &Judge<false> {
        &self.judge
    }

    /// What was counted in the file, when it is open.
    pub(in crate::gsd) const fn counted(&self) -> &Counted {
        &self.counted
    }

    /// Application and schema of the file, when it is open.
    pub(in crate::gsd) const fn texts(&self) -> (&Label, &Label) {
        (&self.application, &self.schema)
    }

    /// The head of the open file.
    fn head(&self) -> Head {
        let (Judge { file_len, image, .. }, counted) = (&self.judge, &self.counted);
        Head {
            file_len: *file_len,
            header: Header::of(image, self.application, self.schema),
            image: *image,
            is_torn: self.judge.is_torn_or_older(),
            state: self.judge.state(),
            entries: counted.entries,
            names: counted.names,
            names_len: counted.names_len,
            frames: counted.frames,
        }
    }

    const fn version(&self) -> Version {
        Version::from_number(self.judge.image.gsd_version.get())
    }

    const fn index(&self) -> IndexBlock {
        self.judge.image.index()
    }

    fn name_list(&self) -> Span {
        self.judge.image.name_block().exact_span() // it was checked
    }

    #[inline(never)]
    fn feed_header(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let raw = header::read(bytes, self.judge.file_len)?;
        (self.application, self.schema) =
            (Label::from_raw(raw.application), Label::from_raw(raw.schema));
        raw.copy_image(&mut self.judge.image);
        self.stage = Stage::Judge;
        self.judge.start();
        Ok(())
    }

    /// Ends the judgement: the commit record has the counts, or they must be found.
    #[inline(never)]
    fn judged(&mut self) -> Result<(), Error> {
        let Judge { image, file_len, .. } = &self.judge;
        match self.judge.damage {
            None => {}
            Some(Damage::Error(error)) => return Err(error),
            Some(_) => return Err(image.crc_error()),
        }
        image.check_blocks(*file_len)?;
        let commit = &image.commit;
        if self.judge.kind.has_record() {
            let (entries, names_len) = (commit.entries.get(), commit.names_len.get().into());
            self.counted = Counted { entries, names: commit.names.get(), names_len, frames: 0 };
            self.stage = if entries == 0 { Stage::Done } else { Stage::LastEntry };
        } else if image.namelist_allocated_entries.get() == 0 {
            self.count_slots();
        } else {
            self.stage = Stage::Names(Counter::new(self.version()));
        }
        Ok(())
    }

    fn slot(&self, slot: u64) -> Read {
        Read { offset: self.index().slot(slot), need: 32, want: ENTRY_LEN }
    }

    /// The frame of the chunk whose entry is in slot number `slot`; `None` if it is not used.
    #[inline(never)]
    fn frame(&self, bytes: &[u8], slot: u64) -> Result<Option<u64>, Error> {
        let Ok((entry, _)) = IndexEntry::ref_from_prefix(bytes) else {
            return Ok(None); // the driver feeds what is needed
        };
        let limits = Limits { file_len: self.judge.file_len, names: self.counted.names };
        let chunk = Chunk::parse(entry, self.index(), slot, limits)?;
        Ok(chunk.map(|chunk| chunk.frame))
    }

    /// Counts names; returns whether all were counted.
    fn has_counted(&mut self, bytes: &[u8]) -> bool {
        let block_len = self.name_list().len();
        let Stage::Names(counter) = &mut self.stage else { return true };
        counter.feed(bytes);
        self.counted.names = counter.names().min(MAX_NAMES);
        self.counted.names_len = counter.used().min(block_len);
        counter.is_done() || counter.read() >= block_len
    }

    const fn count_slots(&mut self) {
        self.stage = match self.index().slots {
            0 => Stage::Done,
            _ => Stage::FirstSlot,
        };
    }

    /// Notes that `entries` slots are used, and that the last one has a chunk of `frame`.
    const fn used(&mut self, entries: u64, frame: u64) {
        (self.counted.entries, self.counted.frames) = (entries, frame.saturating_add(1));
        self.stage = Stage::Done;
    }

    #[inline(never)]
    fn feed_search(
        &mut self,
        (used, frame, unused): (u64, u64, u64),
        bytes: &[u8],
    ) -> Result<(), Error> {
        let slot = middle(used, unused);
        let (used, frame, unused) = match self.frame(bytes, slot)? {
            None => (used, frame, slot),
            Some(found) if found < frame => {
                let offset = self.index().slot(slot);
                return Err(Error::Order { offset, frame: found, before: frame });
            }
            Some(found) => (slot, found, unused),
        };
        match unused.exact_sub(used) > 1 {
            true => self.stage = Stage::Search { used, frame, unused },
            false => self.used(unused, frame),
        }
        Ok(())
    }

    /// Takes the frames of a committed file from its last entry.
    fn feed_last(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let entries = self.counted.entries;
        let slot = entries.exact_sub(1);
        match self.frame(bytes, slot)? {
            Some(last) => self.used(entries, last),
            None => return Err(Chunk::unused(self.index(), slot)),
        }
        Ok(())
    }

    /// Goes on after a stage of counting, with its bytes.
    #[inline(never)]
    fn count(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.stage {
            Stage::Names(_) => self.stage = Stage::LastByte,
            Stage::LastByte => match bytes.first() {
                Some(&value) if value != 0 => {
                    let end = self.name_list().end();
                    return Err(Error::NotTerminated { offset: end.exact_sub(1), value });
                }
                _ => self.count_slots(),
            },
            Stage::FirstSlot => match (self.frame(bytes, 0)?, self.index().slots) {
                (None, _) => self.stage = Stage::Done,
                (Some(frame), 1) => self.used(1, frame),
                (Some(frame), unused) => self.stage = Stage::Search { used: 0, frame, unused },
            },
            Stage::Search { used, frame, unused } => {
                self.feed_search((used, frame, unused), bytes)?;
            }
            Stage::LastEntry => self.feed_last(bytes)?,
            Stage::Header | Stage::Judge | Stage::Done => self.stage = Stage::Done, // never
        }
        Ok(())
    }

    /// The next read. For a refused file, it is empty, and the file is refused again.
    pub(in crate::gsd) fn next_read(&self) -> Read {
        const NOTHING: Read = Read { offset: 0, need: 0, want: 0 };
        match &self.stage {
            Stage::Header => {
                let want = usize_to_u64(Header::LEN).min(self.judge.file_len);
                Read { offset: 0, need: usize::try_from(want).unwrap_or(0), want }
            }
            Stage::Judge => self.judge.next_read().unwrap_or(NOTHING),
            Stage::Names(counter) => {
                let (names, read) = (self.name_list(), counter.read());
                let want = names.len().exact_sub(read);
                let need = usize::try_from(want.min(NAME_UNIT)).unwrap_or(0);
                Read { offset: names.offset().exact_add(read), need, want }
            }
            Stage::LastByte => {
                Read { offset: self.name_list().end().exact_sub(1), need: 1, want: 1 }
            }
            Stage::FirstSlot => self.slot(0),
            Stage::Search { used, unused, .. } => self.slot(middle(*used, *unused)),
            Stage::LastEntry => self.slot(self.counted.entries.exact_sub(1)),
            Stage::Done => NOTHING,
        }
    }

    /// The spans that counting may read, of a file without commit record: the list of names, all
    /// slots that are left to be searched, and where a search in them looks first.
    #[inline(always)] // nothing is left of it where a store does not listen
    pub(in crate::gsd) fn ahead(&self) -> [Stride; 3] {
        let (first, slots) = match &self.stage {
            Stage::Names(_) | Stage::LastByte | Stage::FirstSlot => (0, self.index().slots),
            Stage::Search { used, unused, .. } => (*used, unused.exact_sub(*used)),
            Stage::Header | Stage::Judge | Stage::LastEntry | Stage::Done => {
                return [Stride::NONE; 3];
            }
        };
        let names = match &self.stage {
            Stage::Names(_) => self.name_list(),
            _ => Span::ZERO,
        };
        let at = self.index().slot(first);
        // The probes of one request are those of several halvings.
        let halvings = self.index().slots.checked_ilog2().unwrap_or(0);
        let halvings = halvings.abs_diff(slots.checked_ilog2().unwrap_or(0));
        let probes = if halvings.is_multiple_of(HALVINGS) { PROBES } else { 0 };
        let one = Span::new(at, ENTRY_LEN).unwrap_or(Span::ZERO);
        let all = Stride::new(one, ENTRY_LEN, slots).map_or(Span::ZERO, Stride::hull);
        let probes = Stride::new(one, (slots / PROBES).saturating_mul(ENTRY_LEN), probes);
        [Stride::one(names), Stride::one(all), probes.unwrap_or(Stride::NONE)]
    }

    // The parts are separate functions: each one's place on a small stack is free for the others.
    pub(in crate::gsd) fn feed_stage(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.stage {
            Stage::Header => self.feed_header(bytes)?,
            Stage::Judge => self.judge.feed_stage(bytes),
            _ => {
                return if self.has_counted(bytes) { self.count(bytes) } else { Ok(()) };
            }
        }
        if self.judge.next_read().is_none() { self.judged() } else { Ok(()) }
    }
}

/// The halvings of a search whose slots are read at once, if there are too many slots for one
/// request.
const HALVINGS: u32 = 6;

/// The slots that so many halvings can reach. The number of slots that other programs make is a
/// power of two, so these slots are at equal distances.
const PROBES: u64 = 64;

fn middle(low: u64, high: u64) -> u64 {
    low.wrapping_add(high.wrapping_sub(low) / 2) // exact: `low` is not larger
}

impl ReadMachine for Open {
    type Output = Head;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Head> {
        match self.is_done() {
            true => ReadStep::Done(self.head()),
            false => self.next_read().step(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.feed_stage(bytes)
    }
}
