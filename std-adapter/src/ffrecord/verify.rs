//! Checks all that can be checked of a file, and reports everything that it finds: what
//! [`striae_inspect::ffrecord`] has, by all processors.

use crate::direct;
use crate::error::Error;
use crate::finding;
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use std::path::Path;
use std::sync::Arc;
use striae_core::span::Span;

pub use crate::finding::{Coverage, Facts, Value};
pub use striae_inspect::ffrecord::{FindingKind, Summary};

/// Something that is wrong or unusual.
pub type Finding = finding::Finding<FindingKind>;

/// Checks the file at `path`, and hands over what it finds, one after another.
///
/// # Errors
/// The operating system's. Whatever is wrong with the contents of the file is a finding.
pub fn verify(path: &Path, each: &mut dyn FnMut(Finding)) -> Result<Summary, Error> {
    verify_seen(path, each, &|_| {})
}

/// Does what [`verify`] does, and tells `progress` the length of each piece of data that was
/// checked: of [`checked_bytes`] in all, or at most twice that if samples share bytes.
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

/// Does what [`verify_seen`] does, and reads samples past the page cache, as far as that can be, if
/// there are options for that. What is found is the same.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    direct: Option<direct::OpenOptions>,
    each: &mut dyn FnMut(Finding),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Summary, Error> {
    let (subject, file) = (Inspected::new(Bulk::open(path, direct)?, progress), Arc::from(path));
    let mut tell = |what| each(Finding::new(&file, what));
    striae_inspect::ffrecord::verify(&subject, &mut tell).map_err(|error| Error::new(path, error))
}

/// Bytes behind the tables of the file at `path`; 0 if it cannot be read.
#[must_use]
pub fn checked_bytes(path: &Path) -> u64 {
    let Ok(file) = super::File::open(path) else { return 0 };
    let head = file.head();
    Span::between(head.layout.header_len(), head.file_len).map_or(0, Span::len)
}
