//! Runs all checks of [`striae_inspect::blob`] on a set, and reports every finding.

use super::map::{Map, Rule};
use super::names::Names;
use super::set::is_of_machine;
use crate::error::Error;
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
use striae_core::store::ReadAt;
use striae_inspect::blob::sealed::Sealed;
use striae_inspect::blob::subfile::Head;
use striae_inspect::blob::verify::{self as inspect, Options};
use striae_inspect::subject::Files;

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use striae_inspect::blob::{FindingKind, SetFinding, Summary};

/// A problem or an unusual fact in a blob set.
pub type Finding = finding::Finding<SetFinding>;

impl Verify<'_> {
    /// Checks the set with this name, or one subfile alone if `path` is that of a subfile, and
    /// passes each finding to the callback. Values of decomposed variables are read only if the
    /// subfile is sealed.
    ///
    /// With a [map](Self::against), the elements of the blobs are compared with it; the summary
    /// says by which rule the set was written. The reported progress is at most [`sealed_bytes`] in
    /// total.
    ///
    /// # Errors
    /// An error of the operating system if no subfile can be read, or if one is not a file or may
    /// not be read, after the findings of the others; the errors of [`Map::open`]. Any problem in
    /// the contents of the subfiles is a finding.
    pub fn blob(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        let path = path.as_ref();
        let at = |error| Error::new(path, error);
        let only = Names::number_of(path);
        let names = Names::of_set(path)?;
        let right = self.map.map(Map::open).transpose()?;
        // By this rule the map may be wrong, and then it was not used.
        let wrong = self.map.and_then(|map| Map::open_by(map, Rule::FillStarts).ok());
        let map = right.as_ref().map(|right| {
            let wrong = wrong.as_ref().unwrap_or(right);
            [(Rule::Nreqs, right.inner()), (Rule::FillStarts, wrong.inner())]
        });
        let mut tell = named(|number| names.path(number), each);
        let files = Subfiles { names: &names, how: self, refused: RefCell::default() };
        let summary = inspect::verify(&files, Options { only, map, only_damage: false }, &mut tell)
            .map_err(at)?;
        files.refused.into_inner().map_or(Ok(summary), Err)
    }

    /// Looks for damage in the set with this name, and passes each finding to the callback with the
    /// number of the subfile.
    pub(super) fn found(
        &self,
        base: &Path,
        each: &mut dyn FnMut(u32, SetFinding),
    ) -> Result<Summary, Error> {
        let names = Names::of_set(base)?;
        let files = Subfiles { names: &names, how: self, refused: RefCell::default() };
        let summary =
            inspect::verify(&files, Options { only_damage: true, ..Options::default() }, each);
        let summary = summary.map_err(|error| Error::new(base, error))?;
        files.refused.into_inner().map_or(Ok(summary), Err)
    }
}

/// The most bytes that verifying the set with this name, or one subfile alone, compares with seals.
#[must_use]
pub fn sealed_bytes(path: &Path) -> u64 {
    let Ok(names) = Names::of_set(path) else { return 0 };
    let only = Names::number_of(path);
    let numbers = names.numbers().iter().filter(|&&number| only.is_none_or(|only| only == number));
    let bytes = numbers.filter_map(|&number| {
        let file = PosixFile::open(&names.path(number)).ok()?;
        let head = Head::read(&file).ok()?;
        let sealed = Sealed::read_live(&file, &head, head.grammar.numrecs?).ok()??;
        Some(file.size().ok()?.saturating_sub(sealed.seal().facts().values_begin))
    });
    bytes.fold(0, u64::saturating_add)
}

/// The subfiles of a set in the file system.
struct Subfiles<'a> {
    names: &'a Names,
    how: &'a Verify<'a>,
    /// The first one that could not be opened for a reason that is not in it.
    refused: RefCell<Option<Error>>,
}

impl<'a> Files for Subfiles<'a> {
    type Subject = Inspected<'a, Bulk>;

    fn open(&self, number: u32) -> io::Result<Self::Subject> {
        let path = self.names.path(number);
        let file = PosixFile::open(&path).inspect_err(|error| {
            if is_of_machine(error) {
                let again = match error.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(error.kind(), error.to_string()),
                };
                self.refused.borrow_mut().get_or_insert_with(|| Error::new(&path, again));
            }
        })?;
        Ok(Inspected::new(Bulk::new(path, file, self.how.direct), self.how.progress))
    }

    fn there(&self) -> io::Result<BTreeSet<u32>> {
        Ok(self.names.numbers().iter().copied().collect())
    }
}
