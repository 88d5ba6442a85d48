//! Making a file that appears when it is complete, and may replace another.

use crate::error::Error;
use crate::verb::Output;
use std::num::NonZeroU32;
use std::path::Path;

/// Lets `make` write the file `out` under a hidden name, and renames it when it is complete.
///
/// # Errors
/// The errors of `make` and of [`Output::make`].
pub(in crate::gsd) fn make<T>(
    output: &Output,
    out: &Path,
    like: &Path,
    make: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    output.make(out, NonZeroU32::MIN, Some(like), |publish| make(&publish.hidden(0)))
}
