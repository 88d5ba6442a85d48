//! How large an output of a file may be: as the bytes that exist, not as their number with holes.

use super::file::File;
use crate::blob::longest_dimension;
use crate::error::Error;
use crate::store::existing;
use crate::verb::Output;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Variable;
use striae_inspect::size::{Demand, ROOM};

impl File {
    /// Refuses an output that is larger than the bytes of the file justify that are not in holes,
    /// before its first byte is written. `parts` are the bytes of each variable that go into it.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge), which names the dimension that asks for the
    /// size; an error of the operating system.
    pub fn admit<'v>(
        &self,
        output: &Output,
        parts: impl IntoIterator<Item = (Variable<'v>, u64)>,
    ) -> Result<(), Error> {
        let (mut longest, mut size) = (None, 0_u64);
        for (variable, len) in parts {
            size = size.saturating_add(len);
            if longest.is_none_or(|(_, most)| len > most) {
                longest = Some((variable, len));
            }
        }
        let own = usize_to_u64(self.header().bytes().len());
        let mut demand = Demand { size, existing: u64::MAX, own };
        if size > ROOM || output.allowed().is_some() {
            demand.existing = existing(self.store().file()).map_err(|error| self.error(error))?;
        }
        let because =
            || longest.map_or(String::new(), |(of, _)| longest_dimension(of, self.header()));
        output.admit(self.path(), &demand, because())
    }
}
