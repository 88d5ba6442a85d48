//! [`Desk`]: what a [`Book`](super::Book) does in its store.

use super::{Book, Slot, State, WINDOW, end};
use crate::cdf::error::Error;
use crate::cdf::layout::Slab;
use crate::cdf::values::{Fill, Values};
use crate::cdf::write::encode::prefix;
use crate::endian::ByteOrder;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use striae_twin::twin;

/// A book at work in its store. If a call fails, or its future is dropped, it can be repeated.
pub(super) struct Desk<'w, S> {
    pub(super) store: &'w mut S,
    pub(super) state: &'w mut State,
    pub(super) slots: &'w mut [Slot],
    pub(super) window: &'w mut [u8],
}

/// Values that go to the store.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy)]
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

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S> {
    pub(super) async fn put(&mut self, put: Put<'_>) -> Result<(), S::Error> {
        (self.state.is_dirty, self.state.last_put) = (true, None);
        let is_written = self.slots.get(put.index).is_none_or(|slot| slot.is_written);
        let is_part = put.touches_current && !put.is_whole && !is_written;
        if is_part && self.state.fill == Fill::Values {
            self.fill(put.index, 0).await?;
        }
        let (mut number, mut from) = (0_u64, 0_usize);
        while let Some(run) = put.runs.get(number) {
            from = self.run(run, &put.values, from).await?;
            number = number.saturating_add(1);
        }
        if put.is_whole {
            // The padding has the rest of the fill values, as netCDF-C writes it.
            self.fill(put.index, usize_to_u64(put.values.len())).await?;
        }
        Ok(())
    }

    /// Writes values from byte `from` on to `run`; returns where those of the next run begin.
    async fn run(
        &mut self,
        mut run: Span,
        values: &Values<'_>,
        mut from: usize,
    ) -> Result<usize, S::Error> {
        while !run.is_empty() {
            let want = usize::try_from(run.len()).unwrap_or(usize::MAX);
            let bytes = match values.stored(ByteOrder::Big) {
                Some(bytes) => bytes.get(from..).unwrap_or_default(),
                None => {
                    let most = want.min(self.window.len());
                    let room = self.window.get_mut(..most).unwrap_or_default();
                    let len = values.write_to(from, ByteOrder::Big, room);
                    self.window.get(..len).unwrap_or_default()
                }
            };
            let bytes = bytes.get(..want).unwrap_or(bytes);
            if bytes.is_empty() {
                break; // never: the book has compared the lengths
            }
            self.store.write_all_at(run.offset(), bytes).await?;
            self.state.note_put(run.offset(), bytes);
            run = run.skip(usize_to_u64(bytes.len()));
            from = from.saturating_add(bytes.len());
        }
        Ok(from)
    }

    /// Fills a variable, or its current record, from byte `from` on, with the padding.
    async fn fill(&mut self, index: usize, from: u64) -> Result<(), S::Error> {
        let slot = self.slots.get(index).copied().unwrap_or(Slot::EMPTY);
        let place = self.state.place(&slot, self.state.ended).unwrap_or(Span::ZERO);
        let size = usize::try_from(slot.nc_type.size()).unwrap_or(1).max(1);
        let value = slot.fill.get(..size).unwrap_or(&slot.fill);
        for place in self.window.chunks_mut(size) {
            copy_front(value, place);
        }
        let mut rest = place.skip(from);
        let whole = self.window.len() & !7; // so that each piece begins with a value
        while !rest.is_empty() {
            let len = usize::try_from(rest.len()).unwrap_or(usize::MAX).min(whole);
            let bytes = self.window.get(..len).unwrap_or_default();
            self.store.write_all_at(rest.offset(), bytes).await?;
            rest = rest.skip(usize_to_u64(len));
        }
        if let Some(slot) = self.slots.get_mut(index) {
            slot.is_written = true;
        }
        Ok(())
    }

    /// Fills all fixed variables, or all of the current record, that were not put.
    async fn fill_rest(&mut self, is_record: bool) -> Result<(), S::Error> {
        let is_left = |slot: &Slot| slot.is_record == is_record && !slot.is_written;
        while self.state.fill == Fill::Values {
            let Some(index) = self.slots.iter().position(is_left) else { break };
            self.fill(index, 0).await?;
        }
        Ok(())
    }

    pub(super) async fn end_record(&mut self) -> Result<(), S::Error> {
        self.fill_rest(true).await?;
        let ended = self.state.ended.saturating_add(1); // `check_records`
        end(self.state, self.slots, ended);
        Ok(())
    }

    /// Makes the values durable, then counts the records, then makes the count durable.
    pub(super) async fn commit(&mut self) -> Result<(), S::Error> {
        self.fill_rest(false).await?;
        if !self.state.is_dirty {
            return Ok(());
        }
        self.store.sync().await?;
        if self.state.counted != Some(self.state.ended) {
            let (prefix, len) = prefix(self.state.version, self.state.ended, ByteOrder::Big);
            self.state.is_torn = true;
            self.store.write_all_at(0, prefix.get(..len).unwrap_or_default()).await?;
            self.store.sync().await?;
            self.state.is_torn = false;
        }
        self.state.counted = Some(self.state.ended);
        self.state.is_dirty = false;
        Ok(())
    }
}

impl<B: AsMut<[Slot]>> Book<B> {
    /// What is put: all values of a fixed variable, or of a record variable in the current record.
    pub(super) fn whole<'w>(&mut self, varid: u64, values: Values<'w>) -> Result<Put<'w>, Error> {
        let run = self.place(varid, self.state.ended)?;
        let index = self.checked(varid, values, run.len())?;
        let runs = Runs::One(run);
        Ok(Put { index, runs, values, is_whole: true, touches_current: true })
    }

    /// What is put: the values of a region.
    pub(super) fn region<'w>(
        &mut self,
        varid: u64,
        slab: Slab<'w>,
        values: Values<'w>,
    ) -> Result<Put<'w>, Error> {
        let (_, &mut slot) = self.slot(varid)?;
        if !slab.is_of(self.state.layout(&slot)) {
            return Err(Error::Shape { varid });
        }
        let (current, length) = (self.state.ended, self.state.ended.saturating_add(1));
        let (mut touches_current, mut is_whole) = (true, slab.len() == slot.first.len());
        if slot.is_record {
            let (first, last) = slab.records().unwrap_or((u64::MAX, 0));
            if last > current {
                return Err(Error::OutOfShape { dim: 0, last, length });
            }
            touches_current = (first, last) != (u64::MAX, 0) && last == current;
            is_whole &= touches_current && first == current;
        }
        if touches_current {
            self.place(varid, current)?;
        }
        let index = self.checked(varid, values, slab.len())?;
        Ok(Put { index, runs: Runs::Slab(slab), values, is_whole, touches_current })
    }

    /// The index of a variable that can have these values in `len` bytes.
    fn checked(&mut self, varid: u64, values: Values<'_>, len: u64) -> Result<usize, Error> {
        let (index, &mut Slot { nc_type, .. }) = self.slot(varid)?;
        let given = values.nc_type();
        if nc_type != given {
            return Err(Error::Type { varid, nc_type, given });
        }
        let given = usize_to_u64(values.len());
        if given != len {
            return Err(Error::Count { varid, len, given });
        }
        Ok(index)
    }

    pub(super) fn desk<'w, S>(
        &'w mut self,
        store: &'w mut S,
        window: &'w mut [u8],
    ) -> Result<Desk<'w, S>, Error> {
        if window.len() < WINDOW {
            return Err(Error::window(window.len(), WINDOW));
        }
        let slots = self.memory.as_mut().get_mut(..self.state.nvars).unwrap_or_default();
        Ok(Desk { store, state: &mut self.state, slots, window })
    }
}
