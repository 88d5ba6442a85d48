//! The machines that open a log and that make one. One comes after the other, so that a device has
//! the memory of only one of them on its stack.

use super::fault::Fault;
use super::form::Form;
use super::log::Log;
use crate::gsd::create::{Blank, Create, OLD_SHADOW, OTHER_SHADOW, SHADOW};
use crate::gsd::open::{Read, State};
use crate::gsd::raw::{Header, Image, IndexEntry, Shadow};
use crate::gsd::verdict::Judge;
use crate::integrity::crc32c;
use crate::step::{Machine, ReadMachine, ReadStep, Step};
use crate::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// What is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No GSD file.
    None,
    /// The log, as its last commit left it. Who made that commit may have had no time for its sync.
    Whole,
    /// The log. Its header must be written again.
    Torn,
    /// The log. The sector of its header is erased, and all of the header must be written again.
    Erased,
}

/// Finds the log in a store of `store_len` bytes.
#[derive(Debug)]
pub(super) struct Find<'l, F, const N: usize> {
    log: &'l mut Log<F, N>,
    store_len: u64,
    found: Found,
    stage: Stage,
    judge: Judge<false, true>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Reads the shadow at this offset. The judge has the header that it proves.
    Shadow(u64),
    Header,
    Judge,
    /// Reads the last entry.
    Last,
    Done,
}

impl<'l, F: Form, const N: usize> Find<'l, F, N> {
    #[inline]
    pub(super) fn new(log: &'l mut Log<F, N>, store_len: u64) -> Self {
        let has_shadow = store_len >= SHADOW.saturating_add(Shadow::BOTH_LEN);
        let stage = if has_shadow { Stage::Shadow(SHADOW) } else { Stage::Header };
        let judge = Judge::unasked(&Image::new_zeroed(), store_len);
        Self { log, store_len, found: Found::None, stage, judge }
    }

    #[inline(never)]
    fn feed_header(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let base = self.log.form.base();
        let Ok((found, _)) = Header::ref_from_prefix(bytes) else {
            self.stage = Stage::Done; // the store is shorter than a header
            return Ok(());
        };
        let is_proved = self.judge.image.commit.layer > 0;
        if is_proved && !found.has_record() && base.is_erased_in(&self.judge.image, found) {
            self.found = Found::Erased;
        } else if found.magic.get() != Header::MAGIC {
            self.stage = Stage::Done;
            return Ok(());
        } else if base.is_of(found) {
            (self.found, self.judge.image) = (Found::Whole, found.image());
        } else {
            return Err(Fault::Another);
        }
        self.stage = Stage::Judge;
        self.judge.start();
        self.judged()
    }

    /// Takes the state of the file, once the header is judged.
    #[inline(never)]
    fn judged(&mut self) -> Result<(), Fault> {
        if self.judge.next_read().is_some() {
            return Ok(());
        }
        let found = match &self.judge.state {
            _ if self.judge.damage.is_some() => return Err(Fault::Damaged),
            State::Committed(record) => record,
            State::Torn(record) => {
                self.found = Found::Torn;
                record
            }
            _ => return Err(Fault::Another),
        };
        let (log, image) = (&mut *self.log, &self.judge.image);
        let mut record = log.record;
        if found.shadow < SHADOW {
            record.shadow = OLD_SHADOW;
        }
        let is_right = log.form.take(found, image, &mut record)
            && log.form.image(&record).as_bytes() == image.as_bytes();
        if !is_right || record.data_end < log.record.data_end {
            return Err(Fault::Another);
        }
        log.set(&record, self.found == Found::Torn);
        self.stage = if record.entries == 0 { Stage::Done } else { Stage::Last };
        Ok(())
    }

    fn feed_last(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let last = IndexEntry::ref_from_prefix(bytes);
        let Ok((last, _)) = last else { return Err(Fault::Damaged) };
        // Each frame has an entry.
        if !last.is_used() || last.frame.get() >= self.log.record.entries {
            return Err(Fault::Damaged);
        }
        self.log.frames = last.frame.get().saturating_add(1);
        self.stage = Stage::Done;
        Ok(())
    }
}

impl<F: Form, const N: usize> ReadMachine for Find<'_, F, N> {
    type Output = Found;
    type Error = Fault;

    fn poll(&mut self) -> ReadStep<Found> {
        let of = |offset, len: usize| Read { offset, need: len, want: usize_to_u64(len) };
        let read = match self.stage {
            Stage::Shadow(offset) => Some(of(offset, size_of::<Shadow>())),
            Stage::Header => {
                let len = usize::try_from(self.store_len).unwrap_or(usize::MAX);
                Some(of(0, len.min(size_of::<Header>())))
            }
            Stage::Judge => self.judge.next_read(),
            Stage::Last => {
                let slot = self.log.record.entries.saturating_sub(1);
                Some(of(self.log.form.index().offset_of(slot), size_of::<IndexEntry>()))
            }
            Stage::Done => None,
        };
        read.map_or(ReadStep::Done(self.found), Read::step)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match self.stage {
            Stage::Shadow(offset) => {
                Shadow::prove(bytes, offset, &mut self.judge.image);
                self.stage = match offset {
                    SHADOW => Stage::Shadow(OTHER_SHADOW),
                    _ => Stage::Header,
                };
            }
            Stage::Header => return self.feed_header(bytes),
            Stage::Judge => {
                self.judge.feed_stage(bytes);
                return self.judged();
            }
            Stage::Last => return self.feed_last(bytes),
            Stage::Done => {}
        }
        Ok(())
    }
}

/// Makes a log in a blank store.
#[derive(Debug)]
pub(super) struct Make<'l, F, const N: usize> {
    log: &'l Log<F, N>,
    /// How far the store is blank.
    blank: Blank,
    /// The names that are written, and where the next one goes.
    names: (usize, u64),
    create: &'l mut Create,
}

impl<'l, F: Form, const N: usize> Make<'l, F, N> {
    /// Makes the machine; `create` is memory for it.
    #[inline]
    pub(super) fn new(log: &'l Log<F, N>, create: &'l mut Create, store_len: u64) -> Self {
        let (end, list) = (log.record.data_end, log.form.base().name_block().location);
        create.set_header(|header| log.fill_header(header), end, store_len, crc32c);
        Self { log, blank: Blank::unseen(end, store_len), names: (0, list), create }
    }
}

impl<F: Form, const N: usize> Machine for Make<'_, F, N> {
    type Output = ();
    type Error = Fault;

    fn poll(&mut self) -> Step<'_, ()> {
        if let Some(read) = self.blank.read() {
            return read.into();
        }
        let (written, offset) = self.names;
        let name = self.log.form.first_names().get(written);
        let Some(name) = name.filter(|_| self.create.waits_for_names()) else {
            return self.create.poll();
        };
        let end = offset.saturating_add(usize_to_u64(name.len())).saturating_add(1);
        self.names = (written.saturating_add(1), end);
        Step::Write { offset, bytes: name.as_bytes() }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (base, names) = (self.log.form.base(), self.log.form.first_names());
        let name = |at| base.name_byte(names, at);
        self.blank.see(bytes, self.create, name).map_err(|_| Fault::NotBlank)
    }
}
