//! Every metadata field of a file, with its place, its bytes and its value.

pub use striae_inspect::dump::Line;

use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_inspect::ffrecord::dump as dump_store;

/// Hands over each field of the header and the tables of the file at `path`, as far as it goes.
///
/// # Errors
/// What kept it from finding more, or the first thing that a reader would refuse; the operating
/// system's; whatever `each` returned.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    dump_store(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))
}
