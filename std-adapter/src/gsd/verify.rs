//! Checks all that can be checked of a file, and reports everything that it finds: what
//! [`striae_inspect::gsd::verify`] has, by all processors.

use crate::error::Error;
use crate::finding;
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use crate::verify::Verify;
use std::path::Path;
use std::sync::Arc;
use striae_inspect::finding::Found;

pub use crate::finding::{Coverage, Facts, Severity, Value};
pub use striae_inspect::gsd::verify::{Depth, Part, Summary};
pub use striae_inspect::gsd::{Basis, FindingKind};

/// Something that is wrong or unusual.
pub type Finding = finding::Finding<FindingKind>;

impl Verify<'_> {
    /// Checks the GSD file at `path`, and hands over what it finds, one after another. Progress is
    /// told of at most [`sealed_bytes`] in all.
    ///
    /// # Errors
    /// The operating system's. Whatever is wrong with the contents of the file is a finding.
    pub fn gsd(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        let path = path.as_ref();
        let subject = Inspected::new(Bulk::open(path, self.direct)?, self.progress);
        let file = Arc::from(path);
        let mut tell = |what| each(Finding::new(&file, what));
        let verified = striae_inspect::gsd::verify::verify(&subject, Depth::Data, &mut tell);
        verified.map_err(|error| Error::new(path, error))
    }
}

/// Bytes that the file at `path` has checksums of, at most; 0 if it has none, or cannot be read.
#[must_use]
pub fn sealed_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let record = file.head().state.record();
    record.filter(|record| record.checksums).map_or(0, |record| record.data_end)
}

/// The first damage that counts, but in data.
///
/// # Errors
/// The operating system's.
pub(super) fn first_damage(
    path: &Path,
    bulk: &Bulk,
    counts: &mut dyn FnMut(&FindingKind) -> bool,
) -> Result<Option<Finding>, Error> {
    let mut first = None;
    let mut each = |what: FindingKind| {
        if first.is_none() && what.severity() == Severity::Damage && counts(&what) {
            first = Some(Finding::new(&Arc::from(path), what));
        }
    };
    let subject = Inspected::new(bulk, &|_| {});
    let verified = striae_inspect::gsd::verify::verify(&subject, Depth::Structure, &mut each);
    verified.map_err(|error| Error::new(path, error))?;
    Ok(first)
}
