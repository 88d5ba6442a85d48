//! The number of records that a subfile states, compared with what it has and with the set.

use super::Set;
use crate::blob::subfile::Head;
use crate::blob::{Container, Flaw};
use crate::error::{Error, ErrorKind as AnyError};
use crate::posix::PosixFile;
use std::cmp::Ordering;
use std::convert::Infallible;
use striae_core::cdf;
use striae_core::cdf::raw::Header5;
use striae_core::store::ReadAt;
use striae_inspect::blob::verdict::steady;

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
    /// fewer than the set. One that has more is named, and loses nothing, if no seal says that an
    /// append was cut: the first subfile is the last one whose records are counted
    /// (`spec/blob.md#which-subfiles-belong-together`).
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
        let numrecs = self.source.numrecs;
        let (Some(value), Some(first)) = (head.grammar.numrecs, self.counting) else {
            return Ok(());
        };
        match value.cmp(&numrecs) {
            Ordering::Less => {
                lose(cdf::Error::TooSmall { field, offset, value, min: numrecs }, None)
            }
            Ordering::Greater if !self.tied.contains(&number) && !self.has_now(first, value) => {
                lose(cdf::Error::TooLarge { field, offset, value, max: numrecs }, Some(0))
            }
            Ordering::Greater | Ordering::Equal => Ok(()),
        }
    }

    /// Whether a subfile has so many records by now, because another process appends.
    fn has_now(&self, number: u32, value: u64) -> bool {
        let numrecs = || -> Result<_, Infallible> {
            let index = self.names.numbers().binary_search(&number).ok();
            let file = index.and_then(|index| self.files.get(index).ok());
            let head = file.and_then(|bulk| Head::read(&**bulk.file()).ok());
            Ok(head.and_then(|head| head.grammar.numrecs))
        };
        let is_enough = |numrecs: &Option<u64>| numrecs.is_some_and(|numrecs| numrecs >= value);
        let Ok(numrecs) = steady(is_enough, numrecs);
        is_enough(&numrecs)
    }
}
