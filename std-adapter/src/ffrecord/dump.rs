//! Lists every metadata field of a file, with its offset, bytes and value.

pub use striae_inspect::dump::Line;

use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_inspect::ffrecord::dump as dump_store;

/// Passes each field of the header and the tables of the file at `path` to `each`. The file may be
/// damaged or cut; as many fields as possible are found.
///
/// # Errors
/// The reason why no more fields were found, or the first error that a reader of the file would
/// return; an error of the operating system; an error that `each` returned.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    dump_store(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))
}
