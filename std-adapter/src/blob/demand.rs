//! How large an output of a set may be: as the subfiles that exist, not as a header says.

use super::Container;
use super::set::Set;
use crate::cdf::demand::longest_dimension;
use crate::error::Error;
use crate::shown;
use crate::store::existing;
use crate::verb::Output;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Variable;
use striae_inspect::size::{Demand, ROOM};

/// What padding a variable may need.
const PADDING: u64 = 3;

impl Set {
    /// Refuses an output that is larger than the subfiles justify, before its first byte is
    /// written. `parts` are the bytes of each variable of the [header](Self::header) that goes into
    /// it. Returns the bytes of the subfiles that exist, or `u64::MAX` if they do not matter.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge), which names the dimension that asks for the
    /// size; an error of the operating system.
    pub fn admit<'v>(
        &self,
        output: &Output,
        parts: impl IntoIterator<Item = (Variable<'v>, u64)>,
    ) -> Result<u64, Error> {
        let (mut longest, mut sum, mut count) = (None, 0_u64, 0_u64);
        for (variable, len) in parts {
            (sum, count) = (sum.saturating_add(len), count.saturating_add(1));
            if longest.is_none_or(|(_, most)| len > most) {
                longest = Some((variable, len));
            }
        }
        let header = usize_to_u64(self.header().bytes().len());
        let own = header.saturating_add(count.saturating_mul(PADDING));
        let (size, mut existing) = (sum.saturating_add(own), u64::MAX);
        if size > ROOM {
            existing = self.existing()?;
        }
        let because = || longest.map_or(String::new(), |(variable, _)| self.asks(variable));
        output.admit(self.path(), &Demand { size, existing, own }, because())?;
        Ok(existing)
    }

    /// The bytes of all subfiles that are not in holes.
    fn existing(&self) -> Result<u64, Error> {
        let mut sum = 0_u64;
        for (index, number) in self.numbers() {
            let found = self.file(index).and_then(|file| Ok(existing(file.file())?));
            match found {
                Ok(bytes) => sum = sum.saturating_add(bytes),
                Err(error) => self.lose(number, error, None)?,
            }
        }
        Ok(sum)
    }

    /// Why a variable has its length: the dimension or the number of records, and where the
    /// subfile says so whose header counts.
    fn asks(&self, variable: Variable<'_>) -> String {
        let path = self.subfile_path(self.truth());
        let what = longest_dimension(variable, self.own_header());
        let part = if self.container() == Container::Hdf5 { "the header of " } else { "" };
        format!("{what} of {part}{}", shown::path(&path))
    }
}
