//! Checks that variables that are not decomposed have the same values in each subfile.

use super::{Check, Failure, Known, Member, Report};
use crate::blob::finding::FindingKind;
use crate::blob::grammar::Variable;
use crate::cdf::values::swap;
use crate::subject::{Files, Subject, Sum, WINDOW, read_windows};
use alloc::vec::Vec;
use striae_core::cdf::Layout;
use striae_core::endian::ByteOrder;
use striae_core::integrity::Checksum;
use striae_core::span::Span;

/// The length and the checksum of values that are in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Copied {
    len: u64,
    sum: u32,
}

impl<F: Files + ?Sized> Check<'_, F> {
    /// Compares the copies of each variable with that in the first subfile, which counts. Those in
    /// damaged netCDF files are not compared: the number of records may be any number there.
    pub(super) fn each_copy(&self, set: &Known, report: &mut Report<'_>) {
        let variables = &set.canonical().variables;
        let is_whole = |(_, variable): &(u64, &Variable)| variable.decomposition.is_none();
        let whole: Vec<_> = (0..).zip(variables).filter(is_whole).collect();
        let mut first: Option<Vec<Option<Copied>>> = None;
        if self.members.len() < 2 || self.members.iter().take(1).any(|first| first.is_damaged) {
            return;
        }
        for member in self.members.iter().filter(|member| !member.is_damaged) {
            let mut own = Vec::new();
            report.file = member.number;
            let done = self.copies(member, &whole, &mut own);
            done.unwrap_or_else(|error| report.failed(error));
            let Some(first) = &first else {
                first = Some(own);
                continue;
            };
            for (&(number, variable), (first, own)) in whole.iter().zip(first.iter().zip(own)) {
                // Of a file that is cut, this is reported.
                if let (Some(first), Some(own)) = (first, own)
                    && first.len == own.len
                    && first.sum != own.sum
                {
                    let name = variable.name.clone();
                    report.add(FindingKind::Copies { number, name }.into());
                }
            }
        }
    }

    /// The copies in a subfile.
    fn copies(
        &self,
        member: &Member,
        variables: &[(u64, &Variable)],
        into: &mut Vec<Option<Copied>>,
    ) -> Result<(), Failure<F>> {
        let store = self.open(member)?;
        let checksum = store.checksum(Sum::Crc32c);
        for &(number, variable) in variables {
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            let width = variable.nc_type.size();
            let of = (variable.is_record, width);
            let layout = match member.subfile.found {
                0 => None, // its blob 0 is lost
                _ => member.subfile.whole(index, variable.count, of),
            };
            let mut copied = Copied { len: 0, sum: 0 };
            let records = if variable.is_record { member.subfile.numrecs } else { 1 };
            for record in 0..records {
                let span = layout.and_then(|layout| place(layout, record));
                let Some(span) = span.filter(|span| span.fits(member.subfile.file_len)) else {
                    break;
                };
                if span.is_empty() {
                    break;
                }
                copied.sum = sum(&store, span, (copied.sum, checksum), |bytes| {
                    if member.subfile.order() == ByteOrder::Little {
                        swap(bytes, width);
                    }
                })?;
                copied.len = copied.len.saturating_add(span.len());
            }
            into.push(layout.map(|_| copied));
        }
        Ok(())
    }
}

/// The place of a record, or of all values.
fn place(layout: Layout, record: u64) -> Option<Span> {
    match layout.recsize {
        Some(_) => layout.record(record),
        None => Some(layout.first),
    }
}

/// The checksum of values, as `order` orders them.
fn sum<S: Subject>(
    store: &S,
    span: Span,
    (mut sum, checksum): (u32, Checksum),
    order: impl Fn(&mut [u8]),
) -> Result<u32, crate::subject::Failed<S, crate::blob::Flaw>> {
    let mut values = Vec::new();
    read_windows(store, span, WINDOW, &mut Vec::new(), |_, bytes| {
        values.clear();
        values.extend_from_slice(bytes);
        order(&mut values);
        sum = checksum(sum, &values);
        Ok(true)
    })?;
    Ok(sum)
}
