//! Checks all that can be checked of a set, and reports everything that it finds.
//!
//! Opening a set stops at the first thing that is wrong. Verifying goes on after it, and looks at
//! all of the fixed fields, at every entry of every table, at every key-value record's header, and
//! at what the files of the set say about each other. It follows the files from front to back:
//!
//! | module | what it checks |
//! |---|---|
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
//! whatever they claim. Data are read if the file is sealed; otherwise nothing in it tells right
//! ones from wrong.

mod behind;
mod chunks;
mod files;
mod fixed;
mod meta2;
mod part;
mod records;
mod seal;
mod set;

pub use files::{Files, PartOfSet};

pub(super) use behind::{Behind, look_behind};
pub(super) use fixed::Fixed;
pub(super) use part::each_entry;
pub(super) use seal::look_for_seal;

use super::finding::FindingKind;
use crate::finding::{Coverage, Found as _, Severity};
use crate::subject;
use alloc::format;
use core::fmt::Display;
use striae_core::field::FieldId;
use striae_core::sion::Error;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Tasks of a set whose global ranks are compared with each other and with the mapping, at most.
pub const MAX_COMPARED_RANKS: u64 = 1 << 24;

/// Bytes of a window that tables are read in.
const WINDOW: usize = 1 << 20;

/// Why the check of a file could not go on: the store, or a file that shrank.
pub(super) type Failed<S> = subject::Failed<S, Error>;

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

/// Checks a set, and hands over what it finds with the number of the file, one after another. A
/// later file of a set that is given as the first is checked alone.
///
/// # Errors
/// The store's, for the first file. Whatever is wrong with the contents of that file, or with other
/// files of the set, is a finding.
pub fn verify<F: Files + ?Sized>(
    files: &F,
    each: &mut dyn FnMut(u32, FindingKind),
) -> Result<Summary, <F::Subject as ReadAt>::Error> {
    let mut report = Report { file: 0, each, summary: Summary::default() };
    match set::check(files, &mut report) {
        Ok(()) => {}
        Err(DriveError::Store(error)) => return Err(error),
        Err(error) => {
            report.file = 0;
            report.failed(error);
        }
    }
    Ok(report.summary)
}

/// Where findings go.
struct Report<'a> {
    /// Number of the physical file that is being checked.
    file: u32,
    each: &'a mut dyn FnMut(u32, FindingKind),
    summary: Summary,
}

impl Report<'_> {
    fn add(&mut self, what: FindingKind) {
        let count = match what.severity() {
            Severity::Damage => &mut self.summary.damage,
            Severity::Note => &mut self.summary.notes,
        };
        *count = count.saturating_add(1);
        (self.each)(self.file, what);
    }

    fn wrong(&mut self, error: Error) {
        self.add(FindingKind::Wrong(error));
    }

    fn unusual(&mut self, field: FieldId, offset: u64, value: impl Display, usual: impl Display) {
        let (value, usual) = (format!("{value}"), format!("{usual}"));
        self.add(FindingKind::Unusual { field, offset, value, usual });
    }

    /// The check of a file ends here.
    fn failed<E: embedded_io::Error>(&mut self, error: DriveError<E, Error>) {
        self.add(match error {
            DriveError::Format(error) => FindingKind::Wrong(error),
            DriveError::Ended { offset } => FindingKind::Ended { offset },
            error => {
                let (kind, message) = (kind_of(&error), format!("{error}"));
                FindingKind::Unreadable { kind, message }
            }
        });
    }
}

/// The store's kind of error.
fn kind_of<E: embedded_io::Error, F>(error: &DriveError<E, F>) -> embedded_io::ErrorKind {
    match error {
        DriveError::Store(error) => error.kind(),
        _ => embedded_io::ErrorKind::Other,
    }
}
