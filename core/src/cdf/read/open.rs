//! The machine that scans a header once, and the metadata that it collects.

use super::cursor::{Cursor, Item, Var};
use crate::cdf::error::Error;
use crate::cdf::kind::{ListKind, Version};
use crate::cdf::layout::{Layout, RecordSize, Region, Sections, Slab, whole_records};
use crate::cdf::raw::Header1;
use crate::endian::ByteOrder;
use crate::source::{Fault, Miss, Window};
use crate::span::{Span, Stride};
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use core::ops::ControlFlow::{self, Break, Continue};

/// The head of a file: versions, counts and places of the header. The lists stay in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The version of the format.
    pub version: Version,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The length of the header in bytes.
    pub header_len: u64,
    /// The number of records.
    pub numrecs: u64,
    /// Whether the header has no number of records, so that it is that of the
    /// [whole ones](whole_records) in the file.
    pub is_streaming: bool,
    /// The bytes from one record to the next; 0 if there is no record variable.
    pub recsize: u64,
    /// The dimid of the record dimension.
    pub record_dim: Option<u64>,
    /// The number of dimensions.
    pub ndims: u64,
    /// The number of attributes of the file.
    pub ngatts: u64,
    /// The number of variables.
    pub nvars: u64,
    /// The place of the first item of `dim_list`, or of the next item if the list is empty.
    pub dims: Cursor,
    /// The place of the first item of `gatt_list`, or of the next item if the list is empty.
    pub gatts: Cursor,
    /// The place of the first item of `var_list`, or of the end if the list is empty.
    pub vars: Cursor,
}

impl Head {
    /// The span of the values of a record, which must be in the file; for a variable without
    /// records, of all values.
    ///
    /// # Errors
    /// [`Error::OutOfShape`] if there is no such record; [`Error::Size`] if its end exceeds
    /// `u64::MAX`; [`Error::OutOfFile`] if the file ends before its end.
    pub fn record(&self, layout: Layout, number: u64) -> Result<Span, Error> {
        let length = if layout.recsize.is_some() { self.numrecs } else { 1 };
        if length <= number {
            return Err(Error::OutOfShape { dim: 0, last: number, length });
        }
        let span = layout.recsize.map_or(Some(layout.first), |_| layout.record(number));
        let span = span.ok_or(Error::Size { begin: layout.first.offset() })?;
        self.check_end(span.offset(), span.end())?;
        Ok(span)
    }

    /// The places of the values of a region, which must be in the file. `shape` is the variable's
    /// lengths; the length of the record dimension is the number of records.
    ///
    /// # Errors
    /// See [`Slab::new`]; [`Error::OutOfFile`] if the file ends before the end of the region.
    pub fn slab<'a>(
        &self,
        layout: Layout,
        shape: &'a [u64],
        region: Region<'a>,
    ) -> Result<Slab<'a>, Error> {
        let slab = Slab::new(layout, shape, region)?;
        if !slab.is_empty() {
            self.check_end(layout.first.offset(), slab.end())?;
        }
        Ok(slab)
    }

    /// The header from a cursor on.
    #[inline(always)] // nothing is left of it where a store does not listen
    pub(in crate::cdf) fn rest(&self, from: Cursor) -> Stride {
        Stride::one(Span::between(from.offset(), self.header_len).unwrap_or(Span::ZERO))
    }

    const fn check_end(&self, offset: u64, end: u64) -> Result<(), Error> {
        let file_len = self.file_len;
        if end <= file_len { Ok(()) } else { Err(Error::OutOfFile { offset, end, file_len }) }
    }
}

/// A variable, and the places of its values, dimensions and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// The variable in the header.
    pub var: Var,
    /// The places of its values.
    pub layout: Layout,
    /// The place of its dimids, which its attributes follow.
    pub items: Cursor,
}

/// A machine that scans a header from a cursor on and passes each item to `take` until `take`
/// breaks. At the end of the header the output is `None`.
///
/// `take` also gets the cursor after the item, and the bytes in memory: they include the item's own
/// bytes, unless it is a [`Item::Var`].
#[derive(Debug)]
pub struct Scan<T, F> {
    file_len: u64,
    cursor: Cursor,
    take: F,
    step: ReadStep<Option<T>>,
}

impl<T, F> Scan<T, F>
where
    F: FnMut(Item, &Cursor, &Window<'_>) -> Result<ControlFlow<Option<T>>, Error>,
{
    /// Makes a machine that scans the header of a file of `file_len` bytes.
    #[must_use]
    pub const fn new(file_len: u64, cursor: Cursor, take: F) -> Self {
        let (offset, want) = (cursor.offset(), file_len.saturating_sub(cursor.offset()));
        let step = ReadStep::Read { offset, need: 0, want };
        Self { file_len, cursor, take, step }
    }
}

impl<T: Copy, F> ReadMachine for Scan<T, F>
where
    F: FnMut(Item, &Cursor, &Window<'_>) -> Result<ControlFlow<Option<T>>, Error>,
{
    type Output = Option<T>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Option<T>> {
        self.step
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let ReadStep::Read { offset, .. } = self.step else { return Ok(()) };
        let window = Window::new(offset, bytes, self.file_len);
        self.step = loop {
            let item = match next(&mut self.cursor, &window)? {
                ReadStep::Done(item) => item,
                ReadStep::Read { offset, need, want } => {
                    break ReadStep::Read { offset, need, want };
                }
            };
            match (self.take)(item, &self.cursor, &window)? {
                Break(output) => break ReadStep::Done(output),
                Continue(()) if matches!(item, Item::End { .. }) => break ReadStep::Done(None),
                Continue(()) => {}
            }
        };
        Ok(())
    }
}

/// A machine that wants nothing after `end`, where the header ends.
pub(in crate::cdf) struct Within<M> {
    pub(in crate::cdf) machine: M,
    pub(in crate::cdf) end: u64,
}

impl<M: ReadMachine> ReadMachine for Within<M> {
    type Output = M::Output;
    type Error = M::Error;

    fn poll(&mut self) -> ReadStep<M::Output> {
        match self.machine.poll() {
            ReadStep::Read { offset, need, want } => {
                ReadStep::Read { offset, need, want: up_to(self.end, offset, need, want) }
            }
            done @ ReadStep::Done(_) => done,
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), M::Error> {
        self.machine.feed(bytes)
    }
}

/// The part of `want` bytes at `offset` that is before `end`, but no fewer than `need`.
pub(in crate::cdf) fn up_to(end: u64, offset: u64, need: usize, want: u64) -> u64 {
    want.min(end.saturating_sub(offset)).max(usize_to_u64(need))
}

/// The next item, or the read that it needs.
pub(in crate::cdf) fn next(
    cursor: &mut Cursor,
    window: &Window<'_>,
) -> Result<ReadStep<Item>, Error> {
    match cursor.advance(window) {
        Ok(item) => Ok(ReadStep::Done(item)),
        Err(Fault::Format(error)) => Err(error),
        Err(Fault::Miss(Miss::Read { offset, need, want })) => {
            Ok(ReadStep::Read { offset, need, want })
        }
        // never: a window has no pages, and a cursor says itself that a file is cut
        Err(Fault::Miss(_)) => {
            Err(Error::Cut { field: Header1::magic, offset: cursor.offset(), file_len: 0 })
        }
    }
}

/// A variable, and the size of its values, which follows from its dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// The variable in the header.
    pub var: Var,
    /// The place of its dimids, which its attributes follow.
    pub items: Cursor,
    /// The span of its values, or of the values of the first record.
    pub first: Span,
    /// Whether its first dimension is the record dimension.
    pub is_record: bool,
}

impl Measured {
    /// The variable with the places of its values. `recsize` is [`Head::recsize`].
    #[must_use]
    pub fn variable(self, recsize: u64) -> Variable {
        let Self { var, items, first, is_record } = self;
        let recsize = is_record.then_some(recsize);
        let layout = Layout { first, recsize, value_len: var.nc_type.size() };
        Variable { var, layout, items }
    }
}

/// What happens at an error of a header: the first one ends its reading, or it goes on.
pub(in crate::cdf) type Judge<'a> = &'a mut dyn FnMut(Error) -> Result<(), Error>;

/// The size of a variable, computed while its dimensions come, and the place of the dimensions.
#[derive(Debug, Clone, Copy)]
pub(in crate::cdf) struct Extent {
    values: Option<u64>,
    ndims: u64,
    is_record: bool,
    items: Cursor,
}

impl Extent {
    /// Starts without dimensions, at a cursor before them.
    pub(in crate::cdf) const fn new(items: Cursor) -> Self {
        Self { values: Some(1), ndims: 0, is_record: false, items }
    }

    /// Takes an item of the header. At the end of a variable it returns the variable.
    pub(in crate::cdf) fn take(
        &mut self,
        item: Item,
        after: &Cursor,
        (lengths, record_dim): (&[u64], Option<u64>),
        judge: Judge<'_>,
    ) -> Result<Option<Measured>, Error> {
        match item {
            Item::Dimids { .. } => *self = Self::new(*after),
            Item::Dimid { varid, dimid } => {
                self.dimid(varid, dimid, (lengths, record_dim), judge)?
            }
            Item::Var(var) => return self.measure(var, judge),
            _ => {}
        }
        Ok(None)
    }

    /// Takes a dimension of the variable.
    #[inline]
    fn dimid(
        &mut self,
        varid: u64,
        dimid: u64,
        (lengths, record_dim): (&[u64], Option<u64>),
        judge: Judge<'_>,
    ) -> Result<(), Error> {
        let is_record = Some(dimid) == record_dim;
        if is_record && self.ndims > 0 {
            judge(Error::RecordDimNotFirst { varid })?;
        } else if is_record {
            self.is_record = true;
        } else {
            let length = usize::try_from(dimid).ok().and_then(|dimid| lengths.get(dimid));
            let product = |values: u64| values.checked_mul(*length?);
            self.values = self.values.and_then(product);
        }
        self.ndims = self.ndims.saturating_add(1);
        Ok(())
    }

    /// The variable, whose dimensions were all taken.
    #[inline]
    fn measure(&self, var: Var, judge: Judge<'_>) -> Result<Option<Measured>, Error> {
        let len = self.values.and_then(|values| values.checked_mul(var.nc_type.size()));
        let Some(first) = len.and_then(|len| Span::new(var.begin, len)) else {
            judge(Error::Size { begin: var.begin })?;
            return Ok(None);
        };
        let Self { items, is_record, .. } = *self;
        Ok(Some(Measured { var, items, first, is_record }))
    }
}

/// Collects the [`Head`] from the items of a header, and the lengths of the dimensions in the
/// caller's memory. [`Scan`] passes it the items.
#[derive(Debug)]
pub struct Survey<'m> {
    lengths: &'m mut [u64],
    head: Head,
    extent: Extent,
    records: RecordSize,
    sections: Sections,
    measured: Option<Measured>,
    /// Whether `begin` is the place of values.
    has_values: bool,
}

impl<'m> Survey<'m> {
    /// Makes an empty survey. `lengths` needs an entry for each dimension.
    #[must_use]
    pub fn new(file_len: u64, lengths: &'m mut [u64]) -> Self {
        Self { has_values: true, ..Self::of_header(file_len, lengths) }
    }

    /// Makes an empty survey of a header without values, of at most `len` bytes: a `begin` can be
    /// anything, and several dimensions can have length 0, of which the first is the record
    /// dimension. The header in the HDF5 files of E3SM-IO is one. `lengths` needs an entry for each
    /// dimension.
    #[must_use]
    pub fn of_header(len: u64, lengths: &'m mut [u64]) -> Self {
        let start = Cursor::new(ByteOrder::Big);
        let head = Head {
            version: Version::Cdf1,
            file_len: len,
            header_len: 0,
            numrecs: 0,
            is_streaming: false,
            recsize: 0,
            record_dim: None,
            ndims: 0,
            ngatts: 0,
            nvars: 0,
            dims: start,
            gatts: start,
            vars: start,
        };
        let (extent, records) = (Extent::new(start), RecordSize::default());
        let (sections, measured, has_values) = (Sections::default(), None, false);
        Self { lengths, head, extent, records, sections, measured, has_values }
    }

    /// Takes the next item and the cursor after it. Breaks at the end of the header.
    ///
    /// # Errors
    /// [`Error::DimsMemory`] if there are more dimensions than `lengths` has entries; another
    /// [`Error`], which blames the file, if items contradict each other.
    pub fn take(&mut self, item: Item, after: &Cursor) -> Result<ControlFlow<Option<Head>>, Error> {
        self.judge(item, after, &mut Err)
    }

    /// [`take`](Self::take), which passes an error that blames the file to `judge` and goes on if
    /// `judge` returns no error.
    ///
    /// # Errors
    /// [`Error::DimsMemory`] if there are more dimensions than `lengths` has entries; the errors of
    /// `judge`.
    pub fn judge(
        &mut self,
        item: Item,
        after: &Cursor,
        judge: &mut dyn FnMut(Error) -> Result<(), Error>,
    ) -> Result<ControlFlow<Option<Head>>, Error> {
        self.measured = None;
        let head = &mut self.head;
        match item {
            Item::Header { version, numrecs } => {
                head.is_streaming = numrecs == version.streaming();
                (head.version, head.numrecs) = (version, numrecs);
            }
            Item::List { list: ListKind::Dims, nelems: ndims } => {
                let room = usize_to_u64(self.lengths.len());
                if room < ndims {
                    return Err(Error::DimsMemory { ndims, room });
                }
                (head.ndims, head.dims) = (ndims, *after);
            }
            Item::List { list: ListKind::Gatts, nelems } => {
                (head.ngatts, head.gatts) = (nelems, *after);
            }
            Item::List { list: ListKind::Vars, nelems } => {
                (head.nvars, head.vars) = (nelems, *after);
            }
            Item::Dim(dim) => {
                if dim.length == 0 {
                    let first = *head.record_dim.get_or_insert(dim.dimid);
                    if first != dim.dimid && self.has_values {
                        judge(Error::TwoRecordDims { first, second: dim.dimid })?;
                    }
                }
                self.set_length(dim.dimid, dim.length);
            }
            Item::End { header_len } => {
                self.head.header_len = header_len;
                return self.finish(judge).map(|head| Break(Some(head)));
            }
            Item::Dimids { .. } => self.extent = Extent::new(*after),
            Item::Dimid { varid, dimid } => {
                let dims = (&*self.lengths, head.record_dim);
                self.extent.dimid(varid, dimid, dims, judge)?;
            }
            Item::Var(var) => {
                if let Some(measured) = self.extent.measure(var, judge)? {
                    self.add(&measured, judge)?;
                    self.measured = Some(measured);
                }
            }
            Item::List { list: ListKind::Vatts, .. } | Item::Name(_) | Item::Attr(_) => {}
        }
        Ok(Continue(()))
    }

    /// The variable whose last item was [taken](Self::take) just now.
    #[inline]
    #[must_use]
    pub const fn measured(&self) -> Option<Measured> {
        self.measured
    }

    fn add(&mut self, measured: &Measured, judge: Judge<'_>) -> Result<(), Error> {
        if measured.is_record {
            match self.records.with(measured.first.len()) {
                Some(records) => self.records = records,
                None => judge(Error::Size { begin: measured.var.begin })?,
            }
        }
        if !self.has_values {
            return Ok(());
        }
        let Measured { var, first, is_record, .. } = *measured;
        self.sections.add(first, var.begin_at, is_record).or_else(judge)
    }

    fn set_length(&mut self, dimid: u64, length: u64) {
        let place = usize::try_from(dimid).ok().and_then(|dimid| self.lengths.get_mut(dimid));
        place.into_iter().for_each(|place| *place = length);
    }

    fn finish(&mut self, judge: Judge<'_>) -> Result<Head, Error> {
        let Self { mut head, sections, records, .. } = *self;
        let [fixed, record] = sections.finish(head.header_len);
        fixed.or_else(&mut *judge)?;
        record.or_else(judge)?;
        head.recsize = records.get();
        if head.is_streaming {
            let whole = |first| whole_records(first, head.recsize, head.file_len);
            head.numrecs = sections.first_record().map_or(0, whole);
        }
        if let Some(record_dim) = head.record_dim {
            self.set_length(record_dim, head.numrecs);
        }
        Ok(head)
    }

    /// The lengths of the dimensions; the length of the record dimension is the number of records.
    #[must_use]
    pub fn into_lengths(self) -> &'m [u64] {
        let ndims = usize::try_from(self.head.ndims).unwrap_or(usize::MAX);
        self.lengths.get(..ndims).unwrap_or_default()
    }
}
