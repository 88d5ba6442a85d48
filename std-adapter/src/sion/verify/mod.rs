//! Checks all that can be checked of a set, and reports everything that it finds.
//!
//! Opening a set stops at the first thing that is wrong. Verifying goes on after it, and looks at
//! all of the fixed fields, at every entry of every table, at every key-value record's header, and
//! at what the files of the set say about each other. It follows the files from front to back:
//!
//! | module | what it checks |
//! |---|---|
//! | `finding` | nothing: it is how findings are told |
//! | `fixed` | the fixed part of META1 |
//! | `part` | one physical file as a whole, the tables of META1, where META2 is |
//! | `meta2` | block counts and block sizes: chunks inside the file, and outside the tables |
//! | `records` | key-value streams |
//! | `behind` | what stands behind META2: a mapping, or what else |
//! | `seal` | the seal, and the checksums of META1, META2 and the mapping in it |
//! | `chunks` | the checksums of data in the seal |
//! | `set` | the files of a set against each other, the mapping, global ranks |
//!
//! Tables pass through windows of 1 MiB. Only global ranks are kept, 8 bytes each, to compare them,
//! and not if there are more than [`MAX_COMPARED_RANKS`]. Time is bounded by the files' sizes,
//! whatever they claim. Data are read if the file is sealed, by all processors; otherwise nothing
//! in it tells right ones from wrong.

mod behind;
mod chunks;
mod facts;
mod finding;
mod fixed;
mod meta2;
mod part;
mod records;
mod seal;
mod set;
mod state;

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use finding::{Finding, FindingKind};
pub use state::{Ending, Sealing, State, sealed_bytes, state};

use crate::store::bulk::read;
pub(super) use behind::{Behind, look_behind};
pub(super) use fixed::Fixed;
pub(super) use seal::look_for_seal;

use super::siblings::PartOfSet;
use crate::direct;
use crate::error::Error;
use crate::posix::PosixFile;
use crate::store::bulk::Bulk;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use striae_core::field::FieldId;
use striae_core::sion as core_sion;
use striae_core::step::DriveError;

/// Tasks of a set whose global ranks are compared with each other and with the mapping, at most.
pub const MAX_COMPARED_RANKS: u64 = 1 << 24;

/// Bytes of a window that tables are read in.
const WINDOW: usize = 1 << 20;

/// Why the check of a file could not go on: the operating system, or a file that shrank.
type Failed = DriveError<io::Error, core_sion::Error>;

/// What was verified, and how much was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Physical files that could be opened.
    pub files: u32,
    /// Tasks in them, as far as their META1 could be read.
    pub tasks: u64,
    /// How much of the used bytes of chunks was compared with checksums.
    pub data: Coverage,
    /// Which file of a set this is, if it was checked without the others.
    pub part_of_set: Option<PartOfSet>,
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

/// Checks the set whose first file is at `path`, and hands over what it finds, one after another. A
/// later file of a set is checked alone.
///
/// # Errors
/// The operating system's, for the file at `path`. Whatever is wrong with the contents of that
/// file, or with other files of the set, is a finding.
pub fn verify(path: &Path, each: &mut dyn FnMut(Finding)) -> Result<Summary, Error> {
    verify_seen(path, each, &|_| {})
}

/// The same, and tells `progress` the length of each piece of sealed data that was checked: of
/// [`sealed_bytes`] in all.
///
/// # Errors
/// As [`verify`].
pub fn verify_seen(
    path: &Path,
    each: &mut dyn FnMut(Finding),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Summary, Error> {
    verify_with(path, None, each, progress)
}

/// The same, and reads sealed data past the page cache, as far as that can be, if there are options for that. What
/// is found is the same.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    direct: Option<direct::OpenOptions>,
    each: &mut dyn FnMut(Finding),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Summary, Error> {
    let (file, direct, summary) = (Arc::from(path), direct, Summary::default());
    let mut report = Report { file, direct, each, progress, summary };
    let failed = |error| Error::new(path, error);
    let store = PosixFile::open(path).map_err(failed)?;
    match set::check(path, &Bulk::new(path, store, direct), &mut report) {
        Ok(()) => Ok(report.summary),
        Err(DriveError::Store(error)) => Err(failed(error)),
        Err(error) => {
            report.enter(path);
            report.failed(error);
            Ok(report.summary)
        }
    }
}

/// Where findings go.
struct Report<'a> {
    /// The physical file that is being checked.
    file: Arc<Path>,
    /// How data are read past the page cache, if they are.
    direct: Option<direct::OpenOptions>,
    each: &'a mut dyn FnMut(Finding),
    /// Is told of data that were checked.
    progress: &'a (dyn Fn(u64) + Sync),
    summary: Summary,
}

impl Report<'_> {
    /// Goes on with another physical file.
    fn enter(&mut self, path: &Path) {
        if *self.file != *path {
            self.file = Arc::from(path);
        }
    }

    fn damage(&mut self, what: FindingKind) {
        self.summary.damage = self.summary.damage.saturating_add(1);
        (self.each)(Finding { file: Arc::clone(&self.file), severity: Severity::Damage, what });
    }

    fn note(&mut self, what: FindingKind) {
        self.summary.notes = self.summary.notes.saturating_add(1);
        (self.each)(Finding { file: Arc::clone(&self.file), severity: Severity::Note, what });
    }

    fn wrong(&mut self, error: core_sion::Error) {
        self.damage(FindingKind::Wrong(error));
    }

    fn unusual(&mut self, field: FieldId, offset: u64, value: impl Display, usual: impl Display) {
        let (value, usual) = (value.to_string(), usual.to_string());
        self.note(FindingKind::Unusual { field, offset, value, usual });
    }

    /// The check of a file ends here.
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
