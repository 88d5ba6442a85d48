//! [`Work`] in a store that a [`Book`](super::Book) asks for.

use super::{Fill, Slot, State, end};
use crate::cdf::error::Error;
use crate::cdf::kind::Version;
use crate::cdf::layout::Slab;
use crate::cdf::raw::{Header1, Header5};
use crate::cdf::values::Values;
use crate::endian::{ByteOrder, U32, U64};
use crate::span::Span;
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::{WriteAt, copy_front, usize_to_u64};
use core::convert::Infallible;
use zerocopy::IntoBytes;

/// A machine that does what a [`Book`](super::Book) asks for. If it fails or is dropped, the same
/// work can be asked for again.
#[derive(Debug)]
#[must_use]
pub struct Work<'w> {
    state: &'w mut State,
    slots: &'w mut [Slot],
    goal: Goal<'w>,
    window: &'w mut [u8],
    stage: Stage,
    prefix: [u8; 12],
}

#[derive(Debug)]
pub(super) enum Goal<'w> {
    Put(Put<'w>),
    EndRecord,
    Commit,
}

/// Values that go to the store.
#[derive(Debug)]
pub(super) struct Put<'w> {
    /// The index of the slot.
    pub(super) index: usize,
    pub(super) runs: Runs<'w>,
    pub(super) values: Values<'w>,
    /// Whether these are all values of the variable, or of the current record.
    pub(super) is_whole: bool,
    /// Whether some of these are values of the current record, or of a fixed variable.
    pub(super) touches_current: bool,
}

/// The places of values.
#[derive(Debug)]
pub(super) enum Runs<'w> {
    One(Span),
    Slab(Slab<'w>),
}

impl Runs<'_> {
    fn get(&self, number: u64) -> Option<Span> {
        match self {
            Self::One(run) => Some(*run).filter(|_| number == 0),
            Self::Slab(slab) => slab.run(number),
        }
    }
}

/// What is under way. The writes before it are done.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Start,
    /// The bytes left to fill of the slot with this index, and whether the slot is then written.
    Fill {
        index: usize,
        rest: Span,
        is_all: bool,
    },
    /// The rest of a run, and how many bytes of the values are put.
    Values {
        number: u64,
        rest: Span,
        put: usize,
    },
    Sync,
    Prefix,
    SyncPrefix,
    Counted,
    Done,
}

/// The next step, without the borrow of its bytes.
enum Next {
    Window { offset: u64, len: usize },
    Values { offset: u64, from: usize, len: usize },
    Prefix { len: usize },
    Sync,
    Done,
}

impl<'w> Work<'w> {
    pub(super) fn new(
        state: &'w mut State,
        slots: &'w mut [Slot],
        goal: Goal<'w>,
        window: &'w mut [u8],
    ) -> Self {
        Self { state, slots, goal, window, stage: Stage::Start, prefix: [0; 12] }
    }

    /// Runs the machine on `store`.
    ///
    /// # Errors
    /// The store's own error.
    pub fn run<S: WriteAt>(mut self, store: &mut S) -> Result<(), DriveError<S::Error, Error>> {
        drive(&mut self, store, &mut []).map_err(DriveError::infallible)
    }

    /// [`run`](Self::run) for an asynchronous store. Dropping the future counts as an error of the
    /// store.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    #[cfg(feature = "async")]
    pub async fn run_async<S: crate::store::AsyncWriteAt>(
        mut self,
        store: &mut S,
    ) -> Result<(), DriveError<S::Error, Error>> {
        let done = crate::step::drive_async(&mut self, store, &mut []).await;
        done.map_err(DriveError::infallible)
    }

    fn next(&mut self) -> Next {
        loop {
            match self.stage {
                Stage::Start => self.stage = self.start(),
                Stage::Fill { index, rest, is_all } if rest.is_empty() => {
                    self.filled(index, is_all);
                }
                Stage::Fill { index, rest, is_all } => {
                    let whole = self.window.len() & !7; // so that each piece begins with a value
                    let len = usize::try_from(rest.len()).unwrap_or(usize::MAX).min(whole);
                    let left = rest.skip(usize_to_u64(len));
                    self.stage = Stage::Fill { index, rest: left, is_all };
                    return Next::Window { offset: rest.offset(), len };
                }
                Stage::Values { number, rest, put } => {
                    if let Some(next) = self.values(number, rest, put) {
                        return next;
                    }
                }
                Stage::Sync => {
                    let counts = self.state.counted != Some(self.state.ended);
                    self.stage = if counts { Stage::Prefix } else { Stage::Counted };
                    return Next::Sync;
                }
                Stage::Prefix => {
                    self.stage = Stage::SyncPrefix;
                    return Next::Prefix { len: self.prefix() };
                }
                Stage::SyncPrefix => {
                    self.stage = Stage::Counted;
                    return Next::Sync;
                }
                Stage::Counted => {
                    self.state.counted = Some(self.state.ended);
                    self.state.is_dirty = false;
                    self.stage = Stage::Done;
                }
                Stage::Done => return Next::Done,
            }
        }
    }

    /// The next stage when nothing is under way.
    fn start(&mut self) -> Stage {
        let fills = self.state.fill == Fill::Values;
        match &self.goal {
            Goal::Put(put) => {
                self.state.is_dirty = true;
                let slot = self.slots.get(put.index).copied().unwrap_or(Slot::EMPTY);
                let is_part = put.touches_current && !put.is_whole && !slot.is_written;
                if fills && is_part {
                    return self.fill(put.index, 0, true);
                }
                let rest = put.runs.get(0).unwrap_or(Span::ZERO);
                Stage::Values { number: 0, rest, put: 0 }
            }
            Goal::EndRecord => {
                let left = |slot: &Slot| slot.is_record && !slot.is_written;
                if let Some(index) = self.slots.iter().position(left).filter(|_| fills) {
                    return self.fill(index, 0, true);
                }
                let ended = self.state.ended.saturating_add(1); // `end_record` has checked it
                end(self.state, self.slots, ended);
                Stage::Done
            }
            Goal::Commit => {
                let left = |slot: &Slot| !slot.is_record && !slot.is_written;
                match self.slots.iter().position(left).filter(|_| fills) {
                    Some(index) => self.fill(index, 0, true),
                    None if self.state.is_dirty => Stage::Sync,
                    None => Stage::Done,
                }
            }
        }
    }

    /// Fills a variable, or its current record, from byte `from` on, with the padding.
    fn fill(&mut self, index: usize, from: u64, is_all: bool) -> Stage {
        let slot = self.slots.get(index).copied().unwrap_or(Slot::EMPTY);
        let place = self.state.place(&slot, self.state.ended).unwrap_or(Span::ZERO);
        let size = usize::try_from(slot.nc_type.size()).unwrap_or(1).max(1);
        let value = slot.fill.get(..size).unwrap_or(&slot.fill);
        for place in self.window.chunks_mut(size) {
            copy_front(value, place);
        }
        Stage::Fill { index, rest: place.skip(from), is_all }
    }

    fn filled(&mut self, index: usize, is_all: bool) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.is_written = true;
        }
        self.stage = if is_all { Stage::Start } else { Stage::Done };
    }

    /// The next piece of the values; `None` if the stage has changed.
    fn values(&mut self, number: u64, rest: Span, put: usize) -> Option<Next> {
        let Goal::Put(Put { index, runs, values, is_whole, .. }) = &self.goal else {
            self.stage = Stage::Done;
            return None;
        };
        if rest.is_empty() {
            let next = number.saturating_add(1);
            self.stage = match (runs.get(next), is_whole) {
                (Some(rest), _) => Stage::Values { number: next, rest, put },
                (None, true) => {
                    let (index, len) = (*index, usize_to_u64(values.len()));
                    // The padding has the rest of the fill values, as netCDF-C writes it.
                    self.fill(index, len, false)
                }
                (None, false) => Stage::Done,
            };
            return None;
        }
        let offset = rest.offset();
        let want = usize::try_from(rest.len()).unwrap_or(usize::MAX);
        let (len, is_stored) = match values.stored(ByteOrder::Big) {
            Some(bytes) => (want.min(bytes.len().saturating_sub(put)), true),
            None => {
                let most = want.min(self.window.len());
                let room = self.window.get_mut(..most).unwrap_or_default();
                (values.write_to(put, ByteOrder::Big, room), false)
            }
        };
        let (left, done) = (rest.skip(usize_to_u64(len)), put.saturating_add(len));
        self.stage = Stage::Values { number, rest: left, put: done };
        if len == 0 {
            self.stage = Stage::Done; // never: the book has compared the lengths
        }
        Some(if is_stored {
            Next::Values { offset, from: put, len }
        } else {
            Next::Window { offset, len }
        })
    }

    /// Sets the first bytes of the file, and returns their number.
    fn prefix(&mut self) -> usize {
        let (magic, numrecs) = (self.state.version.magic(), self.state.ended);
        match self.state.version {
            Version::Cdf1 | Version::Cdf2 => {
                let numrecs = u32::try_from(numrecs).unwrap_or(u32::MAX); // `check_records`
                let numrecs = U32::new(numrecs, ByteOrder::Big);
                copy_front(Header1 { magic, numrecs }.as_bytes(), &mut self.prefix)
            }
            Version::Cdf5 => {
                let numrecs = U64::new(numrecs, ByteOrder::Big);
                copy_front(Header5 { magic, numrecs }.as_bytes(), &mut self.prefix)
            }
        }
    }
}

impl Machine for Work<'_> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        match self.next() {
            Next::Window { offset, len } => {
                Step::Write { offset, bytes: self.window.get(..len).unwrap_or_default() }
            }
            Next::Values { offset, from, len } => {
                let bytes = match &self.goal {
                    Goal::Put(put) => put.values.stored(ByteOrder::Big).unwrap_or_default(),
                    _ => &[],
                };
                let bytes = bytes.get(from..).and_then(|bytes| bytes.get(..len));
                Step::Write { offset, bytes: bytes.unwrap_or_default() }
            }
            Next::Prefix { len } => {
                Step::Write { offset: 0, bytes: self.prefix.get(..len).unwrap_or_default() }
            }
            Next::Sync => Step::Sync,
            Next::Done => Step::Done(()),
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
