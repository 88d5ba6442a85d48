//! Making a file that appears when it is complete, and may replace another.

use crate::error::Error;
use crate::store::lock::lock_replaced;
use crate::verb::Output;
use std::num::NonZeroU32;
use std::path::Path;

/// Lets `make` write the file `out` under a hidden name, and renames it when it is complete. The
/// file that it replaces is locked against writers meanwhile: their data would be lost.
///
/// # Errors
/// The errors of `make` and of [`Output::make`]; [`Locked`](crate::error::ErrorKind::Locked) if
/// another writer has the file that is to be replaced.
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
