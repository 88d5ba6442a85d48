//! Checks all that can be checked of a file, and reports everything that it finds.
//!
//! Opening a file stops at the first thing that is wrong, and looks at few entries of the index.
//! Verifying goes on after it, and looks at all of them, at every name, at every checksum, and at what
//! the parts of the file say about each other:
//!
//! | module | what it checks |
//! |---|---|
//! | `finding`, `facts` | nothing: it is how findings are told |
//! | `head` | header, commit record, shadow: what the file is said to be |
//! | `names` | the name list |
//! | `entries` | every entry of the index, alone and behind the one before it |
//! | `sums` | the checksums of frames, against the bytes of all their chunks |
//! | `trajectory` | chunks of the schema hoomd, in a file that is sound so far |
//! | `overlap` | that no two parts of the file share bytes; what no part uses |
//!
//! The index passes through a window of 1 MiB, whatever its length. Of the names, places and
//! fingerprints are kept, 24 bytes each of at most 65535. Places of chunks are sorted 2^18 at a time:
//! chunks mostly stand in the order of their frames, so one pass will do; where they do not, the
//! index is read again for each 2^20 of them. Data are read if frames carry checksums, and
//! of the schema hoomd numbers of types and particles, and names of types.

mod entries;
mod facts;
mod finding;
mod head;
mod names;
mod overlap;
mod part;
mod shadow;
mod sums;
mod trajectory;

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use finding::{Finding, FindingKind};
pub use head::Basis;
pub use part::Part;

pub(super) use crate::store::bulk::{read, read_pieces};
pub(super) use entries::each_entry;
pub(super) use head::Head;
pub(super) use shadow::{read_shadows, unproven};

use crate::direct;
use crate::error::Error;
use crate::posix::PosixFile;
use crate::store::bulk::Bulk;
use std::io;
use std::path::Path;
use std::sync::Arc;
use striae_core::field::FieldId;
use striae_core::gsd::{self as core_gsd, Version};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Bytes of a window that tables and data are read in.
pub(super) const WINDOW: usize = 1 << 20;

/// Why the check of a file could not go on: the operating system, or a file that shrank.
pub(super) type Failed = DriveError<io::Error, core_gsd::Error>;

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

/// Checks the file at `path`, and hands over what it finds, one after another.
///
/// # Errors
/// The operating system's. Whatever is wrong with the contents of the file is a finding.
pub fn verify(path: &Path, each: &mut dyn FnMut(Finding)) -> Result<Summary, Error> {
    verify_seen(path, each, &|_| {})
}

/// The same, and tells `progress` the length of each piece of data that was checked: of at most
/// [`sealed_bytes`] in all.
///
/// # Errors
/// As [`verify`].
pub fn verify_seen(
    path: &Path,
    each: &mut dyn FnMut(Finding),
    progress: &dyn Fn(u64),
) -> Result<Summary, Error> {
    verify_with(path, None, each, progress)
}

/// The same, and reads the bytes of chunks past the page cache, as far as that can be, if there are options for
/// that. What is found is the same.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    direct: Option<direct::OpenOptions>,
    each: &mut dyn FnMut(Finding),
    progress: &dyn Fn(u64),
) -> Result<Summary, Error> {
    let failed = |error| Error::new(path, error);
    let store = PosixFile::open(path).map_err(failed)?;
    let bulk = Bulk::new(path, store, direct);
    let (file, summary) = (Arc::from(path), Summary::default());
    let mut report = Report { file, bulk: Some(&bulk), each, progress, summary };
    match check(bulk.file(), &mut report) {
        Ok(()) => Ok(report.summary),
        Err(DriveError::Store(error)) => Err(failed(error)),
        Err(error) => {
            report.failed(error);
            Ok(report.summary)
        }
    }
}

/// Bytes that the file at `path` has checksums of, at most; 0 if it has none, or cannot be read.
#[must_use]
pub fn sealed_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let record = file.head().state.record();
    record.filter(|record| record.checksums).map_or(0, |record| record.data_end)
}

fn check(store: &PosixFile, report: &mut Report<'_>) -> Result<(), Failed> {
    let file_len = store.size().map_err(DriveError::Store)?;
    let Some(head) = head::check(store, file_len, report)? else { return Ok(()) };
    // Of a header that was torn all is known.
    let torn = u64::from(matches!(head.basis, Basis::Torn(_))).min(report.summary.damage);
    let mut names = names::check(store, &head, report)?;
    if report.bulk.is_none() {
        names.sums = None; // with them data are read
    }
    entries::check(store, &head, names, report)?;
    match report.summary.damage == torn {
        true => trajectory::check(store, report),
        false => Ok(()), // nobody knows what it would be about
    }
}

/// What the header says, or should say, whatever is wrong with it; `None` if it is no header.
pub(super) fn look(store: &PosixFile, file_len: u64) -> Result<Option<Head>, Failed> {
    silent(|report| head::check(store, file_len, report))
}

/// The first damage that counts, but in data.
///
/// # Errors
/// The operating system's; a file that becomes shorter.
pub(super) fn first_damage(
    path: &Path,
    store: &PosixFile,
    counts: &mut dyn FnMut(&Finding) -> bool,
) -> Result<Option<Finding>, Error> {
    let mut first = None;
    let mut each = |finding: Finding| {
        if first.is_none() && finding.severity == Severity::Damage && counts(&finding) {
            first = Some(finding);
        }
    };
    let (file, summary) = (Arc::from(path), Summary::default());
    let mut report = Report { file, bulk: None, each: &mut each, progress: &|_| {}, summary };
    let checked = check(store, &mut report);
    checked.map_err(|error| Error::new(path, error))?;
    Ok(first)
}

/// Does what reports findings, without anybody to tell.
pub(super) fn silent<T>(work: impl FnOnce(&mut Report<'_>) -> T) -> T {
    let (file, summary) = (Arc::from(Path::new("")), Summary::default());
    work(&mut Report { file, bulk: None, each: &mut |_| {}, progress: &|_| {}, summary })
}

/// Where findings go.
pub(super) struct Report<'a> {
    file: Arc<Path>,
    /// The file, for data, if they are to be checked.
    bulk: Option<&'a Bulk>,
    each: &'a mut dyn FnMut(Finding),
    /// Is told of data that were checked.
    progress: &'a dyn Fn(u64),
    summary: Summary,
}

impl Report<'_> {
    fn damage(&mut self, what: FindingKind) {
        self.summary.damage = self.summary.damage.saturating_add(1);
        (self.each)(Finding { file: Arc::clone(&self.file), severity: Severity::Damage, what });
    }

    fn note(&mut self, what: FindingKind) {
        self.summary.notes = self.summary.notes.saturating_add(1);
        (self.each)(Finding { file: Arc::clone(&self.file), severity: Severity::Note, what });
    }

    fn wrong(&mut self, error: core_gsd::Error) {
        self.damage(FindingKind::Wrong(error));
    }

    fn unusual(&mut self, field: FieldId, offset: u64, value: String, usual: &'static str) {
        self.note(FindingKind::Unusual { field, offset, value, usual });
    }

    /// The check ends here.
    fn failed(&mut self, error: Failed) {
        self.damage(match error {
            DriveError::Store(error) => {
                FindingKind::Unreadable { kind: error.kind(), message: error.to_string() }
            }
            DriveError::Format(error) => FindingKind::Wrong(error),
            DriveError::Ended { offset } => FindingKind::Ended { offset },
            error => {
                FindingKind::Unreadable { kind: io::ErrorKind::Other, message: error.to_string() }
            }
        });
    }
}
