//! Checks all that can be checked of a file, and reports everything that it finds.
//!
//! Opening a file stops at the first thing that is wrong, and looks at few entries of the index.
//! Verifying goes on after it, and looks at all of them, at every name, at every checksum, and at
//! what the parts of the file say about each other:
//!
//! | module | what it checks |
//! |---|---|
//! | `head` | header, commit record, shadow: what the file is said to be |
//! | `names` | the name list |
//! | `entries` | every entry of the index, alone and behind the one before it |
//! | `sums` | the checksums of frames, against the bytes of all their chunks |
//! | `trajectory` | chunks of the schema hoomd, in a file that is sound so far |
//! | `overlap` | that no two parts of the file share bytes; what no part uses |
//!
//! The index passes through a window of 1 MiB, whatever its length. Of the names, places and
//! fingerprints are kept, 32 bytes each of at most 65535. Places of chunks are sorted 2^18 at a
//! time: chunks mostly stand in the order of their frames, so one pass will do; where they do not,
//! the index is read again for each 2^20 of them. Data are read if frames carry checksums, and of
//! the schema hoomd numbers of types and particles, and names of types.

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

use super::{Basis, Failed, FindingKind};
use crate::finding::{Coverage, Found, Severity};
use crate::subject::Subject;
use alloc::string::{String, ToString};
use embedded_io::Error as _;
use striae_core::field::FieldId;
use striae_core::gsd::{Error, Version};
use striae_core::step::DriveError;

/// Bytes of a window that tables and data are read in.
const WINDOW: usize = 1 << 20;

/// What was verified, and how much was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How it is known what is in the file; `None` if it is not even a GSD file.
    pub basis: Option<Basis>,
    /// Version of the file layer.
    pub version: Option<Version>,
    /// Frames, as far as the index tells.
    pub frames: u64,
    /// Chunks in the index, without the copies of the last entry that fill it.
    pub chunks: u64,
    /// Names.
    pub names: u32,
    /// Chunks whose bytes were compared with a checksum.
    pub checked: u64,
    /// How much of the bytes of chunks was compared with checksums, those of checksums left out.
    pub data: Coverage,
    /// Findings of [`Severity::Damage`].
    pub damage: u64,
    /// Findings of [`Severity::Note`].
    pub notes: u64,
}

impl Summary {
    /// Whether no damage was found; in what was checked: see [`Coverage`].
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.damage == 0
    }
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All but the checksums of data.
    Structure,
    /// Data as well, if frames have checksums.
    Data,
}

/// Checks a file, and hands over what it finds, one after another.
///
/// # Errors
/// The store's. Whatever is wrong with the contents of the file is a finding.
pub fn verify<S: Subject>(
    subject: &S,
    depth: Depth,
    each: &mut dyn FnMut(FindingKind),
) -> Result<Summary, S::Error> {
    let mut report = Report { each, summary: Summary::default() };
    match check(subject, depth, &mut report) {
        Ok(()) => {}
        Err(DriveError::Store(error)) => return Err(error),
        Err(DriveError::Format(error)) => report.wrong(error),
        Err(DriveError::Ended { offset }) => report.add(FindingKind::Ended { offset }),
        Err(error) => {
            let (kind, message) = (error.kind(), error.to_string());
            report.add(FindingKind::Unreadable { kind, message });
        }
    }
    Ok(report.summary)
}

fn check<S: Subject>(subject: &S, depth: Depth, report: &mut Report<'_>) -> Result<(), Failed<S>> {
    let file_len = subject.size().map_err(DriveError::Store)?;
    let Some(head) = head::check(subject, file_len, report)? else { return Ok(()) };
    // Of a header that was torn all is known.
    let torn = u64::from(matches!(head.basis, Basis::Torn(_))).min(report.summary.damage);
    let mut names = names::check(subject, &head, report)?;
    if depth == Depth::Structure {
        names.sums = None; // with them data are read
    }
    entries::check(subject, &head, (names, depth), report)?;
    match report.summary.damage == torn {
        true => trajectory::check(subject, report),
        false => Ok(()), // nobody knows what it would be about
    }
}

/// Where findings go.
struct Report<'a> {
    each: &'a mut dyn FnMut(FindingKind),
    summary: Summary,
}

impl Report<'_> {
    fn add(&mut self, what: FindingKind) {
        let count = match what.severity() {
            Severity::Damage => &mut self.summary.damage,
            Severity::Note => &mut self.summary.notes,
        };
        *count = count.saturating_add(1);
        (self.each)(what);
    }

    fn wrong(&mut self, error: Error) {
        self.add(FindingKind::Wrong(error));
    }

    fn unusual(&mut self, field: FieldId, offset: u64, value: String, usual: &'static str) {
        self.add(FindingKind::Unusual { field, offset, value, usual });
    }
}
