//! Checks all that can be checked of a file, and reports everything that it finds: what
//! [`striae_inspect::ffrecord`] has, by all processors.

use crate::error::Error;
use crate::finding;
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use crate::verify::Verify;
use std::path::Path;
use std::sync::Arc;
use striae_core::span::Span;

pub use crate::finding::{Coverage, Facts, Value};
pub use striae_inspect::ffrecord::{FindingKind, Summary};

/// Something that is wrong or unusual.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the ffrecord file at `path`, and hands over what it finds, one after another.
    /// Progress is told of [`checked_bytes`] in all, or at most twice that if samples share bytes.
    ///
    /// # Errors
    /// The operating system's. Whatever is wrong with the contents of the file is a finding.
    pub fn ffrecord(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        let path = path.as_ref();
        let subject = Inspected::new(Bulk::open(path, self.direct)?, self.progress);
        let file = Arc::from(path);
        let mut tell = |what| each(Finding::new(&file, what));
        let verified = striae_inspect::ffrecord::verify(&subject, &mut tell);
        verified.map_err(|error| Error::new(path, error))
    }
}

/// Bytes behind the tables of the file at `path`; 0 if it cannot be read.
#[must_use]
pub fn checked_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let head = file.head();
    Span::between(head.layout.header_len(), head.file_len).map_or(0, Span::len)
}
