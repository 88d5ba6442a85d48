//! Lists every metadata field of a subfile, with its offset, bytes and value.

pub use striae_inspect::dump::Line;

use super::subfiles_of;
use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_inspect::blob::dump as dump_store;

/// Passes each field of the header and of the seal of the subfile at `path`, or of the first
/// subfile of the set, to `each`. The file may be damaged; the fields before the damage are passed,
/// and all of a damaged seal.
///
/// # Errors
/// The reason why no more fields were found; an error of the operating system; an error that `each`
/// returned.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let paths = subfiles_of(path)?;
    let path = paths.first().map_or(path, |first| first.as_path());
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    dump_store(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))
}
