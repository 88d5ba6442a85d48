//! Reading variables of a set and regions of them.

use super::runs;
use super::set::Set;
use super::tasks::{Scratch, Task};
use crate::cdf::ErrorKind as CdfError;
use crate::each::{all_processors, for_each};
use crate::error::Error;
use std::num::NonZeroUsize;
use striae_core::cdf::{self, Layout, Region, Slab};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::{Element, Variable};
use zerocopy::{FromBytes, IntoBytes};

/// A thread reads at least as many values.
const FEW: u64 = 1 << 16;

/// The most values of records that are read together: a file may claim any number of records.
pub(crate) const MOST_TASKS: usize = 1 << 16;

/// A region that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    start: Vec<u64>,
    count: Vec<u64>,
    stride: Vec<u64>,
}

impl Part {
    pub(crate) fn new(region: Region<'_>) -> Self {
        let (start, count) = (region.start.to_vec(), region.count.to_vec());
        let stride = region.stride.map_or_else(|| vec![1; count.len()], <[u64]>::to_vec);
        Self { start, count, stride }
    }

    pub(crate) fn region(&self) -> Region<'_> {
        Region { start: &self.start, count: &self.count, stride: Some(&self.stride) }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> u64 {
        self.count.iter().fold(1, |len, &count| len.saturating_mul(count))
    }

    /// Regions of at most `most` values, at least one, whose values follow each other.
    pub(crate) fn split(self, most: u64) -> impl Iterator<Item = Self> {
        let mut rest = vec![self]; // at most one for each dimension, and one
        std::iter::from_fn(move || {
            loop {
                let part = rest.pop()?;
                let len = part.len();
                if len > most.max(1) {
                    let (first, others) = part.cut(most)?;
                    rest.extend([others, first]);
                } else if len > 0 {
                    return Some(part);
                }
            }
        })
    }

    /// Cuts a region of more than one value at an index of its first dimension that has several.
    fn cut(self, most: u64) -> Option<(Self, Self)> {
        let dim = self.count.iter().position(|&count| count > 1)?;
        let inner = self.count.get(dim.checked_add(1)?..)?;
        let inner = inner.iter().fold(1_u64, |len, &count| len.saturating_mul(count));
        let step = most.checked_div(inner).unwrap_or(1).max(1);
        let (mut first, mut others) = (self.clone(), self);
        *first.count.get_mut(dim)? = step;
        let left = others.count.get_mut(dim)?;
        *left = left.saturating_sub(step);
        let skip = step.saturating_mul(*others.stride.get(dim)?);
        let start = others.start.get_mut(dim)?;
        *start = start.saturating_add(skip);
        Some((first, others))
    }
}

impl Set {
    /// Reads all values of a variable, in C order; records are the first dimension.
    ///
    /// # Errors
    /// As [`read_region`](Self::read_region).
    pub fn read<T: Element>(&self, variable: Variable<'_>) -> Result<Vec<T>, Error> {
        let start = vec![0; variable.shape().len()];
        self.read_region(variable, crate::cdf::whole(variable, &start))
    }

    /// Reads the values of a region, in C order.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into); an error of the operating system if there is no memory
    /// for the values.
    pub fn read_region<T: Element>(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
    ) -> Result<Vec<T>, Error> {
        let len = self.check(variable, region)?;
        let values = usize::try_from(len).ok().and_then(|len| T::new_vec_zeroed(len).ok());
        let no_room = || self.error(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        let mut values = values.ok_or_else(no_room)?;
        self.read_into(variable, region, &mut values)?;
        Ok(values)
    }

    /// Reads the values of a region into `values`, which must have exactly their number. Elements
    /// that no subfile has get the [fill value](Self::fill_value).
    ///
    /// # Errors
    /// - [`NotOfType`](crate::cdf::ErrorKind::NotOfType) if the values have another type.
    /// - [`Len`](crate::cdf::ErrorKind::Len) if `values` has another length.
    /// - [`Variable`](crate::cdf::ErrorKind::Variable) if the variable does not have the region.
    /// - An error of the operating system that says nothing about a subfile.
    pub fn read_into<T: Element>(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        values: &mut [T],
    ) -> Result<(), Error> {
        let (name, nc_type) = (variable.name(), variable.nc_type());
        if !T::holds(nc_type) {
            return Err(self.error(CdfError::NotOfType { name: name.into(), nc_type }));
        }
        self.fill(variable, region, None, ByteOrder::HOST, values.as_mut_bytes())
    }

    /// Reads the values of a region in big-endian order, as the canonical file has them. `bytes`
    /// must have exactly their length. Elements that no subfile has get `fill`, which is
    /// big-endian, or the [fill value](Self::fill_value) if it is `None`.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into), except `NotOfType`.
    pub fn read_bytes_into(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        fill: Option<[u8; 8]>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        self.fill(variable, region, fill, ByteOrder::Big, bytes)
    }

    /// Calls `each` with the values of a region in big-endian order, piece by piece, until it
    /// returns `false`. Pieces end between values. The memory is that of the
    /// [option](super::OpenOptions::buffer).
    ///
    /// # Errors
    /// As [`read_bytes_into`](Self::read_bytes_into), except `Len`.
    pub fn read_pieces(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        fill: Option<[u8; 8]>,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        self.check(variable, region)?;
        let width = variable.nc_type().size();
        let most = usize_to_u64(self.options.memory()).checked_div(width).unwrap_or(1);
        let mut bytes = Vec::new();
        for part in Part::new(region).split(most) {
            let len = part.len().saturating_mul(width);
            runs::resize(&mut bytes, len).map_err(|error| self.error(error))?;
            self.fill(variable, part.region(), fill, ByteOrder::Big, &mut bytes)?;
            if !each(&bytes) {
                break;
            }
        }
        Ok(())
    }

    /// Reads all values of several variables, each to its place in `out`, with the value of its
    /// elements that no subfile has. Each subfile is opened once.
    pub(crate) fn read_many(
        &self,
        places: &[(Variable<'_>, usize, [u8; 8])],
        order: ByteOrder,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let mut plans = Vec::new();
        for &(variable, start, fill) in places {
            let Some(decomposition) = self.decomposition(variable) else {
                let len = usize::try_from(variable.len()).unwrap_or(usize::MAX);
                let room = out.get_mut(start..).and_then(|rest| rest.get_mut(..len));
                let zero = vec![0; variable.shape().len()];
                let all = crate::cdf::whole(variable, &zero);
                let values = (order, fill);
                self.read_part(variable, all, values, room.unwrap_or_default(), scratch)?;
                continue;
            };
            let layout = variable.layout();
            let total = layout.first.len().checked_div(layout.value_len).unwrap_or(0);
            let all = Region { start: &[0], count: &[total], stride: None };
            let plan = self.plan(decomposition.saturating_sub(1), &[total], all)?;
            plans.push((variable, start, fill, plan));
        }
        let tasks = plans.iter().flat_map(|&(variable, start, fill, ref plan)| {
            let index = usize::try_from(variable.varid()).unwrap_or(usize::MAX);
            let len = usize::try_from(variable.layout().first.len()).unwrap_or(usize::MAX);
            let numrecs = if variable.is_record() { self.header().numrecs() } else { 1 };
            let numrecs = if len == 0 { 0 } else { numrecs };
            (0..numrecs).zip(0_usize..).map(move |(record, n)| {
                let at = start.saturating_add(n.saturating_mul(len));
                Task { plan, variable: index, record, at, fill }
            })
        });
        self.read_some(tasks, order, out, scratch)
    }

    /// Reads any number of values, with memory for some of them.
    fn read_some<'p>(
        &self,
        mut tasks: impl Iterator<Item = Task<'p>>,
        order: ByteOrder,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        loop {
            let some: Vec<_> = tasks.by_ref().take(MOST_TASKS).collect();
            if some.is_empty() {
                return Ok(());
            }
            self.read_tasks(&some, order, out, scratch)?;
        }
    }

    /// The number of values of a region, if the variable has it.
    fn check(&self, variable: Variable<'_>, region: Region<'_>) -> Result<u64, Error> {
        let slab = slab(variable.shape(), region);
        let name = || variable.name().into();
        let slab = slab.map_err(|error| self.error(CdfError::Variable { name: name(), error }))?;
        Ok(slab.len())
    }

    fn fill(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        fill: Option<[u8; 8]>,
        order: ByteOrder,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let width = variable.nc_type().size();
        let len = self.check(variable, region)?.saturating_mul(width);
        let given = usize_to_u64(out.len());
        if given != len {
            return Err(self.error(CdfError::Len { given, len }));
        }
        if len == 0 {
            return Ok(()); // however many records of no values there are
        }
        let values = (order, fill.unwrap_or_else(|| self.fill_value(variable)));
        let count = len.checked_div(width).unwrap_or(0);
        let threads = self.options.nthreads().unwrap_or_else(all_processors);
        let most = count.div_ceil(usize_to_u64(threads.get())).max(FEW);
        let parts: Vec<_> = Part::new(region).split(most).collect(); // one for each thread
        if self.decomposition(variable).is_none() || parts.len() < 2 {
            return self.read_part(variable, region, values, out, &mut Scratch::default());
        }
        let mut rest = out;
        let mut chunks = Vec::new();
        for part in parts {
            let len = part.len().saturating_mul(width);
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(len);
            chunks.push(Ok((part, front)));
            rest = behind;
        }
        let threads = NonZeroUsize::new(chunks.len()).map_or(threads, |n| n.min(threads));
        for_each(chunks.into_iter(), threads, || {
            let mut scratch = Scratch::default();
            move |(part, out): (Part, &mut [u8])| {
                self.read_part(variable, part.region(), values, out, &mut scratch)
            }
        })
    }

    /// Reads a region into `out`. Elements that no subfile has get `fill`, which is big-endian.
    fn read_part(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        (order, fill): (ByteOrder, [u8; 8]),
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let index = usize::try_from(variable.varid()).unwrap_or(usize::MAX);
        let shape = variable.shape();
        let Some(decomposition) = self.decomposition(variable) else {
            let spans = |layout: Layout| -> Result<Vec<Span>, cdf::Error> {
                Ok(Slab::new(layout, shape, region)?.runs().collect())
            };
            return self.read_whole(index, &spans, (order, fill), out);
        };
        let skip = usize::from(variable.is_record());
        let inner = |values: &[u64]| values.get(skip..).unwrap_or_default().to_vec();
        let part = Part::new(region);
        let (start, count, stride) = (inner(&part.start), inner(&part.count), inner(&part.stride));
        let of_record = Region { start: &start, count: &count, stride: Some(&stride) };
        let plan = self.plan(decomposition.saturating_sub(1), &inner(shape), of_record)?;

        let len = count.iter().fold(variable.nc_type().size(), |len, n| len.saturating_mul(*n));
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let records = match (part.start.first(), part.count.first(), part.stride.first()) {
            (Some(&first), Some(&count), Some(&stride)) if skip == 1 => {
                (0..count).map(|n| first.saturating_add(n.saturating_mul(stride))).collect()
            }
            _ => vec![0],
        };
        let task = |(n, record): (usize, u64)| Task {
            plan: &plan,
            variable: index,
            record,
            at: n.saturating_mul(len),
            fill,
        };
        let tasks: Vec<_> = records.into_iter().enumerate().map(task).collect();
        self.read_tasks(&tasks, order, out, scratch)
    }
}

/// The places of a region in an array of this shape, in values.
pub(super) fn slab<'a>(shape: &'a [u64], region: Region<'a>) -> Result<Slab<'a>, cdf::Error> {
    let layout = Layout { first: Span::ZERO, recsize: None, value_len: 1 };
    Slab::new(layout, shape, region)
}

/// Fills memory with a value, which is big-endian.
pub(crate) fn fill_with(out: &mut [u8], value: [u8; 8], width: u64, order: ByteOrder) {
    fn fill<const N: usize>(out: &mut [u8], value: [u8; 8], order: ByteOrder) {
        let Some(&value) = value.first_chunk::<N>() else { return };
        let mut value = value;
        if order == ByteOrder::Little {
            value.reverse();
        }
        if let Ok(out) = <[[u8; N]]>::mut_from_bytes(out) {
            out.fill(value);
        }
    }
    match width {
        1 => fill::<1>(out, value, order),
        2 => fill::<2>(out, value, order),
        4 => fill::<4>(out, value, order),
        _ => fill::<8>(out, value, order),
    }
}
