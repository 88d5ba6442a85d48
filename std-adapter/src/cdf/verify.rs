//! Runs all checks of [`striae_inspect::cdf`] on a file, and reports every finding.

use crate::error::Error;
use crate::finding;
use crate::verb::Verify;
use std::path::Path;

pub use crate::finding::{Coverage, Facts, Value};
pub use striae_inspect::cdf::{FindingKind, Summary};

/// A problem or an unusual fact in a netCDF file.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the netCDF file at `path` and passes each finding to the callback. Values have no
    /// checksums and are not read.
    ///
    /// # Errors
    /// An error of the operating system. Any problem in the contents of the file is a finding.
    pub fn cdf(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        self.one(path.as_ref(), each, |file, each| striae_inspect::cdf::verify(file, each))
    }
}
