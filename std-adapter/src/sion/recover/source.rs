//! A file that is recovered: holes are known, and not read.

use super::{Identity, changed};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::store::SparseFile;
use std::path::Path;

/// Opens the file at `path`.
pub(super) fn open(path: &Path) -> Result<(SparseFile, Identity), Error> {
    let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    let identity = Identity { path: path.to_owned(), id: file.identity() };
    Ok((SparseFile::new(file), identity))
}

/// Opens the same file once more.
pub(super) fn open_again(identity: &Identity) -> Result<SparseFile, Error> {
    let (source, found) = open(&identity.path)?;
    if found.id == identity.id { Ok(source) } else { Err(changed(&identity.path)) }
}
