//! Runs all checks of a GSD file, and reports everything that it finds.
//!
//! Opening a file stops at the first error, and reads few entries of the index. Verifying continues
//! after an error, and checks every entry, every name, every checksum, and the consistency of the
//! parts of the file:
//!
//! | module | what it checks |
//! |---|---|
//! | `head` | header, commit record and shadows |
//! | `names` | the name list |
//! | `entries` | every entry of the index, by itself and after the previous one |
//! | `sums` | the checksums of frames, against the bytes of all their chunks |
//! | `trajectory` | chunks of the schema hoomd, if the file is sound so far |
//! | `overlap` | parts of the file that share bytes, and bytes that no part uses |
//!
//! The index is read in windows of 1 MiB, whatever its length. For at most 65535 names, places and
//! fingerprints are kept, 32 bytes each. Places of chunks are sorted 2^18 at a time: chunks are
//! mostly in the order of their frames, so one pass is enough; if not, the index is read again for
//! each 2^20 chunks. Data is read if frames have checksums; in the schema hoomd, type numbers,
//! particle numbers and names of types are read, too.

mod entries;
mod head;
mod names;
mod overlap;
mod part;
mod shadow;
mod sums;
mod trajectory;

pub use part::Part;

pub(super) use head::{Head, Judged};
pub(super) use shadow::{read_shadows, unproven};
pub(super) use trajectory::{Check, Placed};

use super::{Basis, Failed, FindingKind};
use crate::finding::Coverage;
use crate::report::{self, report};
use crate::subject::Subject;
use alloc::string::String;
use striae_core::field::FieldId;
use striae_core::gsd::{Error, Version};
use striae_core::step::DriveError;

/// Length in bytes of the window in which tables and data are read.
const WINDOW: usize = 1 << 20;

report! {
    FindingKind(Error, kind);
    /// The size of the verified file, and the number of findings.
    pub struct Summary {
        /// How it is known what is in the file; `None` if it is not even a GSD file.
        pub basis: Option<Basis>,
        /// Version of the file layer.
        pub version: Option<Version>,
        /// Number of frames, as far as the index can be read.
        pub frames: u64,
        /// Number of chunks in the index, without the copies of the last entry that fill it.
        pub chunks: u64,
        /// Number of names.
        pub names: u32,
        /// Number of chunks whose bytes were compared with a checksum.
        pub checked: u64,
        /// The amount of chunk bytes that was compared with checksums, without the chunks of
        /// checksums.
        pub data: Coverage,
    }
}

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything except the checksums of data.
    Structure,
    /// Data as well, if frames have checksums.
    Data,
}

/// Checks a file and passes each finding to the callback.
///
/// # Errors
/// An error of the store. Any problem in the contents of the file is a finding.
pub fn verify<S: Subject>(
    subject: &S,
    depth: Depth,
    each: &mut dyn FnMut(FindingKind),
) -> Result<Summary, S::Error> {
    report::verify::<S, _, _, _>(each, |report| check(subject, (depth, true), report))
}

/// Checks header, names and index of a file, and nothing that its schema says.
pub(super) fn tables<S: Subject>(
    subject: &S,
    each: &mut dyn FnMut(FindingKind),
) -> Result<Summary, S::Error> {
    let how = (Depth::Structure, false);
    report::verify::<S, _, _, _>(each, |report| check(subject, how, report))
}

fn check<S: Subject>(
    subject: &S,
    (depth, with_schema): (Depth, bool),
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let file_len = subject.size().map_err(DriveError::Store)?;
    let Some(head) = head::check(subject, file_len, report)? else { return Ok(()) };
    // Of a header that was torn all is known.
    let torn = u64::from(matches!(head.basis, Basis::Torn(_))).min(report.summary.damage);
    let names = names::check(subject, &head, report)?;
    entries::check(subject, &head, (names, depth), report)?;
    match with_schema && report.summary.damage == torn {
        true => trajectory::check(subject, report),
        false => Ok(()), // nobody knows what it would be about
    }
}

impl Report<'_> {
    fn unusual(&mut self, field: FieldId, offset: u64, value: String, usual: &'static str) {
        self.add(FindingKind::Unusual { field, offset, value, usual });
    }
}
