//! The places of the values of a new file.

use super::define::{Define, Size, check_name, flawed, numbered};
use crate::cdf::error::{Error, Flaw};
use crate::cdf::kind::{ListKind, Type, Version};
use crate::cdf::layout::{LargeVars, RecordSize, padded};
use crate::span::{Span, round_up};
use crate::store::usize_to_u64;
use core::num::NonZeroU64;

/// The most bytes of a file: offsets are signed in all libraries.
pub(in crate::cdf) const MAX_FILE: u64 = i64::MAX.unsigned_abs();

/// Where the sections of a new file begin. All offsets are rounded up to 4.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// The least free bytes after the header; `h_minfree` of `nc__enddef`.
    pub header_free: u64,
    /// The alignment of the first value; `v_align` of `nc__enddef`.
    pub values: NonZeroU64,
    /// The least free bytes after the fixed variables; `v_minfree` of `nc__enddef`.
    pub fixed_free: u64,
    /// The alignment of the first record; `r_align` of `nc__enddef`.
    pub records: NonZeroU64,
}

impl Alignment {
    /// Everything is where the previous thing ends, as netCDF-C does it.
    pub const COMPACT: Self =
        Self { header_free: 0, values: NonZeroU64::MIN, fixed_free: 0, records: NonZeroU64::MIN };
}

impl Default for Alignment {
    /// The first value is in a sector of its own, so that no write of values touches the header;
    /// `PnetCDF` 1.12.3 does this, too.
    fn default() -> Self {
        Self { values: NonZeroU64::MIN.saturating_add(511), ..Self::COMPACT }
    }
}

/// The places of a new file: computed from a definition, which it has checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub(in crate::cdf) version: Version,
    pub(in crate::cdf) header_len: u64,
    pub(in crate::cdf) fixed_begin: u64,
    pub(in crate::cdf) fixed_end: u64,
    pub(in crate::cdf) record_begin: u64,
    pub(in crate::cdf) records: RecordSize,
    pub(in crate::cdf) ndims: u64,
    pub(in crate::cdf) ngatts: u64,
    pub(in crate::cdf) nvars: u64,
}

impl Plan {
    /// Checks `definition` and computes the places.
    ///
    /// Names are compared with each other: see [`Define::is_repeated`].
    ///
    /// # Errors
    /// [`Error::Define`] with the first item that a file of this version cannot have.
    pub fn new<D: Define + ?Sized>(
        definition: &D,
        version: Version,
        alignment: Alignment,
    ) -> Result<Self, Error> {
        let mut check = Check::new(definition, version);
        let ndims = check.dims()?;
        let ngatts = check.attrs(None)?;
        let nvars = check.vars()?;
        let Check { len: header_len, fixed, records, .. } = check;
        let places = || {
            let begin = header_len.checked_add(alignment.header_free)?;
            let fixed_begin = padded(round_up(begin, alignment.values)?)?;
            let fixed_end = fixed_begin.checked_add(fixed)?;
            let begin = fixed_end.checked_add(alignment.fixed_free)?;
            let record_begin = padded(round_up(begin, alignment.records)?)?;
            Some([fixed_begin, fixed_end, record_begin])
        };
        let too_long = flawed(ListKind::Vars, None, nvars.saturating_sub(1), Flaw::Size);
        let [fixed_begin, fixed_end, record_begin] =
            places().filter(|[.., last]| *last <= MAX_FILE).ok_or(too_long)?;
        let plan = Self {
            version,
            header_len,
            fixed_begin,
            fixed_end,
            record_begin,
            records,
            ndims,
            ngatts,
            nvars,
        };
        plan.check_begins(definition)?;
        Ok(plan)
    }

    /// Checks that every variable begins where this version can say it.
    fn check_begins<D: Define + ?Sized>(&self, definition: &D) -> Result<(), Error> {
        let mut begins = self.begins();
        for (varid, var) in numbered(|varid| definition.var(varid)) {
            let error = |flaw| flawed(ListKind::Vars, None, varid, flaw);
            let place = begins.next(Size::of(definition, &var).map_err(error)?);
            let max = self.version.max_begin();
            let fits = |place: &Span| place.offset() <= max && place.end() <= MAX_FILE;
            place.filter(fits).ok_or(error(Flaw::Size))?;
        }
        Ok(())
    }

    /// The places of the variables of `definition`, which is that of the plan, in their order: of
    /// the values, or of those of the first record.
    pub fn places<D: Define + ?Sized>(&self, definition: &D) -> impl Iterator<Item = Span> {
        let mut begins = self.begins();
        let vars = numbered(|varid| definition.var(varid));
        vars.map_while(move |(_, var)| begins.next(Size::of(definition, &var).ok()?))
    }

    /// The version.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The length of the header in bytes.
    #[must_use]
    pub const fn header_len(&self) -> u64 {
        self.header_len
    }

    /// The bytes of the fixed variables.
    #[must_use]
    pub fn fixed(&self) -> Span {
        Span::between(self.fixed_begin, self.fixed_end).unwrap_or(Span::ZERO)
    }

    /// The offset of the first record.
    #[must_use]
    pub const fn record_begin(&self) -> u64 {
        self.record_begin
    }

    /// The bytes from one record to the next; 0 if there is no record variable.
    #[must_use]
    pub const fn recsize(&self) -> u64 {
        self.records.get()
    }

    /// The number of variables.
    #[must_use]
    pub const fn nvars(&self) -> u64 {
        self.nvars
    }

    /// The length of a file with this number of records; `None` if no file can be so long.
    #[must_use]
    pub fn file_len(&self, numrecs: u64) -> Option<u64> {
        if self.recsize() == 0 {
            return Some(self.values_end());
        }
        let records = numrecs.checked_mul(self.recsize())?;
        self.record_begin.checked_add(records).filter(|&len| len <= MAX_FILE)
    }

    /// The end of the fixed variables, or of the header if there are none.
    pub(in crate::cdf) const fn values_end(&self) -> u64 {
        if self.fixed_end == self.fixed_begin { self.header_len } else { self.fixed_end }
    }

    /// Yields the places of the variables in their order.
    pub(in crate::cdf) const fn begins(&self) -> Begins {
        Begins { fixed: Some(self.fixed_begin), record: Some(self.record_begin) }
    }
}

/// The places of the next fixed variable and of the next record variable.
#[derive(Debug, Clone, Copy)]
pub(in crate::cdf) struct Begins {
    fixed: Option<u64>,
    record: Option<u64>,
}

impl Begins {
    /// The place of the next variable, or of its first record, without padding; `None` if it is
    /// past the end of any file.
    pub(in crate::cdf) fn next(&mut self, size: Size) -> Option<Span> {
        let next = if size.is_record { &mut self.record } else { &mut self.fixed };
        let place = Span::new((*next)?, size.len)?;
        *next = padded(size.len).and_then(|len| place.offset().checked_add(len));
        Some(place)
    }
}

/// A definition while it is checked, and the length of its header.
struct Check<'d, D: ?Sized> {
    definition: &'d D,
    version: Version,
    /// The length of the header; it saturates.
    len: u64,
    /// The bytes of the fixed variables with padding; they saturate.
    fixed: u64,
    records: RecordSize,
    large: LargeVars,
}

impl<'d, D: Define + ?Sized> Check<'d, D> {
    const fn new(definition: &'d D, version: Version) -> Self {
        let len = version.non_neg_len().saturating_add(4);
        let records = RecordSize::EMPTY;
        Self { definition, version, len, fixed: 0, records, large: LargeVars::new(version) }
    }

    fn add(&mut self, len: u64) {
        self.len = self.len.saturating_add(len);
    }

    fn add_padded(&mut self, len: u64) {
        self.add(padded(len).unwrap_or(u64::MAX));
    }

    /// Checks the name of an item and adds its length.
    fn name(
        &mut self,
        name: &str,
        (list, of, number): (ListKind, Option<u64>, u64),
    ) -> Result<(), Flaw> {
        check_name(name)?;
        if self.definition.is_repeated(list, of, number) {
            return Err(Flaw::SameName);
        }
        self.add(self.version.non_neg_len());
        self.add_padded(usize_to_u64(name.len()));
        Ok(())
    }

    fn check_type(&self, nc_type: Type) -> Result<(), Flaw> {
        if self.version.has(nc_type) { Ok(()) } else { Err(Flaw::NoType) }
    }

    /// Adds the length of the start of a list, and checks the number of its items.
    fn list(&mut self, list: ListKind, of: Option<u64>, count: u64) -> Result<u64, Error> {
        self.add(self.version.non_neg_len().saturating_add(4));
        match count <= self.version.max_non_neg() {
            true => Ok(count),
            false => Err(flawed(list, of, count, Flaw::Length)),
        }
    }

    fn dims(&mut self) -> Result<u64, Error> {
        let (definition, mut record_dim, mut count) = (self.definition, None, 0);
        for (dimid, dim) in numbered(|dimid| definition.dim(dimid)) {
            let mut check = || {
                self.name(dim.name, (ListKind::Dims, None, dimid))?;
                if dim.length == 0 && record_dim.replace(dimid).is_some() {
                    return Err(Flaw::SecondRecordDim);
                }
                self.add(self.version.non_neg_len());
                if dim.length <= self.version.max_len() { Ok(()) } else { Err(Flaw::Length) }
            };
            check().map_err(|flaw| flawed(ListKind::Dims, None, dimid, flaw))?;
            count = dimid.saturating_add(1);
        }
        self.list(ListKind::Dims, None, count)
    }

    fn attrs(&mut self, of: Option<u64>) -> Result<u64, Error> {
        let list = if of.is_some() { ListKind::Vatts } else { ListKind::Gatts };
        let (definition, mut count) = (self.definition, 0);
        for (number, attr) in numbered(|number| definition.attr(of, number)) {
            let mut check = || {
                self.name(attr.name, (list, of, number))?;
                let nelems = attr.values.nelems().ok_or(Flaw::Values)?;
                self.check_type(attr.values.nc_type())?;
                self.add(self.version.non_neg_len().saturating_add(4));
                self.add_padded(usize_to_u64(attr.values.len()));
                if nelems <= self.version.max_non_neg() { Ok(()) } else { Err(Flaw::Length) }
            };
            check().map_err(|flaw| flawed(list, of, number, flaw))?;
            count = number.saturating_add(1);
        }
        self.list(list, of, count)
    }

    fn vars(&mut self) -> Result<u64, Error> {
        let (definition, mut count) = (self.definition, 0);
        for (varid, var) in numbered(|varid| definition.var(varid)) {
            let mut check = || {
                self.name(var.name, (ListKind::Vars, None, varid))?;
                self.check_type(var.nc_type)?;
                self.size(varid, Size::of(definition, &var)?)
            };
            let error = |flaw| flawed(ListKind::Vars, None, varid, flaw);
            check().map_err(error)?;
            self.attrs(Some(varid))?;
            let [non_neg, offset] = [self.version.non_neg_len(), self.version.offset_len()];
            let dimids = usize_to_u64(var.dimids.len());
            self.add(dimids.saturating_add(2).saturating_mul(non_neg));
            self.add(offset.saturating_add(4));
            count = varid.saturating_add(1);
        }
        if let Some(varid) = self.large.not_last(self.records.get() > 0) {
            return Err(flawed(ListKind::Vars, None, varid, Flaw::Size));
        }
        self.list(ListKind::Vars, None, count)
    }

    /// Adds the values of a variable.
    fn size(&mut self, varid: u64, size: Size) -> Result<(), Flaw> {
        self.large.add(varid, size.len, size.is_record).map_err(|_| Flaw::Size)?;
        if size.is_record {
            self.records = self.records.with(size.len).ok_or(Flaw::Size)?;
        } else {
            self.fixed = self.fixed.saturating_add(padded(size.len).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}
