//! File names as messages show them.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use striae_hoomd::shown::Shown;

/// The name of a file as messages show it.
#[must_use]
pub fn path(path: &Path) -> Shown<'_> {
    Shown::new(path.as_os_str().as_bytes())
}
