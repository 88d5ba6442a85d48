//! The findings of verifying a blob set.

use super::Flaw;
use super::facts::{FLAWS, TABLES, flaw_facts, table_facts};
use crate::finding::{Facts, Found, Severity, findings};
use crate::report::Ending;
use crate::{cdf, finding::Count};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::num::NonZeroU32;
use embedded_io::ErrorKind;
use striae_core::blob::Error;
use striae_core::blob::find::Run;
use striae_core::blob::map::Request;

/// A finding in a blob set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetFinding {
    /// In a CDF-5 subfile, as in any netCDF file, or in the header of an HDF5 subfile.
    Cdf(cdf::FindingKind),
    /// In the set.
    Set(FindingKind),
}

impl From<FindingKind> for SetFinding {
    fn from(kind: FindingKind) -> Self {
        Self::Set(kind)
    }
}

impl crate::finding::sealed::Sealed for SetFinding {}

impl Found for SetFinding {
    fn severity(&self) -> Severity {
        match self {
            Self::Cdf(kind) => kind.severity(),
            Self::Set(kind) => kind.severity(),
        }
    }

    fn facts(&self) -> Facts {
        match self {
            Self::Cdf(kind) => kind.facts(),
            Self::Set(kind) => kind.facts(),
        }
    }
}

impl fmt::Display for SetFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cdf(kind) => kind.fmt(f),
            Self::Set(kind) => kind.fmt(f),
        }
    }
}

impl Ending<Flaw> for SetFinding {
    fn wrong(flaw: Flaw) -> Self {
        Self::Set(match flaw {
            Flaw::Format(error) => FindingKind::Tables(error),
            flaw => FindingKind::Wrong(flaw),
        })
    }

    fn ended(offset: u64) -> Self {
        Self::Set(FindingKind::Ended { offset })
    }

    fn unreadable(_: ErrorKind, message: String) -> Self {
        Self::Set(FindingKind::Unreadable { message })
    }
}

/// A request of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Of {
    /// The decomposition.
    pub id: NonZeroU32,
    /// The blob.
    pub blob: u32,
    /// The number of the request in the blob's list.
    pub index: u64,
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, blob, index } = *self;
        write!(f, "D{id}: request {index} of blob {blob}")
    }
}

impl Of {
    fn facts(self, facts: Facts) -> Facts {
        let Self { id, blob, index } = self;
        let (decomposition, blob) = (Some(id.get()), Some(blob.into()));
        Facts { decomposition, blob, index: Some(index), ..facts }
    }
}

findings! {
    /// A problem or an unusual fact in a blob set.
    pub enum FindingKind;

    /// Subfiles of the set are missing, from this one up to number `last`.
    Damage "missing" Missing {
        /// The first one.
        first: u32,
        /// The last one.
        last: u32,
    }
    |facts| facts.count(u64::from(last.saturating_sub(*first)).saturating_add(1)),
    |f| match first == last {
        true => write!(f, "subfile {first} is missing"),
        false => write!(f, "subfiles {first} to {last} are missing"),
    };

    /// A subfile has a number that the set does not have. Readers of the set do not read it.
    Note "extra" Extra {
        number: u32,
        /// The number of subfiles of the set.
        nsubfiles: u64,
    }
    |facts| facts.value(*number).max(i128::from(*nsubfiles).saturating_sub(1))
    => "subfile {number} does not belong to the set, which has {nsubfiles} subfiles";

    /// The number of processes is not that in the first subfile.
    Damage "nprocs" Nprocs {
        value: u64,
        /// That in the first subfile.
        expected: u64,
    }
    |facts| facts.value(*value).expected(*expected)
    => "global_nprocs is {value}, but {expected} in the first subfile";

    /// The blobs of all subfiles are not as many as there were processes.
    Damage "nblobs" Nblobs {
        /// The number of blobs.
        value: u64,
        /// The number of processes.
        expected: u64,
    }
    |facts| facts.value(*value).expected(*expected)
    => "the subfiles have {value} blobs, but {expected} processes wrote the set";

    /// A subfile does not have as many records as the first one.
    Damage "records" Records {
        /// The number of records.
        value: u64,
        /// That of the first subfile.
        expected: u64,
    }
    |facts| facts.value(*value).expected(*expected)
    => "has {}, but the first subfile has {expected}", Count(*value, "record");

    /// A sealed subfile has more records than the first one, as an append leaves it that was cut:
    /// the others are not read.
    Note "uncounted" Uncounted {
        /// The number of records.
        value: u64,
        /// That of the first subfile.
        expected: u64,
    }
    |facts| facts.value(*value).expected(*expected)
    => "has {}, of which the first subfile counts {expected}: an append was cut",
        Count(*value, "record");

    /// The canonical file cannot have what the header has: netCDF refuses a name, or the values are
    /// too many. The set cannot be opened.
    Damage "not_canonical" NotCanonical {
        name: Box<str>,
        /// Why netCDF refuses it; the items are counted in the canonical file.
        error: striae_core::cdf::Error,
    }
    |facts| facts.text(name)
    => "the canonical file cannot have `{}`: {error}", name.escape_debug();

    /// An attribute is missing, or is not that of the first subfile, which counts.
    Note "attribute" Attribute {
        /// The attribute, with the name of its variable: `T:units`, `:title`.
        name: Box<str>,
    }
    |facts| facts.text(name)
    => "attribute {} is not that of the first subfile", name.escape_debug();

    /// The values of a variable that is not decomposed are not those in the first subfile, which
    /// count.
    Note "copies" Copies {
        /// The number of the canonical variable.
        number: u64,
        name: Box<str>,
    }
    |facts| Facts { variable: Some(*number), ..facts.text(name) }
    => "variable {}: the values are not those in the first subfile, which count",
        name.escape_debug();

    /// A request has elements outside of the array.
    Damage "outside" Outside { of: Of, run: Request, total: u64 }
    |facts| of.facts(facts).span(run.offset, run.len).max(*total)
    => "{of} {} ends after the array of {total} elements", Elements(*run);

    /// Two requests of a blob have elements in common.
    Damage "overlap_in_blob" Inside {
        of: Of,
        run: Request,
        /// The number of the other request.
        first: u64,
    }
    |facts| of.facts(facts).span(run.offset, run.len)
    => "{of} {} overlaps request {first}", Elements(*run);

    /// Requests of two blobs have elements in common. The lowest rank counts: the first subfile,
    /// and in it the first blob.
    Damage "overlap" Across {
        of: Of,
        run: Request,
        /// The other request, which begins before.
        first: Of,
        /// The number of the subfile of the other request.
        subfile: u32,
    }
    |facts| of.facts(facts).span(run.offset, run.len)
    => "{of} {} overlaps request {} of blob {} of subfile {subfile}",
        Elements(*run), first.index, first.blob;

    /// A request has no elements.
    Note "empty" Empty {
        of: Of,
        /// Its offset in the array.
        offset: u64,
    }
    |facts| of.facts(facts).span(*offset, 0)
    => "{of} has no elements";

    /// No blob has some elements of the array: the place of the first hole, the number of holes,
    /// and the number of all elements in holes as the value.
    Note "hole" Hole {
        id: NonZeroU32,
        /// The elements of the first hole.
        run: Request,
        /// The number of holes.
        count: u64,
        /// The number of elements of all holes.
        elements: u64,
    }
    |facts| Facts { decomposition: Some(id.get()), ..facts.span(run.offset, run.len) }
        .count(*count)
        .value(*elements)
    => "D{id}: no blob has {elements} elements in {}, the first of {} from {} on",
        Count(*count, "hole"), Count(run.len, "element"), run.offset;

    /// The requests of blobs are not in the order of their offsets, as E3SM-IO with `-q` writes
    /// them: the first such request, and the number of them.
    Note "unsorted" Unsorted { of: Of, count: u64 }
    |facts| of.facts(facts).count(*count)
    => "{of} begins before the one before; {} not in order", Count(*count, "request");

    /// Requests go on in the next row of the array, which E3SM-IO's own never do: the first one,
    /// and the number of them.
    Note "crosses" Crosses { of: Of, count: u64 }
    |facts| of.facts(facts).count(*count)
    => "{of} crosses the end of a row; {} so", Count(*count, "request");

    /// `Dk.max_nreqs` is larger than the number of requests of each blob.
    Note "max_nreqs" MaxNreqs {
        id: NonZeroU32,
        value: u64,
        /// The largest number of requests.
        expected: u64,
    }
    |facts| Facts { decomposition: Some(id.get()), ..facts }.value(*value).expected(*expected)
    => "D{id}.max_nreqs is {value}, but no blob has more than {expected} requests";

    /// Blobs have values without meaning, as E3SM-IO writes them for variables whose decomposition
    /// is empty in the subfile.
    Note "stray" Stray {}
    |facts| facts
    => "blobs have values without meaning: E3SM-IO takes the length 0 of an empty decomposition \
        for that of the record dimension";

    /// Blobs were lost: their places are not known.
    Damage "lost_blobs" LostBlobs {
        /// The first one.
        first: u64,
        count: u64,
    }
    |facts| Facts { blob: Some(*first), ..facts.count(*count) }
    => "{} from blob {first} on: nothing says where it is", Count(*count, "blob");

    /// One copy of the seal is damaged; the other one is used.
    Note "seal_copy" SealCopy { error: Error }
    |facts| Facts { kind: facts.kind, ..table_facts(error) }
    => "a copy of the seal is damaged: {error}";

    /// The seal has fewer records than the subfile: the others were written by a program that does
    /// not know seals, and are not checked.
    Note "unsealed" Unsealed {
        /// The number of records in the seal.
        value: u64,
        /// That of the subfile.
        usual: u64,
    }
    |facts| Facts { usual: Some(format!("{usual}")), ..facts.value(*value) }
    => "the seal has {}, the subfile has {usual}", Count(*value, "record");

    /// The set was written from the map by the sum of `fill_starts`, as E3SM-IO does without `-u`:
    /// its elements are not those that the map gives to the processes.
    Note "fill_starts" FillStarts {}
    |facts| facts
    => "the requests are those that E3SM-IO reads from the map without -u: by the sum of \
        fill_starts, not those that the map gives to the processes";

    /// The requests of a blob are not those of its process in the map: the first difference.
    Damage "not_of_map" NotOfMap {
        of: Of,
        /// The process.
        process: u64,
        /// The request in the blob.
        found: Option<Request>,
        /// The request of the map.
        expected: Option<Request>,
    }
    |facts| Facts { rank: Some(*process), ..of.facts(facts) }.text(&named(*found))
    => "{of} is {}, must be {} of process {process} by the map", named(*found), named(*expected);

    /// The map is not that of the set.
    Damage "other_map" OtherMap {
        /// What differs, and the value of the map.
        what: String,
    }
    |facts| facts.text(what)
    => "the map is not that of the set: {what}";

    reading
    also
    /// The header or the container is damaged.
    Damage Wrong(Flaw) flaw_facts, FLAWS;
    /// The tables of blobs are damaged.
    Damage Tables(Error) table_facts, TABLES;
}

/// A request in texts.
fn named(request: Option<Request>) -> String {
    match request {
        None => "nothing".into(),
        Some(run) => format!("{}", Elements(run)),
    }
}

/// The elements of a request in texts.
struct Elements(Request);

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} elements from {})", self.0.len, self.0.offset)
    }
}

/// The request that a run is.
pub(super) const fn request_of(run: &Run) -> Request {
    Request { offset: run.offset, len: run.len }
}
