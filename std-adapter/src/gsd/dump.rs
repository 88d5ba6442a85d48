//! All metadata fields of a file, with their offsets, bytes and values.

pub use striae_inspect::dump::Line;

use super::file::File;
use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_inspect::gsd::dump as dump_store;

/// Calls `each` with every metadata field of the file at `path`. The file may be damaged or cut:
/// then with all fields that can be found.
///
/// # Errors
/// The reason why the search ended early, or the first error that a reader would report; an error
/// of the operating system; an error of `each`.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    dump_store(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))?;
    File::open(path)?.chunks().try_for_each(|chunk| chunk.map(drop))
}
