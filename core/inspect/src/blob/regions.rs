//! Whose bytes are where in a subfile.

use super::container::{Container, container, datasets};
use super::flaw::Flaw;
use super::grammar::read_header;
use super::sealed::Sealed;
use super::subfile::{Head, Subfile};
use crate::cdf::Variables;
use crate::map::{Body, Kind, Map, Region, up_to};
use crate::subject::{Failed, Subject};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

/// Opens a map of a subfile, with its seal. The owners of data are variables in CDF-5, which is
/// variable-centric, and blobs in HDF5.
///
/// # Errors
/// [`Flaw`] if the netCDF header of CDF-5 or the container is damaged; an error of the store. Other
/// damage is that of the map.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Flaw>, Failed<S, Flaw>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    let (known, damage) = match examine(store) {
        Ok(known) => (Some(known), None),
        Err(DriveError::Format(flaw)) => (None, Some(flaw)),
        Err(error) => return Err(error),
    };
    let front = |len| Span::new(0, len).unwrap_or(Span::ZERO);
    let (seals, places) = known.unwrap_or_default();
    let map = if container(store)? == Container::Cdf {
        let header = read_header(store, ByteOrder::Big)?;
        let header_len = header.head().header_len;
        let mut parts = vec![Region::table(front(header_len), Kind::Header, "header")];
        parts.extend(seals);
        Map::new(store, file_len, parts, Variables::new(&header), ("variable", damage))
    } else {
        let (header, data) = datasets(store)?;
        let mut parts = vec![
            Region::table(front(header.offset()), Kind::Header, "HDF5"),
            Region::table(header, Kind::Header, "header_blob"),
        ];
        parts.extend(seals);
        Map::new(store, file_len, parts, Blobs { data, places }, ("blob", damage))
    };
    map.map_err(DriveError::Store)
}

/// The tables of the seal, and the places of the blobs of an HDF5 file.
fn examine<S: Subject>(store: &S) -> Result<(Vec<Region>, Vec<Place>), Failed<S, Flaw>> {
    let head = Head::read(store)?;
    let subfile = Subfile::examine(store, &head, &mut Err)?;
    let mut seals = Vec::new();
    if let Some(sealed) = Sealed::read(store, &head, subfile.numrecs)? {
        let facts = sealed.seal().facts();
        let places = facts.shape.places(head.gap(), facts.tie.is_some());
        for place in places.into_iter().flatten() {
            seals.push(Region::table(place.head, Kind::Checksums, "seal"));
            if !place.tie.is_empty() {
                seals.push(Region::table(place.tie, Kind::Checksums, "seal tie"));
            }
            seals.push(Region::table(place.table, Kind::Checksums, "seal table"));
        }
    }
    let last = head.grammar.locals.len().checked_sub(1);
    let place = |blob| {
        let [first, ..] = subfile.map_parts(blob, 0)?;
        let [.., last] = subfile.map_parts(blob, last?)?;
        Some(Place { start: first.offset(), values: last.end() })
    };
    let blobs = (0..subfile.found).filter(|_| head.data.is_some()).filter_map(place);
    Ok((seals, blobs.collect()))
}

/// Where a blob starts with its part of the decompositions, and where its values start.
struct Place {
    start: u64,
    values: u64,
}

/// The blobs of an HDF5 file, in order.
struct Blobs {
    data: Span,
    places: Vec<Place>,
}

impl<S: Subject> Body<S, Flaw> for Blobs {
    fn at(&mut self, _: &S, offset: u64) -> Result<Region, Failed<S, Flaw>> {
        let Self { data, places } = self;
        if offset < data.offset() || offset >= data.end() {
            let end = if offset < data.offset() { data.offset() } else { u64::MAX };
            return Ok(Region::of(up_to(offset, end), Kind::Unclaimed, None));
        }
        let next = places.partition_point(|place| place.start <= offset);
        let end = places.get(next).map_or(data.end(), |place| place.start);
        let Some((blob, place)) = next.checked_sub(1).and_then(|n| Some((n, places.get(n)?)))
        else {
            return Ok(Region::of(up_to(offset, end), Kind::Unknown, None));
        };
        let (end, kind) = match offset < place.values {
            true => (place.values, Kind::Index),
            false => (end, Kind::Data),
        };
        Ok(Region::of(up_to(offset, end), kind, Some(usize_to_u64(blob))))
    }
}
