//! The records that a file has, whatever its header says.

use super::header::Header;
use striae_core::cdf::Error;
use striae_core::cdf::layout::{Sections, padded, whole_records};
use striae_core::span::Span;

impl Header {
    /// The place of the first record of the variables with records, from the first value to the
    /// last one.
    pub(super) fn first_record(&self) -> Option<Span> {
        let mut spans = self.variables().filter(|one| one.is_record());
        let mut spans = spans.by_ref().map(|variable| variable.layout().first);
        let first = spans.next()?;
        Span::between(first.offset(), spans.last().unwrap_or(first).end())
    }

    /// The place of the first record, if `records` of them overlap since the record variables have
    /// gaps.
    pub(super) fn overlap(&self, records: u64) -> Option<Span> {
        self.first_record().filter(|first| records > 1 && first.len() > self.head().recsize)
    }

    /// The number of records whose values are all in the file. The padding after the last one may
    /// be missing.
    #[must_use]
    pub fn whole_records(&self) -> u64 {
        let Self { head, .. } = self;
        let whole = |first| whole_records(first, head.recsize, head.file_len);
        self.first_record().map_or(0, whole)
    }

    /// Checks where the variables begin, as [`read`](Self::read) does and [`parse`](Self::parse)
    /// does not.
    ///
    /// # Errors
    /// [`Error::TooSmall`] if one begins in the header or before the end of the one before.
    pub fn check_begins(&self) -> Result<(), Error> {
        let mut sections = Sections::default();
        for variable in self.variables() {
            let (var, first) = (variable.var(), variable.layout().first);
            sections.add(first, var.begin_at, variable.is_record())?;
        }
        sections.finish(self.head().header_len).into_iter().collect()
    }

    /// The end of the fixed variables, with the padding of the last one.
    pub(super) fn fixed_end(&self) -> u64 {
        let fixed = self.variables().filter(|one| !one.is_record());
        let ends = fixed.filter_map(|one| {
            let first = one.layout().first;
            first.offset().checked_add(padded(first.len())?)
        });
        ends.fold(self.head().header_len, u64::max)
    }

    /// The length of a file with these variables and `records` records; `None` if it exceeds
    /// `u64::MAX`.
    #[must_use]
    pub fn file_len(&self, records: u64) -> Option<u64> {
        let (Some(first), Some(before)) = (self.first_record(), records.checked_sub(1)) else {
            return Some(self.fixed_end());
        };
        let recsize = self.head().recsize;
        // A record with gaps between its variables is longer than the next one is away.
        let last = first.offset().checked_add(before.checked_mul(recsize)?)?;
        last.checked_add(first.len().max(recsize))
    }
}
