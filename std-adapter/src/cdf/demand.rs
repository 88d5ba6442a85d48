//! How large an output of a file may be: as the bytes that exist, not as their number with holes.

use super::file::File;
use crate::error::Error;
use crate::store::existing;
use crate::verb::Output;
use striae_core::cdf::raw::Header5;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::{Header, Variable};
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

/// The longest dimension of a variable, and where this header has its length.
pub(crate) fn longest_dimension(variable: Variable<'_>, header: &Header) -> String {
    let name = variable.name().escape_debug();
    let Some(dim) = variable.dims().max_by_key(|dim| dim.length) else {
        return format!("variable {name} has a value by the header");
    };
    let (of, length) = (dim.name.escape_debug(), dim.length);
    if dim.is_record {
        let offset = Header5::numrecs.offset();
        return format!("variable {name} has {length} records by numrecs, at offset {offset}");
    }
    let offset = header.offset_of_length(dim.name).unwrap_or(0); // the header has the dimension
    format!("dimension {of} of variable {name} has the length {length} at offset {offset}")
}
