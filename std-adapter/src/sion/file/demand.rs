//! How large an output of a set may be: as the bytes that exist, not as their number with holes.

use super::File;
use crate::error::Error;
use crate::store::existing;
use crate::verb::Output;
use striae_inspect::size::Demand;

impl File {
    /// Refuses to copy this number of bytes out of the set, if most of them are holes and `output`
    /// does not allow so many.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge); an error of the operating system.
    pub fn admit(&self, output: &Output, size: u64) -> Result<(), Error> {
        // Little is admitted in any case, so holes need not be looked up.
        let least = Demand { size, existing: 0, own: 0 };
        if output.allowed().is_none() && least.is_fair() {
            return Ok(());
        }
        let existing = self.existing()?;
        let because = format_args!("META2.blocksize makes streams of {size} bytes");
        output.admit(self.path(), &Demand { existing, ..least }, because)
    }

    /// The number of bytes of all files of the set that are not in holes.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(in crate::sion) fn existing(&self) -> Result<u64, Error> {
        self.reader.files().iter().try_fold(0_u64, |sum, file| {
            let store = file.store();
            let found = store.file().and_then(|file| existing(&file));
            Ok(sum.saturating_add(found.map_err(|error| Error::new(store.path(), error))?))
        })
    }
}
