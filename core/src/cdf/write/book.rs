//! A writer's state of a file, as a value: what is written, and what is counted.
//!
//! A [`Book`] knows the places of all variables, which of them are written in the current record,
//! how many records are complete, and how many of these the header counts. It holds no store: a
//! call that writes gets one. [`Writer`](crate::cdf::Writer) is a store, memory and a `Book`. A
//! program that writes values on its own asks for their places ([`Book::place`]), and tells what is
//! complete ([`Book::end_records`]).
//!
//! A commit makes the values durable, then writes the number of records, then makes it durable
//! (`spec/cdf.md#writing-with-striae`).

mod desk;

use super::define::{Define, FILL_VALUE, Size, fill_value, numbered};
use super::encode::{PREFIX, prefix};
use super::plan::{MAX_FILE, Plan};
use crate::cdf::error::Error;
#[twin(ReadError = AsyncError)]
use crate::cdf::error::ReadError;
use crate::cdf::kind::{Type, Version};
use crate::cdf::layout::{Layout, Slab, padded};
use crate::cdf::read::cursor::{Attr, Cursor, Item};
use crate::cdf::read::open::{Extent, Head, Scan, Variable};
use crate::cdf::read::reader::is_name;
use crate::cdf::values::{Fill, Values};
use crate::endian::ByteOrder;
use crate::source::Window;
use crate::span::Span;
use crate::step::{DriveError, ReadMachine};
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{Proof, copy_front, usize_to_u64};
use core::ops::ControlFlow::Continue;
use striae_twin::twin;

/// The memory of a [`Book`] for one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The span of all values, or of the values of the first record.
    first: Span,
    nc_type: Type,
    is_record: bool,
    /// Whether all values were written or filled: of the variable, or of the current record.
    is_written: bool,
    /// The fill value.
    fill: [u8; 8],
    /// Where the fill value is, as long as it was not read.
    fill_at: Option<u64>,
}

impl Slot {
    /// No variable.
    pub const EMPTY: Self = Self {
        first: Span::ZERO,
        nc_type: Type::Byte,
        is_record: false,
        is_written: true,
        fill: [0; 8],
        fill_at: None,
    };
}

/// A writer's state of a file. See the [module](self).
///
/// Its memory needs a slot for each variable.
#[derive(Debug, Clone)]
pub struct Book<B> {
    state: State,
    memory: B,
}

/// The numbers of a [`Book`].
#[derive(Debug, Clone, Copy)]
struct State {
    version: Version,
    nvars: usize,
    fill: Fill,
    fixed_end: u64,
    record_begin: u64,
    recsize: u64,
    /// Whether records are padded: there are several record variables.
    is_padded: bool,
    /// The number of records that the header counts durably; `None` if there is no valid header, or
    /// one without a number.
    counted: Option<u64>,
    /// The number of records that are complete.
    ended: u64,
    /// Whether something was written since the last commit.
    is_dirty: bool,
    /// Whether the number of records was written, and may not be durable.
    is_torn: bool,
    /// The last bytes of the values that the last call put, and where they are.
    last_put: Option<(u64, [u8; 4])>,
}

impl State {
    /// The length of a file with this number of records; `None` if no file can have them.
    fn file_len(&self, numrecs: u64) -> Option<u64> {
        if self.recsize == 0 {
            return Some(self.fixed_end);
        }
        let records = Some(numrecs).filter(|&numrecs| numrecs <= self.version.max_non_neg());
        let end = self.record_begin.checked_add(records?.checked_mul(self.recsize)?)?;
        Some(end.max(self.fixed_end)).filter(|&end| end <= MAX_FILE)
    }

    fn note_put(&mut self, offset: u64, bytes: &[u8]) {
        if let Some((before, &last)) = bytes.split_last_chunk() {
            let at = offset.saturating_add(usize_to_u64(before.len()));
            self.last_put = Some((at, last));
        }
    }

    const fn layout(&self, slot: &Slot) -> Layout {
        let recsize = if slot.is_record { Some(self.recsize) } else { None };
        Layout { first: slot.first, recsize, value_len: slot.nc_type.size() }
    }

    /// The bytes of the variable in the current record, or of a fixed variable, with padding.
    fn place(&self, slot: &Slot, record: u64) -> Option<Span> {
        let len = slot.first.len();
        if !slot.is_record {
            return Span::new(slot.first.offset(), padded(len)?);
        }
        let len = if self.is_padded { padded(len)? } else { len };
        let skip = record.checked_mul(self.recsize)?;
        Span::new(slot.first.offset().checked_add(skip)?, len)
    }
}

impl<B: AsMut<[Slot]>> Book<B> {
    /// The book of a new file, which [`Encode::begin`](crate::cdf::Encode::begin) begins and the
    /// first [`commit`](Self::commit) publishes.
    ///
    /// # Errors
    /// [`Error::VarsMemory`] if `memory` has too few slots.
    pub fn create<D: Define + ?Sized>(
        definition: &D,
        plan: &Plan,
        fill: Fill,
        memory: B,
    ) -> Result<Self, Error> {
        let mut book = Self {
            state: State {
                version: plan.version,
                nvars: 0,
                fill,
                fixed_end: plan.values_end(),
                record_begin: plan.record_begin,
                recsize: plan.recsize(),
                is_padded: plan.records.is_padded(),
                counted: None,
                ended: 0,
                is_dirty: true,
                is_torn: false,
                last_put: None,
            },
            memory,
        };
        let mut begins = plan.begins();
        for (varid, var) in numbered(|varid| definition.var(varid)) {
            let size = Size::of(definition, &var).ok();
            let first = size.and_then(|size| begins.next(size)).unwrap_or(Span::ZERO);
            let is_record = size.is_some_and(|size| size.is_record);
            let fill = fill_value(definition, varid, var.nc_type);
            let nc_type = var.nc_type;
            let slot = Slot { first, nc_type, is_record, is_written: false, fill, fill_at: None };
            book.add(slot, plan.nvars)?;
        }
        Ok(book)
    }

    /// The book of a file that was opened as `head`, without its variables: the machine of
    /// [`find_variables`](Self::find_variables) adds them.
    ///
    /// # Errors
    /// [`Error::VarsMemory`] if `memory` has too few slots.
    pub fn open(head: &Head, fill: Fill, mut memory: B) -> Result<Self, Error> {
        let room = usize_to_u64(memory.as_mut().len());
        if room < head.nvars {
            return Err(Error::VarsMemory { nvars: head.nvars, room });
        }
        let state = State {
            version: head.version,
            nvars: 0,
            fill,
            fixed_end: head.header_len,
            record_begin: 0,
            recsize: head.recsize,
            is_padded: false,
            counted: Some(head.numrecs).filter(|_| !head.is_streaming),
            ended: head.numrecs,
            is_dirty: true, // what another program has written may not be durable
            is_torn: false,
            last_put: None,
        };
        Ok(Self { state, memory })
    }

    /// The machine that adds the variables of the file that was opened as `head`. `lengths` are the
    /// lengths of its dimensions. Its output has no meaning; then
    /// [`next_fill`](Self::next_fill) says which fill values to read.
    pub fn find_variables<'a>(
        &'a mut self,
        head: &'a Head,
        lengths: &'a [u64],
    ) -> impl ReadMachine<Output = Option<()>, Error = Error> + 'a {
        let (mut extent, mut own) = (Extent::new(head.vars), None);
        Scan::new(head.file_len, head.vars, move |item, after: &Cursor, window: &Window<'_>| {
            match item {
                Item::Dimids { .. } => own = None,
                Item::Attr(attr) if is_name(attr.name, window, FILL_VALUE.as_bytes()) => {
                    own = own.or(Some(attr));
                }
                _ => {}
            }
            let taken = extent.take(item, after, (lengths, head.record_dim), &mut Err)?;
            if let Some(measured) = taken {
                self.open_variable(&measured.variable(head.recsize), own)?;
            }
            Ok(Continue(()))
        })
    }

    /// Adds the next variable of the file that was opened, with its `_FillValue`. Fixed variables
    /// count as written.
    fn open_variable(&mut self, variable: &Variable, own: Option<Attr>) -> Result<(), Error> {
        let Layout { first, recsize, .. } = variable.layout;
        let (nc_type, is_record) = (variable.var.nc_type, recsize.is_some());
        let state = &mut self.state;
        if !is_record {
            let end = padded(first.len()).and_then(|len| first.offset().checked_add(len));
            state.fixed_end = state.fixed_end.max(end.unwrap_or(u64::MAX));
        } else if state.record_begin == 0 {
            state.record_begin = first.offset();
        } else {
            state.is_padded = true;
        }
        let own = own.filter(|own| own.nc_type == nc_type && own.nelems == 1);
        let (fill, fill_at) = (nc_type.fill(), own.map(|own| own.values.offset()));
        let slot = Slot { first, nc_type, is_record, is_written: !is_record, fill, fill_at };
        self.add(slot, variable.var.varid.saturating_add(1))
    }

    /// The number of a variable whose fill value must be read, and the place of this value. Pass
    /// the bytes to [`set_fill`](Self::set_fill).
    pub fn next_fill(&mut self) -> Option<(u64, Span)> {
        let slots = self.memory.as_mut().iter().take(self.state.nvars).enumerate();
        let (varid, at, size) =
            slots.filter_map(|(varid, slot)| Some((varid, slot.fill_at?, slot.nc_type))).next()?;
        Some((usize_to_u64(varid), Span::new(at, size.size())?))
    }

    /// Sets the fill value of a variable, big-endian; only as many bytes count as a value has.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable.
    pub fn set_fill(&mut self, varid: u64, fill: [u8; 8]) -> Result<(), Error> {
        let (_, slot) = self.slot(varid)?;
        (slot.fill, slot.fill_at) = (fill, None);
        Ok(())
    }

    fn add(&mut self, slot: Slot, nvars: u64) -> Result<(), Error> {
        let slots = self.memory.as_mut();
        let room = usize_to_u64(slots.len());
        let place = slots.get_mut(self.state.nvars).ok_or(Error::VarsMemory { nvars, room })?;
        *place = slot;
        self.state.nvars = self.state.nvars.saturating_add(1);
        Ok(())
    }

    /// The slot of a variable, and its index.
    fn slot(&mut self, varid: u64) -> Result<(usize, &mut Slot), Error> {
        let none = Error::NoVar { varid, nvars: usize_to_u64(self.state.nvars) };
        let index = usize::try_from(varid).ok().filter(|&index| index < self.state.nvars);
        let slot = index.and_then(|index| Some((index, self.memory.as_mut().get_mut(index)?)));
        slot.ok_or(none)
    }

    /// The number of records that are complete, whether they are committed or not.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.state.ended
    }

    /// The number of records that were committed.
    #[must_use]
    pub const fn committed(&self) -> u64 {
        match self.state.counted {
            Some(counted) => counted,
            None => 0,
        }
    }

    /// Whether the header has no number of records yet.
    #[must_use]
    pub const fn is_streaming(&self) -> bool {
        self.state.counted.is_none()
    }

    /// What becomes of values that nobody writes.
    #[must_use]
    pub const fn fill(&self) -> Fill {
        self.state.fill
    }

    /// The length of the file in bytes, as a close leaves it.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.state.file_len(self.state.ended).unwrap_or(MAX_FILE) // `end_records` has checked it
    }

    /// The place of a variable's values in a record, which needs not exist yet; of all values if it
    /// is a fixed variable.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable; [`Error::Records`] if no file can have the
    /// record.
    pub fn place(&mut self, varid: u64, record: u64) -> Result<Span, Error> {
        let (_, &mut slot) = self.slot(varid)?;
        let max = self.state.version.max_non_neg();
        let numrecs = record.saturating_add(1);
        let error = Error::Records { numrecs, max };
        if slot.is_record && self.state.file_len(numrecs).is_none() {
            return Err(error);
        }
        let place = self.state.place(&slot, record).ok_or(error)?;
        Ok(Span::new(place.offset(), slot.first.len()).unwrap_or(place))
    }

    /// Notes that the values of a fixed variable are in the store, or those of a record variable in
    /// the current record.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable.
    pub fn written(&mut self, varid: u64) -> Result<(), Error> {
        let (_, slot) = self.slot(varid)?;
        slot.is_written = true;
        self.state.is_dirty = true;
        Ok(())
    }

    /// The layout of a variable, for a [`Slab`].
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable.
    pub fn layout(&mut self, varid: u64) -> Result<Layout, Error> {
        let (_, &mut slot) = self.slot(varid)?;
        Ok(self.state.layout(&slot))
    }

    /// Ends the current record and some more: `count` records whose values are all in the store.
    ///
    /// # Errors
    /// [`Error::Records`] if no file can have so many records.
    pub fn end_records(&mut self, count: u64) -> Result<(), Error> {
        let ended = self.check_records(count)?;
        self.end(ended);
        Ok(())
    }

    pub(in crate::cdf) fn check_records(&self, count: u64) -> Result<u64, Error> {
        let numrecs = self.state.ended.saturating_add(count);
        let max = if self.state.recsize == 0 { 0 } else { self.state.version.max_non_neg() };
        let fits = numrecs <= max && self.state.file_len(numrecs).is_some();
        if fits { Ok(numrecs) } else { Err(Error::Records { numrecs, max }) }
    }

    fn end(&mut self, ended: u64) {
        let nvars = self.state.nvars;
        end(&mut self.state, self.memory.as_mut().get_mut(..nvars).unwrap_or_default(), ended);
    }

    /// The last bytes of the values that the last call put, and where they are.
    pub(in crate::cdf) const fn last_put(&self) -> Option<(u64, [u8; 4])> {
        self.state.last_put
    }

    /// Discards what was put in the current record.
    pub fn discard_record(&mut self) {
        self.end(self.state.ended);
    }
}

/// After an error, the store must still have the file: its magic and number of records, which are
/// zeros before the first commit.
impl<B> Proof for Book<B> {
    fn place(&self, number: u32, known: &mut [u8; 80]) -> Option<(u64, usize)> {
        let State { version, counted, is_torn, .. } = self.state;
        let (prefix, len) = prefix(version, counted.unwrap_or(0), ByteOrder::Big);
        let (bytes, len) = match (counted, is_torn) {
            (Some(_), false) => (prefix, len),
            (Some(_), true) => (prefix, version.magic().len()),
            (None, false) => ([0; PREFIX], len),
            (None, true) => (prefix, 0),
        };
        let len = copy_front(bytes.get(..len).unwrap_or_default(), known);
        (number == 0).then_some((0, len))
    }
}

/// If a call fails, it can be repeated; so can one whose future was dropped. `window` needs
/// [`WINDOW`] bytes.
#[twin(WriteAt, ReadError = AsyncError)]
impl<B: AsMut<[Slot]>> Book<B> {
    /// Puts all values of a fixed variable, or all of a record variable in the current record.
    /// Values that are not big-endian go through `window`.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable; [`Error::Type`] for values of another type;
    /// [`Error::Count`] for another number of bytes; [`Error::Records`] if no file can have another
    /// record; [`Error::Window`] if the window is too short; the store's own error.
    pub async fn put<S: WriteAt>(
        &mut self,
        store: &mut S,
        varid: u64,
        values: Values<'_>,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        let put = self.whole(varid, values)?;
        let mut desk = self.desk(store, window)?;
        desk.put(put).await.map_err(DriveError::Store)
    }

    /// Puts the values of a region of a variable. For a record variable, the first number of
    /// `slab`'s shape is at most [`records`](Self::records) + 1: earlier records are overwritten in
    /// place, the last one is the current record. If a region does not hold the whole current
    /// record, or the whole variable, and nothing was put there before, the rest is filled first.
    ///
    /// # Errors
    /// See [`put`](Self::put); [`Error::OutOfShape`] for a record after the current one;
    /// [`Error::Shape`] if the slab is not one of the variable.
    pub async fn put_slab<S: WriteAt>(
        &mut self,
        store: &mut S,
        varid: u64,
        slab: Slab<'_>,
        values: Values<'_>,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        let put = self.region(varid, slab, values)?;
        let mut desk = self.desk(store, window)?;
        desk.put(put).await.map_err(DriveError::Store)
    }

    /// Ends the current record: what was not put in it is filled. The next commit counts it.
    ///
    /// # Errors
    /// [`Error::Records`] if no file can have another record; [`Error::Window`] if the window is
    /// too short; the store's own error: the record has not ended then.
    pub async fn end_record<S: WriteAt>(
        &mut self,
        store: &mut S,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        self.check_records(1)?;
        let mut desk = self.desk(store, window)?;
        desk.end_record().await.map_err(DriveError::Store)
    }

    /// Makes all complete records durable and counts them in the header. The first commit also
    /// fills fixed variables that were not put, and makes the file a netCDF file.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too short; the store's own error.
    pub async fn commit<S: WriteAt>(
        &mut self,
        store: &mut S,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        let mut desk = self.desk(store, window)?;
        desk.commit().await.map_err(DriveError::Store)
    }
}

/// The fewest bytes of a window.
pub const WINDOW: usize = super::encode::WINDOW;

/// Sets the number of complete records; nothing of the next one is written.
fn end(state: &mut State, slots: &mut [Slot], ended: u64) {
    state.is_dirty |= ended != state.ended;
    state.ended = ended;
    for slot in slots.iter_mut().filter(|slot| slot.is_record) {
        slot.is_written = false;
    }
}
