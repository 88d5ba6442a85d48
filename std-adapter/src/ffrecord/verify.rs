//! Runs all checks of [`striae_inspect::ffrecord`] on a file, on all processors, and reports every
//! finding.

use crate::error::Error;
use crate::finding;
use crate::verb::Verify;
use std::path::Path;
use striae_core::span::Span;

pub use crate::finding::{Coverage, Facts, Value};
pub use striae_inspect::ffrecord::{FindingKind, Summary};

/// A problem or an unusual fact in an ffrecord file.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the ffrecord file at `path` and passes each finding to the callback. The lengths that
    /// `progress` gets add up to [`checked_bytes`], or to at most twice that if samples share
    /// bytes.
    ///
    /// # Errors
    /// An error of the operating system. Any problem in the contents of the file is a finding.
    pub fn ffrecord(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        self.one(path.as_ref(), each, |file, each| striae_inspect::ffrecord::verify(file, each))
    }
}

/// Number of bytes after the tables of the file at `path`; 0 if the file cannot be read.
#[must_use]
pub fn checked_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let head = file.head();
    Span::between(head.layout.header_len(), head.file_len).map_or(0, Span::len)
}
