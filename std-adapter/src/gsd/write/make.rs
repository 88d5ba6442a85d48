//! A file that replaces another, or none, when it is whole.

use super::lock::lock_replaced;
use crate::error::Error;
use crate::output::Output;
use std::num::NonZeroU32;
use std::path::Path;

/// Lets `make` write the file `out` under a hidden name, and gives it its own when it is whole. No
/// writer can get at the file that it replaces meanwhile: what that one wrote would be lost.
///
/// # Errors
/// Those of `make` and of [`Output::make`]; [`Locked`](crate::error::ErrorKind::Locked) if the file
/// that is to be replaced is being written.
pub(in crate::gsd) fn make<T>(
    output: &Output,
    out: &Path,
    like: &Path,
    make: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let made = output.make(out, NonZeroU32::MIN, Some(like), |publish| {
        let replaced = if output.force { lock_replaced(out)? } else { None };
        Ok((make(&publish.hidden(0))?, replaced))
    });
    made.map(|(made, _)| made)
}
