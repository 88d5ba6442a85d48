//! The places of the values of variables: numbers in, spans out.

use super::error::Error;
use super::kind::Version;
use super::raw::Var1;
use crate::span::{Span, round_up};
use crate::store::usize_to_u64;
use core::num::NonZeroU64;

const FOUR: NonZeroU64 = NonZeroU64::MIN.saturating_add(3);

/// The length with padding to a multiple of 4, or `None` if it exceeds `u64::MAX`.
#[must_use]
pub const fn padded(len: u64) -> Option<u64> {
    round_up(len, FOUR)
}

impl Version {
    /// The `vsize` of a variable with `len` bytes, or with `len` bytes in each record: padded, and
    /// all bits of a NON_NEG set if it does not fit (`ncmpio_header_put.c:352`).
    #[must_use]
    pub fn stored_vsize(self, len: u64) -> u64 {
        padded(len).unwrap_or(u64::MAX).min(self.streaming())
    }
}

/// The bytes from one record to the next: the sum over the record variables of their values in one
/// record, padded to 4. If there is only one record variable, it is not padded
/// (`spec/cdf.md#records`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RecordSize {
    count: u64,
    /// The bytes of the last variable that was added.
    last: u64,
    padded: u64,
}

impl RecordSize {
    /// No record variable.
    pub const EMPTY: Self = Self { count: 0, last: 0, padded: 0 };

    /// Adds a variable with `len` bytes in each record; `None` if the sum exceeds `u64::MAX`.
    #[must_use]
    pub const fn with(self, len: u64) -> Option<Self> {
        let Some(padded) = padded(len) else { return None };
        let Some(padded) = self.padded.checked_add(padded) else { return None };
        Some(Self { count: self.count.saturating_add(1), last: len, padded })
    }

    /// Whether records are padded: there are several record variables.
    pub(super) const fn is_padded(self) -> bool {
        self.count > 1
    }

    /// The record size; 0 if there is no record variable.
    #[must_use]
    pub const fn get(self) -> u64 {
        if self.count == 1 { self.last } else { self.padded }
    }
}

/// The number of records whose values are all in a file of `file_len` bytes; the padding after the
/// last one may be missing. `first` is the first record, from its first value to its last one. 0 if
/// the record size is 0.
#[must_use]
pub const fn whole_records(first: Span, recsize: u64, file_len: u64) -> u64 {
    let Some(room) = file_len.checked_sub(first.end()) else { return 0 };
    match room.checked_div(recsize) {
        Some(more) => more.saturating_add(1),
        None => 0,
    }
}

/// Where the variables of a header begin: the fixed variables after the header, the record
/// variables after them, and of both kinds each one after the one before
/// (`spec/cdf.md#variables`).
///
/// ```
/// use striae_core::cdf::Error;
/// use striae_core::cdf::layout::Sections;
/// use striae_core::span::Span;
///
/// let mut sections = Sections::default();
/// let (fixed, record) = (Span::new(512, 8).unwrap(), Span::new(516, 4).unwrap());
/// sections.add(fixed, 120, false)?;
/// sections.add(record, 160, true)?;
/// let [of_fixed, of_records] = sections.finish(200);
/// assert!(of_fixed.is_ok());
/// assert!(matches!(of_records, Err(Error::TooSmall { offset: 160, value: 516, min: 520, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sections {
    fixed: Section,
    record: Section,
}

/// The fixed variables, or the record variables of the first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Section {
    /// The `begin` of its first variable, and the offset of that field.
    first: Option<(u64, u64)>,
    end: u64,
}

impl Sections {
    /// Adds the next variable: its values, or those of its first record, and the offset of its
    /// `begin` in the header.
    ///
    /// # Errors
    /// [`Error::TooSmall`] if it begins before the end of the one before. It is added all the same.
    pub fn add(&mut self, first: Span, begin_at: u64, is_record: bool) -> Result<(), Error> {
        let section = if is_record { &mut self.record } else { &mut self.fixed };
        let begin = Some((first.offset(), begin_at));
        let checked = check_begin(begin, section.end);
        section.first = section.first.or(begin);
        section.end = section.end.max(first.end());
        checked
    }

    /// Checks the places of both sections, after all variables: the first fixed variable begins
    /// after the header of `header_len` bytes, and the first record after both.
    pub fn finish(&self, header_len: u64) -> [Result<(), Error>; 2] {
        let Self { fixed, record } = self;
        [check_begin(fixed.first, header_len), check_begin(record.first, header_len.max(fixed.end))]
    }

    /// The first record, from its first value to its last one; `None` if there is no record
    /// variable.
    #[must_use]
    pub fn first_record(&self) -> Option<Span> {
        let (begin, _) = self.record.first?;
        Span::between(begin, self.record.end)
    }
}

/// Checks that a variable does not begin before `min`.
fn check_begin(begin: Option<(u64, u64)>, min: u64) -> Result<(), Error> {
    match begin {
        Some((value, offset)) if value < min => {
            Err(Error::TooSmall { field: Var1::begin, offset, value, min })
        }
        _ => Ok(()),
    }
}

/// Finds variables with more bytes than their version allows: only the last fixed variable of a
/// file without records, or the last record variable, may have more, as no other begins after it
/// (`ncvalidator.c:1887`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeVars {
    version: Version,
    /// The last fixed and the last record variable, if it is large.
    last: [Option<u64>; 2],
}

impl LargeVars {
    /// Starts without variables.
    #[must_use]
    pub const fn new(version: Version) -> Self {
        Self { version, last: [None; 2] }
    }

    /// Adds the next variable, with `len` bytes, or `len` bytes in each record.
    ///
    /// # Errors
    /// The number of the variable that is too large: this one, or one before it.
    pub fn add(&mut self, varid: u64, len: u64, is_record: bool) -> Result<(), u64> {
        let [fixed, record] = &mut self.last;
        let last = if is_record { record } else { fixed };
        let is_large = len > self.version.max_len();
        let is_never_right = is_large && self.version == Version::Cdf5;
        let wrong = last.or(is_never_right.then_some(varid));
        *last = (is_large && !is_never_right).then_some(varid); // else it has been told
        wrong.map_or(Ok(()), Err)
    }

    /// The fixed variable that is too large if there are record variables after it.
    #[must_use]
    pub const fn not_last(self, has_records: bool) -> Option<u64> {
        let [fixed, _] = self.last;
        if has_records { fixed } else { None }
    }
}

/// The places of the values of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Layout {
    /// The span of all values, or of the values of the first record.
    pub first: Span,
    /// The bytes from one record to the next; `None` if the variable has no record dimension.
    pub recsize: Option<u64>,
    /// The bytes of a value.
    pub value_len: u64,
}

impl Layout {
    /// The span of the values of a record; `None` if the variable has no records, or if the end
    /// exceeds `u64::MAX`.
    #[must_use]
    pub const fn record(self, number: u64) -> Option<Span> {
        let Some(recsize) = self.recsize else { return None };
        match number.checked_mul(recsize) {
            None => None,
            Some(skip) => match self.first.offset().checked_add(skip) {
                None => None,
                Some(offset) => Span::new(offset, self.first.len()),
            },
        }
    }
}

/// A part of an array: for each dimension the first index, the number of indices and the stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region<'a> {
    /// The first index in each dimension.
    pub start: &'a [u64],
    /// The number of indices in each dimension.
    pub count: &'a [u64],
    /// The distance of indices in each dimension, at least 1; `None` if it is 1 in all dimensions.
    pub stride: Option<&'a [u64]>,
}

impl Region<'_> {
    /// The start, count and stride in a dimension.
    fn dim(&self, dim: usize) -> Option<[u64; 3]> {
        let stride = match self.stride {
            Some(stride) => *stride.get(dim)?,
            None => 1,
        };
        Some([*self.start.get(dim)?, *self.count.get(dim)?, stride])
    }
}

/// The places of the values of a region, as runs of bytes in the order of the values.
///
/// ```
/// use striae_core::cdf::layout::{Layout, Region, Slab};
/// use striae_core::span::Span;
///
/// // 4 x 5 values of 2 bytes, begin 100; of rows 1 and 3, columns 2 and 3
/// let layout = Layout { first: Span::new(100, 40).unwrap(), recsize: None, value_len: 2 };
/// let region = Region { start: &[1, 2], count: &[2, 2], stride: Some(&[2, 1]) };
/// let runs: Vec<_> = Slab::new(layout, &[4, 5], region)?.runs().collect();
/// assert_eq!(runs, [Span::new(114, 4).unwrap(), Span::new(134, 4).unwrap()]);
/// # Ok::<(), striae_core::cdf::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slab<'a> {
    layout: Layout,
    shape: &'a [u64],
    region: Region<'a>,
    /// The number of dimensions before those that are in a run.
    outer: usize,
    run_len: u64,
    count: u64,
    end: u64,
}

impl<'a> Slab<'a> {
    /// Makes the slab of a region of a variable. `shape` is the variable's lengths; the length of
    /// the record dimension is the number of records.
    ///
    /// # Errors
    /// [`Error::Rank`] if the region has another number of dimensions; [`Error::OutOfShape`] for an
    /// index that does not exist; [`Error::ZeroStride`] for a stride of 0; [`Error::Size`] if the
    /// end exceeds `u64::MAX`.
    pub fn new(layout: Layout, shape: &'a [u64], region: Region<'a>) -> Result<Self, Error> {
        let ndims = usize_to_u64(shape.len());
        for given in [region.start, region.count, region.stride.unwrap_or(shape)] {
            let given = usize_to_u64(given.len());
            if given != ndims {
                return Err(Error::Rank { ndims, given });
            }
        }
        let mut slab = Self {
            layout,
            shape,
            region,
            outer: shape.len(),
            run_len: layout.value_len,
            count: 1,
            end: layout.first.offset(),
        };
        slab.check()?;
        slab.join().ok_or(Error::Size { begin: layout.first.offset() })?;
        Ok(slab)
    }

    /// Checks that all indices exist.
    fn check(&self) -> Result<(), Error> {
        for (dim, &length) in (0..).zip(self.shape) {
            let [start, count, stride] = self.region.dim(dim).unwrap_or_default();
            let dim = usize_to_u64(dim);
            if stride == 0 {
                return Err(Error::ZeroStride { dim });
            }
            let last = count.saturating_sub(1).checked_mul(stride);
            let last = last.and_then(|last| last.checked_add(start)).unwrap_or(u64::MAX);
            if count != 0 && length <= last {
                return Err(Error::OutOfShape { dim, last, length });
            }
        }
        Ok(())
    }

    /// Finds how many of the last dimensions follow each other without a gap: these form a run.
    fn join(&mut self) -> Option<()> {
        let mut weight = self.layout.value_len; // bytes from one index to the next
        let (mut skip, mut is_joined) = (0_u64, true);
        for dim in (0..self.shape.len()).rev() {
            let [start, count, stride] = self.region.dim(dim)?;
            if dim == 0 {
                weight = self.layout.recsize.unwrap_or(weight);
            }
            is_joined = is_joined && weight == self.run_len && (stride == 1 || count == 1);
            if is_joined {
                (self.outer, self.run_len) = (dim, self.run_len.checked_mul(count)?);
            } else {
                self.count = self.count.checked_mul(count)?;
            }
            let last = count.saturating_sub(1).saturating_mul(stride).saturating_add(start);
            skip = skip.checked_add(last.checked_mul(weight)?)?;
            weight = weight.checked_mul(*self.shape.get(dim)?)?;
        }
        if self.is_empty() {
            (self.count, self.run_len) = (0, 0);
            return Some(());
        }
        let value = self.layout.first.offset().checked_add(skip)?;
        self.end = value.checked_add(self.layout.value_len)?;
        Some(())
    }

    /// Whether the region has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.region.count.contains(&0)
    }

    /// Whether the slab is one of a variable with this layout, and its shape has all values of it.
    pub(super) fn is_of(&self, layout: Layout) -> bool {
        let inner = match layout.recsize {
            Some(_) => self.shape.split_first().map(|(_, inner)| inner),
            None => Some(self.shape),
        };
        let lengths = inner.unwrap_or(&[0]).iter();
        let len = lengths.fold(layout.value_len, |len, &length| len.saturating_mul(length));
        self.layout == layout && len == layout.first.len()
    }

    /// The first and the last record of a region of a record variable; `None` if it has no values.
    pub(super) fn records(&self) -> Option<(u64, u64)> {
        let [start, count, stride] = self.region.dim(0).filter(|_| !self.is_empty())?;
        let last = count.saturating_sub(1).saturating_mul(stride).saturating_add(start);
        Some((start, last))
    }

    /// The bytes of all values.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count.saturating_mul(self.run_len)
    }

    /// The end of the last value.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The number of runs.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The run with this number, or `None` if there are fewer runs.
    #[must_use]
    pub fn run(&self, number: u64) -> Option<Span> {
        let mut rest = Some(number).filter(|&number| number < self.count)?;
        let mut weight = self.layout.value_len;
        let mut offset = self.layout.first.offset();
        for dim in (0..self.shape.len()).rev() {
            let [start, count, stride] = self.region.dim(dim)?;
            if dim == 0 {
                weight = self.layout.recsize.unwrap_or(weight);
            }
            let mut index = start;
            if dim < self.outer {
                index = rest.checked_rem(count)?.checked_mul(stride)?.checked_add(start)?;
                rest = rest.checked_div(count)?;
            }
            offset = offset.checked_add(index.checked_mul(weight)?)?;
            weight = weight.checked_mul(*self.shape.get(dim)?)?;
        }
        Span::new(offset, self.run_len)
    }

    /// All runs in order.
    pub fn runs(self) -> impl Iterator<Item = Span> {
        (0..self.count).map_while(move |number| self.run(number))
    }
}
