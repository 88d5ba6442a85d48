//! Runs all checks of [`striae_inspect::sion`] on a set, on all processors, and reports every
//! finding.

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use striae_inspect::sion::{Ending, FindingKind, MAX_COMPARED_RANKS, Sealing, State, Summary};

use super::file::{OpenOptions, Opened};
use super::siblings::{number_of, sibling_path, siblings_of};
use crate::error::Error;
use crate::files;
use crate::finding;
use crate::posix::PosixFile;
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use crate::verb::Verify;
use crate::verb::verify::named;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use striae_core::sion::SealState;
use striae_inspect::sion::Files;

/// Length in bytes of the window in which tables are read.
const WINDOW: usize = 1 << 20;

/// A problem or an unusual fact in a SIONlib set.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the SIONlib set whose first file is at `path` and passes each finding to the
    /// callback. A later file of a set is checked alone. The lengths that `progress` gets add up to
    /// [`sealed_bytes`].
    ///
    /// # Errors
    /// An error of the operating system for the file at `path`. Any problem in the contents of that
    /// file, or with other files of the set, is a finding.
    pub fn sion(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        let path = path.as_ref();
        let mut tell = named(|number| sibling_path(path, number), each);
        // Each file is opened once, and closed when it has been checked.
        let files = RefCell::new(files::Files::empty(1, self.direct));
        striae_inspect::sion::verify(&Set { path, files, how: self }, &mut tell)
            .map_err(|error| Error::new(path, error))
    }
}

/// The state in which the physical file at `path` was left (closed, committed, ...). Checks only
/// what decides this.
///
/// # Errors
/// An error for a damaged head; an error of the operating system.
pub fn state(path: &Path) -> Result<State, Error> {
    let failed = |error| Error::new(path, error);
    let store = PosixFile::open(path).map_err(failed)?;
    striae_inspect::sion::state(&store).map_err(|error| Error::new(path, error))
}

/// The files of a set in the file system.
struct Set<'a> {
    path: &'a Path,
    files: RefCell<files::Files>,
    how: &'a Verify<'a>,
}

impl<'a> Files for Set<'a> {
    type Subject = Inspected<'a, Arc<Bulk>>;

    fn open(&self, number: u32) -> io::Result<Self::Subject> {
        let bulk = self.files.borrow_mut().add(&sibling_path(self.path, number))?;
        Ok(Inspected::new(bulk, self.how.progress))
    }

    fn there(&self) -> io::Result<BTreeSet<u32>> {
        siblings_of(self.path)
    }

    fn named(&self) -> Option<u32> {
        Some(number_of(self.path))
    }
}

/// Number of data bytes that verifying the set at `path` compares with checksums, as the files
/// state it.
#[must_use]
pub fn sealed_bytes(path: &Path) -> u64 {
    let opened = OpenOptions::new().buddies(false).open(path); // as verify does
    let Ok(Opened::Closed(set)) = opened else { return 0 };
    let mut sum = 0u64;
    for file in set.reader().files() {
        if !matches!(file.seal(), Ok(SealState::Sealed(_))) {
            continue;
        }
        for task in file.tasks(vec![0; WINDOW]).into_iter().flatten().flatten() {
            sum = sum.saturating_add(task.bytes);
        }
    }
    sum
}
