//! [`Table`]: a decomposition in a netCDF map (`spec/blob.md#netcdf-maps`).

use super::error::{Column, Error};
use super::grid::Request;
use crate::blob::names::Named;
use crate::cdf::{self, Attr, Reader, Type, Variable};
use crate::span::{Span, Stride};
use crate::step::{DriveError, read_exact};
use crate::store::ReadAt;
use core::num::NonZeroU32;
use zerocopy::FromBytes;
use zerocopy::big_endian::I32;

/// How the requests of a rank are found in a netCDF map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rule {
    /// They begin after all requests of the ranks before: as the writers of maps store them.
    #[default]
    Nreqs,
    /// They begin at the sum of `fill_starts` of the ranks before. So E3SM-IO reads maps without
    /// `-u` (`read_decomp.cpp:265`). It is wrong if a rank has requests that fill holes.
    FillStarts,
}

/// The requests of a rank in the table of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Place {
    /// The number of the first request.
    pub start: u64,
    /// The number of requests.
    pub count: u64,
}

/// Adds up the numbers of requests of each rank, in the order of ranks.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    id: NonZeroU32,
    rule: Rule,
    total: u64,
    rank: u64,
    start: u64,
}

impl Ranks {
    /// The ranks of decomposition `id`, which has `total` requests.
    #[must_use]
    pub const fn new(id: NonZeroU32, rule: Rule, total: u64) -> Self {
        Self { id, rule, total, rank: 0, start: 0 }
    }

    /// The place of the next rank's requests, without those that fill holes. `fill_starts` is
    /// missing in old maps.
    ///
    /// # Errors
    /// [`Error::Rank`] for a number that is negative, or larger than `nreqs`; [`Error::Total`].
    pub fn next(&mut self, nreqs: i32, fill_starts: Option<i32>) -> Result<Place, Error> {
        let (id, rank) = (self.id, self.rank);
        let wrong = |column, value: i32| Error::Rank { id, column, rank, value: value.into() };
        let all = u64::try_from(nreqs).map_err(|_| wrong(Column::Nreqs, nreqs))?;
        let count = match fill_starts {
            None => all,
            Some(fill_starts) => {
                let count = u64::try_from(fill_starts).ok().filter(|&count| count <= all);
                count.ok_or(wrong(Column::FillStarts, fill_starts))?
            }
        };
        let place = Place { start: self.start, count };
        let end = self.start.saturating_add(match self.rule {
            Rule::Nreqs => all,
            Rule::FillStarts => count,
        });
        if self.total < end {
            return Err(Error::Total { id, rank, end, total: self.total });
        }
        (self.rank, self.start) = (rank.saturating_add(1), end);
        Ok(place)
    }

    /// The end of the requests of all ranks so far.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.start
    }
}

/// The places of the values of a decomposition. All values are big-endian integers of 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Table {
    /// The number of the decomposition, from 1.
    pub id: NonZeroU32,
    /// The lengths of the array's dimensions, the slowest first.
    pub dims: Span,
    /// `nreqs` of each rank.
    pub nreqs: Span,
    /// `fill_starts` of each rank; old maps have none.
    pub fill_starts: Option<Span>,
    /// `offsets` of each request.
    pub offsets: Span,
    /// `lengths` of each request.
    pub lengths: Span,
}

/// The bytes of a value.
const VALUE: u64 = 4;

type Result2<T, S> = Result<T, DriveError<<S as ReadAt>::Error, Error>>;

impl Table {
    /// The places of decomposition `id` in a netCDF file, all of which must be in the file.
    /// `window` is for the header; see [`Reader::open`].
    ///
    /// # Errors
    /// [`Error::Column`]; see [`Reader::variable`].
    pub fn find<S: ReadAt>(
        file: &Reader<'_, S>,
        id: NonZeroU32,
        window: &mut [u8],
    ) -> Result2<Self, S> {
        let mut variables = [None; Self::VARIABLES.len()];
        for (column, place) in Self::VARIABLES.into_iter().zip(&mut variables) {
            let variable = file.variable(Named::new(id, column.suffix()).as_bytes(), window);
            *place = variable.map_err(from_cdf)?;
        }
        let dims = file.attr(None, Named::new(id, Column::Dims.suffix()).as_bytes(), window);
        let dims = dims.map_err(from_cdf)?;
        Self::of(id, (variables, dims), file.head().file_len).map_err(DriveError::Format)
    }

    /// The columns that are variables.
    pub const VARIABLES: [Column; 4] =
        [Column::Nreqs, Column::FillStarts, Column::Offsets, Column::Lengths];

    /// The places of decomposition `id` in a file of `file_len` bytes, whose header was read
    /// otherwise: the [`VARIABLES`](Self::VARIABLES), and the attribute with the dimensions.
    ///
    /// # Errors
    /// [`Error::Column`].
    pub fn of(
        id: NonZeroU32,
        (variables, dims): ([Option<Variable>; Self::VARIABLES.len()], Option<Attr>),
        file_len: u64,
    ) -> Result<Self, Error> {
        let wrong = |column| Error::Column { id, column };
        let place = |column, variable: Option<Variable>| {
            let Some(variable) = variable else { return Ok(None) };
            let first = variable.layout.first;
            let is_table = variable.var.nc_type == Type::Int
                && variable.var.ndims == 1
                && variable.layout.recsize.is_none()
                && first.fits(file_len);
            if is_table { Ok(Some(first)) } else { Err(wrong(column)) }
        };
        let [nreqs, fill_starts, offsets, lengths] = variables;
        let nreqs = place(Column::Nreqs, nreqs)?.ok_or(wrong(Column::Nreqs))?;
        let fill_starts = place(Column::FillStarts, fill_starts)?;
        let offsets = place(Column::Offsets, offsets)?.ok_or(wrong(Column::Offsets))?;
        let lengths = place(Column::Lengths, lengths)?.ok_or(wrong(Column::Lengths))?;
        if fill_starts.is_some_and(|fill_starts| fill_starts.len() != nreqs.len()) {
            return Err(wrong(Column::FillStarts));
        }
        if offsets.len() != lengths.len() {
            return Err(wrong(Column::Lengths));
        }
        let dims = dims.filter(|attr| attr.nc_type == Type::Int);
        let dims = dims.ok_or(wrong(Column::Dims))?.values;
        Ok(Self { id, dims, nreqs, fill_starts, offsets, lengths })
    }

    /// The number of ranks.
    #[must_use]
    pub const fn nprocs(&self) -> u64 {
        self.nreqs.len() / VALUE
    }

    /// The number of requests of all ranks.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.offsets.len() / VALUE
    }

    /// The requests at `place`, in windows: reads as many of the first ones as fit into `offsets`
    /// and `lengths`, 4 bytes each, and returns them.
    ///
    /// # Errors
    /// The store's own error.
    pub fn requests<'w, S: ReadAt>(
        &self,
        store: &S,
        place: Place,
        offsets: &'w mut [u8],
        lengths: &'w mut [u8],
    ) -> Result2<impl Iterator<Item = [i32; 2]> + 'w, S> {
        let skip = place.start.saturating_mul(VALUE);
        let len = place.count.saturating_mul(VALUE);
        let (room, other) = (offsets.len(), lengths.len());
        let room = crate::store::usize_to_u64(room.min(other)) & !3;
        let span = |column: Span| column.part(skip, len.min(room)).unwrap_or(Span::ZERO);
        let (offsets_at, lengths_at) = (span(self.offsets), span(self.lengths));
        let offsets = offsets_at.front_of(offsets);
        let lengths = lengths_at.front_of(lengths);
        store.will_read(&[Stride::one(offsets_at), Stride::one(lengths_at)]);
        read_exact(store, offsets_at.offset(), offsets)?;
        read_exact(store, lengths_at.offset(), lengths)?;
        Ok(values(offsets).zip(values(lengths)).map(|(offset, len)| [offset, len]))
    }
}

/// The integers that some bytes are.
pub fn values(bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
    <[I32]>::ref_from_prefix_with_elems(bytes, bytes.len() / 4)
        .map_or(&[][..], |(values, _)| values)
        .iter()
        .map(|value| value.get())
}

/// The request that a pair of values is; `None` if one is negative.
#[must_use]
pub fn request([offset, len]: [i32; 2]) -> Option<Request> {
    Some(Request { offset: u64::try_from(offset).ok()?, len: u64::try_from(len).ok()? })
}

fn from_cdf<E>(error: DriveError<E, cdf::Error>) -> DriveError<E, Error> {
    error.map_format(Error::from)
}
