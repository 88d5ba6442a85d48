//! The number of records that a subfile states, compared with what it has and with the set.

use super::Set;
use crate::blob::subfile::Head;
use crate::blob::{Container, Flaw};
use crate::error::{Error, ErrorKind as AnyError};
use crate::posix::PosixFile;
use striae_core::cdf;
use striae_core::cdf::raw::Header5;
use striae_core::store::ReadAt;

/// The error of a CDF-5 subfile that counts records of which it has no value. If it were believed,
/// a few bytes would make an array of any length.
pub(super) fn wrong_numrecs(head: &Head, file_len: u64) -> Option<cdf::Error> {
    let value = head.grammar.numrecs.filter(|_| head.container() == Container::Cdf)?;
    let max = head.records_in(file_len);
    let (field, offset) = (Header5::numrecs, Header5::numrecs.offset().into());
    let is_wrong = value > max && head.grammar.recsize > 0;
    is_wrong.then_some(cdf::Error::TooLarge { field, offset, value, max })
}

impl Set {
    /// Loses a subfile whose number of records is wrong: it has no value of the last ones, or has
    /// fewer than the set. It may have more: an append that a crash has ended, or that is not over,
    /// counts the records of the first subfile last (`spec/blob.md#seals`).
    pub(super) fn check_records(
        &self,
        number: u32,
        file: &PosixFile,
        head: &Head,
    ) -> Result<(), AnyError> {
        let lose = |error, values| {
            self.lose(number, Flaw::Cdf(error).into(), values).map_err(Error::into_kind)
        };
        if let Some(error) = wrong_numrecs(head, file.size()?) {
            return lose(error, Some(0)); // values that are not there are counted when they are read
        }
        let (field, offset) = (Header5::numrecs, Header5::numrecs.offset().into());
        let min = self.source.numrecs;
        match head.grammar.numrecs.filter(|&value| self.is_counted && value < min) {
            Some(value) => lose(cdf::Error::TooSmall { field, offset, value, min }, None),
            None => Ok(()),
        }
    }
}
