//! Runs all checks of a set, and reports everything that it finds.
//!
//! Opening a set stops at the first error. Verifying continues after an error and checks all fixed
//! fields, every entry of every table, the header of every key-value record, and the consistency of
//! the files of the set. It reads the files from front to back:
//!
//! | module | what it checks |
//! |---|---|
//! | `fixed` | the fixed part of META1 |
//! | `part` | one physical file as a whole, the tables of META1, where META2 is |
//! | `meta2` | block counts and block sizes: chunks inside the file, and outside the tables |
//! | `records` | key-value streams |
//! | `behind` | the bytes after META2: a mapping, or others |
//! | `seal` | the seal, and the checksums of META1, META2 and the mapping in it |
//! | `chunks` | the checksums of data in the seal |
//! | `set` | the files of a set against each other, the mapping, global ranks |
//!
//! Tables are read in windows of 1 MiB. Only global ranks are kept, 8 bytes each, to compare them;
//! if there are more than [`MAX_COMPARED_RANKS`], they are not compared. The sizes of the files
//! bound the time, whatever they claim. Data is read only if the file is sealed; otherwise nothing
//! in the file proves the data.

mod behind;
mod chunks;
mod files;
mod fixed;
mod meta2;
mod part;
mod records;
mod seal;
mod set;

pub use crate::subject::Files;
pub use files::{PartOfSet, files_of};

pub(super) use behind::{Behind, look_behind};
pub(super) use fixed::Fixed;
pub(super) use part::{each_entry, find_meta2, start_field};
pub(super) use seal::look_for_seal;

use super::finding::FindingKind;
use crate::finding::Coverage;
use crate::report::report;
use crate::subject;
use alloc::format;
use core::fmt::Display;
use striae_core::field::FieldId;
use striae_core::sion::Error;
use striae_core::store::ReadAt;

/// The most tasks of a set whose global ranks are compared with each other and with the mapping.
pub const MAX_COMPARED_RANKS: u64 = 1 << 24;

/// Length in bytes of the window in which tables are read.
const WINDOW: usize = 1 << 20;

/// The error that ends the check of a file: the store failed, or the file became shorter.
pub(super) type Failed<S> = subject::Failed<S, Error>;

report! {
    FindingKind(Error, kind);
    /// The size of the verified set, and the number of findings.
    pub struct Summary {
        /// Number of physical files that could be opened.
        pub files: u32,
        /// Number of tasks in them, as far as their META1 could be read.
        pub tasks: u64,
        /// The amount of used bytes of chunks that was compared with checksums.
        pub data: Coverage,
        /// The number of the file in its set, if it was checked without the others.
        pub part_of_set: Option<PartOfSet>,
        /// The number of the commit of the whole set that the first file is of.
        pub set_commit: Option<u32>,
    }
}

/// Checks a set and passes each finding to the callback, with the number of the file. If the first
/// file given is a later file of a set, it is checked alone.
///
/// # Errors
/// An error of the store for the first file. Any problem in the contents of that file, or with
/// other files of the set, is a finding.
pub fn verify<F: Files + ?Sized>(
    files: &F,
    each: &mut dyn FnMut(u32, FindingKind),
) -> Result<Summary, <F::Subject as ReadAt>::Error> {
    let mut report = Report::new(each);
    let done = set::check(files, &mut report);
    report.file = 0;
    report.end(done)?;
    Ok(report.summary)
}

impl Report<'_> {
    fn unusual(&mut self, field: FieldId, offset: u64, value: impl Display, usual: impl Display) {
        let (value, usual) = (format!("{value}"), format!("{usual}"));
        self.add(FindingKind::Unusual { field, offset, value, usual });
    }
}
