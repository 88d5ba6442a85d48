//! Every metadata field of a file, with its place, its bytes and its value.

pub use striae_inspect::dump::Line;

use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_inspect::sion::dump as dump_store;

/// Hands over every metadata field of the physical file at `path`, which may be damaged, cut, or
/// not closed: as many as can be found.
///
/// # Errors
/// What kept it from finding more, or the first thing that a reader would refuse; the operating
/// system's; whatever `each` returned.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    dump_store(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))
}
