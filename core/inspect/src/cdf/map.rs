//! Whose bytes are where in a file.

use super::header::Header;
use crate::map::{Body, Kind, Map, Region, up_to};
use crate::subject::{Failed, Subject};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::cdf::Error;
use striae_core::span::Span;
use striae_core::step::DriveError;

/// Opens a map of a file. The memory is that of [`Header`].
///
/// # Errors
/// An error in the header; an error of the store.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Error>, Failed<S, Error>> {
    let header = Header::read(store)?;
    let file_len = header.head().file_len;
    let span = Span::new(0, header.head().header_len).unwrap_or(Span::ZERO);
    let parts = vec![Region::table(span, Kind::Header, "header")];
    let map = Map::new(store, file_len, parts, Variables::new(&header), ("variable", None));
    map.map_err(DriveError::Store)
}

/// The values of a variable, or those of its first record.
#[derive(Clone, Copy)]
struct Values {
    span: Span,
    varid: u64,
}

/// The variables in the order of their places.
pub(crate) struct Variables {
    fixed: Vec<Values>,
    record: Vec<Values>,
    recsize: u64,
    /// The end of the last record.
    end: u64,
}

impl Variables {
    pub(crate) fn new(header: &Header) -> Self {
        let of = |is_record| {
            let variables = header.variables().filter(|one| one.is_record() == is_record);
            let values =
                |one: super::Variable<'_>| Values { span: one.layout().first, varid: one.varid() };
            variables.map(values).collect::<Vec<_>>()
        };
        let (fixed, record) = (of(false), of(true));
        let recsize = header.head().recsize;
        let end = record.first().map_or(0, |first| {
            let records = recsize.saturating_mul(header.numrecs());
            first.span.offset().saturating_add(records)
        });
        Self { fixed, record, recsize, end }
    }
}

/// The region at `offset` among values that are in order and moved by `skip`; it ends at `end` if
/// no values do.
fn among(values: &[Values], offset: u64, skip: u64, end: u64) -> Region {
    let place = offset.saturating_sub(skip);
    let next = values.partition_point(|values| values.span.end() <= place);
    let Some(Values { span, varid }) = values.get(next) else {
        return Region::of(up_to(offset, end), Kind::Unclaimed, None);
    };
    match span.offset() <= place {
        true => {
            let rest = up_to(offset, span.end().saturating_add(skip));
            Region::of(rest, Kind::Data, Some(*varid))
        }
        false => {
            let rest = up_to(offset, span.offset().saturating_add(skip));
            Region::of(rest, Kind::Unclaimed, None)
        }
    }
}

impl<S: Subject, F> Body<S, F> for Variables {
    fn at(&mut self, _: &S, offset: u64) -> Result<Region, Failed<S, F>> {
        let start = self.record.first().map_or(u64::MAX, |first| first.span.offset());
        if offset < start {
            return Ok(among(&self.fixed, offset, 0, start));
        }
        if offset >= self.end {
            return Ok(Region::of(up_to(offset, u64::MAX), Kind::Unclaimed, None));
        }
        let number = offset.saturating_sub(start).checked_div(self.recsize).unwrap_or(0);
        let skip = number.saturating_mul(self.recsize);
        let next = start.saturating_add(skip).saturating_add(self.recsize);
        Ok(among(&self.record, offset, skip, next))
    }
}
