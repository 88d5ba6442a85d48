//! The findings of verifying a map.

use crate::finding::{Count, Facts, error_facts, findings};
use core::num::NonZeroU32;
use striae_core::blob::find::Run;
use striae_core::blob::map::Error;

findings! {
    /// A problem or an unusual fact in a decomposition map.
    pub enum FindingKind;

    /// A request has elements outside of the array. E3SM-IO writes such requests to blob files.
    Damage "outside" Outside {
        id: NonZeroU32,
        /// The request; its blob is the rank, its position the number of the request.
        request: Run,
        total: u64,
    }
    |facts| of_run(facts, *id, request).max(*total)
    => "D{id}: {} ends after the array of {total} elements", Named(request);

    /// An element of a text map is larger than the array. E3SM-IO leaves it out.
    Damage "beyond" Beyond {
        id: NonZeroU32,
        rank: u64,
        /// The number of the element in the rank's list.
        index: u64,
        /// The line, and the offset of the number in the file.
        line: u64,
        /// The offset of the number in the file.
        offset: u64,
        /// The element, from 1.
        element: u64,
        total: u64,
    }
    |facts| Facts {
        line: Some(*line),
        offset: Some(*offset),
        ..of_element(facts, *id, *rank, *index).value(*element).max(*total)
    }
    => "D{id}: line {line}, offset {offset}: element {index} of rank {rank} is {element}, the \
        array has {total}";

    /// The file ends directly after a digit: the last number may lack digits.
    Damage "no_end" NoEnd {
        id: NonZeroU32,
        /// The last line.
        line: u64,
        /// The end of the file.
        offset: u64,
    }
    |facts| Facts {
        decomposition: Some(id.get()),
        line: Some(*line),
        offset: Some(*offset),
        ..facts
    }
    => "D{id}: line {line}, offset {offset}: the file ends after a digit: its last number may lack \
        digits";

    /// Two requests of a rank have elements in common. E3SM-IO merges them to one request of both
    /// lengths, which has elements that the rank does not have.
    Damage "overlap_in_rank" Inside {
        id: NonZeroU32,
        /// The request that begins first.
        first: Run,
        /// The request that begins inside of it.
        second: Run,
    }
    |facts| of_run(facts, *id, second)
    => "D{id}: {} overlaps {}", Named(second), Named(first);

    /// Requests of two ranks have elements in common: both ranks write them.
    Damage "overlap" Across {
        id: NonZeroU32,
        /// The request that begins first.
        first: Run,
        /// The request that begins inside of it.
        second: Run,
    }
    |facts| of_run(facts, *id, second)
    => "D{id}: {} overlaps {}", Named(second), Named(first);

    /// A request has no elements.
    Note "empty" Empty { id: NonZeroU32, request: Run }
    |facts| of_run(facts, *id, request)
    => "D{id}: {} has no elements", Named(request);

    /// No rank has some elements of the array: the place of the first hole, the number of holes,
    /// and the number of all elements in holes as the value.
    Note "hole" Hole {
        id: NonZeroU32,
        /// The first element of the first hole, from 0.
        offset: u64,
        /// The number of elements of the first hole.
        len: u64,
        /// The number of holes.
        count: u64,
        /// The number of elements of all holes.
        elements: u64,
    }
    |facts| Facts { decomposition: Some(id.get()), ..facts.span(*offset, *len) }
        .count(*count)
        .value(*elements)
    => "D{id}: no rank has {} in {}, the first of {} from {offset} on",
        Count(*elements, "element"), Count(*count, "hole"), Count(*len, "element");

    /// Some ranks have requests that fill holes. E3SM-IO without `-u` then reads wrong requests for
    /// the ranks from this one on.
    Note "fills" Fills {
        id: NonZeroU32,
        /// The first rank that E3SM-IO reads wrongly.
        rank: u64,
        /// The number of requests that fill holes.
        count: u64,
    }
    |facts| Facts { decomposition: Some(id.get()), rank: Some(*rank), ..facts.count(*count) }
    => "D{id}: {count} requests fill holes; E3SM-IO without -u reads wrong requests from rank \
        {rank} on";

    /// There are requests after those of all ranks.
    Note "unused" Unused { id: NonZeroU32, count: u64 }
    |facts| Facts { decomposition: Some(id.get()), ..facts.count(*count) }
    => "D{id}: {count} requests belong to no rank";

    reading
    also
    /// The map is damaged.
    Damage Wrong(Error) error_facts, ERRORS;
}

/// A request in texts.
struct Named<'a>(&'a Run);

impl core::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Run { offset, len, place } = *self.0;
        write!(
            f,
            "request {} of rank {} ({len} elements from {offset})",
            place.position, place.blob
        )
    }
}

fn of_element(facts: Facts, id: NonZeroU32, rank: u64, index: u64) -> Facts {
    Facts { decomposition: Some(id.get()), rank: Some(rank), index: Some(index), ..facts }
}

fn of_run(facts: Facts, id: NonZeroU32, run: &Run) -> Facts {
    of_element(facts, id, run.place.blob.into(), run.place.position).span(run.offset, run.len)
}

error_facts! {
    /// What an error of a map says, as values.
    pub fn error_facts(Error), Damage ERRORS;

    /// A text map breaks the grammar. A rank that is too large, or not larger than the one before,
    /// is left out.
    "text" Text { line, offset, flaw: _ }
        |facts| Facts { line: Some(line), offset: Some(offset), ..facts };
    /// A variable or an attribute of a netCDF map is missing, or has a wrong type or shape.
    "column" Column { id, column: _ } |facts| Facts { decomposition: Some(id.get()), ..facts };
    /// A number of a rank is negative or too large.
    "number" Rank { id, column: _, rank, value }
        |facts| Facts { decomposition: Some(id.get()), rank: Some(rank), ..facts }.value(value);
    /// A rank has requests that the file does not have.
    "too_few" Total { id, rank, end, total }
        |facts| Facts { decomposition: Some(id.get()), rank: Some(rank), ..facts }
            .value(end)
            .max(total);
    /// The array has no elements, or more than 2^64 - 1.
    "grid" Grid { id } |facts| Facts { decomposition: Some(id.get()), ..facts };
    /// A netCDF file has no decompositions: it is not a map.
    "not_map" NotMap {} |facts| facts;
    /// The header breaks the grammar of netCDF.
    "header" Cdf { 0: ref error }
        |facts| Facts { kind: facts.kind, ..crate::cdf::error_facts(error) };
}
