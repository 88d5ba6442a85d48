//! Checking a file and reporting all findings: [`striae_inspect::gsd::verify`], run on all
//! processors.

use crate::error::Error;
use crate::finding;
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use crate::verb::Verify;
use std::path::Path;
use std::sync::Arc;

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use striae_inspect::gsd::verify::{Depth, Part, Summary};
pub use striae_inspect::gsd::{Basis, FindingKind};

/// A damaged or unusual place in a file.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the GSD file at `path`, and calls a function with each finding. The reported progress
    /// is at most [`sealed_bytes`] in total.
    ///
    /// # Errors
    /// An error of the operating system. Damage in the file is a finding, not an error.
    pub fn gsd(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        self.one(path.as_ref(), each, |file, each| {
            striae_inspect::gsd::verify::verify(file, Depth::Data, each)
        })
    }
}

/// The most bytes with checksums in the file at `path`; 0 if it has no checksums or cannot be read.
#[must_use]
pub fn sealed_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let record = file.head().state.record();
    record.filter(|record| record.checksums).map_or(0, |record| record.data_end)
}

/// The first damage that counts, except damage in data.
///
/// # Errors
/// An error of the operating system.
pub(super) fn first_damage(
    path: &Path,
    bulk: &Bulk,
    counts: &mut dyn FnMut(&FindingKind) -> bool,
) -> Result<Option<Finding>, Error> {
    let subject = Inspected::new(bulk, &|_| {});
    let first = striae_inspect::finding::first_damage(|each| {
        let mut each = |what: FindingKind| {
            if counts(&what) {
                each(what)
            }
        };
        striae_inspect::gsd::verify::verify(&subject, Depth::Structure, &mut each)
    });
    let first = first.map_err(|error| Error::new(path, error))?;
    Ok(first.map(|what| Finding::new(&Arc::from(path), what)))
}
