//! Runs all checks of a netCDF file, and reports everything that it finds.
//!
//! Opening a file stops at the first error of the header. Verifying goes on where the grammar
//! allows it, and compares padding, names, sizes and the length of the file with the rules of the
//! format. Values have no checksums and are not read. The memory is that of [`Header`].

use super::finding::FindingKind;
use super::header::Header;
use super::items::{Attribute, Variable};
use crate::finding::Coverage;
use crate::report::report;
use crate::subject::{Failed, Subject};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "blob")]
use striae_core::cdf::Var;
use striae_core::cdf::define::check_name;
use striae_core::cdf::layout::{LargeVars, padded};
use striae_core::cdf::raw::Header1;
use striae_core::cdf::{Error, Version};
use striae_core::span::Span;

report! {
    FindingKind(Error);
    /// Checks a file and passes each finding to the callback.
    ///
    /// # Errors
    /// An error of the store. Any problem in the contents of the file is a finding.
    pub fn verify;
    /// The size of the verified file, and the number of findings.
    pub struct Summary {
        /// The version of the format; `None` if the header's start is damaged.
        pub version: Option<Version>,
        /// Number of variables.
        pub variables: u64,
        /// Number of records.
        pub numrecs: u64,
        /// The bytes of values; a netCDF file has no checksums.
        pub data: Coverage,
    }
}

fn check<S: Subject>(subject: &S, report: &mut Report<'_>) -> Result<(), Failed<S, Error>> {
    let (header, stopped) = Header::examine(subject, &mut |error| report.go_on(error))?;
    let sum = &mut report.summary;
    (sum.version, sum.numrecs) = (Some(header.version()), header.numrecs());
    for variable in header.variables() {
        sum.variables = sum.variables.saturating_add(1);
        sum.data.add(variable.len());
    }
    check_lists(&header, report);
    for variable in header.variables() {
        check_size(&header, variable, report);
        check_alignment(variable, report);
    }
    check_order(&header, report);
    if stopped.is_none() {
        check_large(&header, report);
        check_len(&header, report);
    }
    Ok(())
}

/// Checks a header without values, which begins at offset `at` of its file, and passes each finding
/// to the callback: names, padding, sizes, and that no value has a place.
#[cfg(feature = "blob")]
pub(crate) fn verify_header(header: &Header, at: u64, each: &mut dyn FnMut(FindingKind)) {
    let mut each = |_, what: FindingKind| each(what.moved(at));
    let report = &mut Report::new(&mut each);
    check_lists(header, report);
    for variable in header.variables() {
        // E3SM-IO takes the dimension of an empty decomposition for the record dimension.
        if !variable.layout().first.is_empty() {
            check_size(header, variable, report);
        }
        let Var { varid: number, begin: value, begin_at: offset, .. } = variable.var();
        if value != 0 {
            report.add(FindingKind::Begin { number, offset, value });
        }
    }
    check_large(header, report);
    let head = header.head();
    if let Some(span) = Span::between(head.header_len, head.file_len).filter(|one| !one.is_empty())
    {
        report.add(FindingKind::Tail { span });
    }
}

/// Checks names, and padding.
fn check_lists(header: &Header, report: &mut Report<'_>) {
    let item = |number: u64| format!("dimension {number}");
    let dims = header.raw_dims();
    check_names(header, dims.iter().map(|dim| dim.name), &item, report);
    check_attributes(header, header.attributes(), "", report);
    let item = |number: u64| format!("variable {number}");
    check_names(header, header.variables().map(|variable| variable.var().name), &item, report);
    for variable in header.variables() {
        let of = format!(" of variable {}", variable.varid());
        check_attributes(header, variable.attributes(), &of, report);
    }
}

fn check_attributes<'h>(
    header: &Header,
    attributes: impl Iterator<Item = Attribute<'h>> + Clone,
    of: &str,
    report: &mut Report<'_>,
) {
    let item = |number: u64| format!("attribute {number}{of}");
    check_names(header, attributes.clone().map(|one| one.attr().name), &item, report);
    for attr in attributes.map(Attribute::attr) {
        check_padding(header, attr.values, || format!("values of {}", item(attr.number)), report);
    }
}

/// Checks the names of a list, and that each is there once.
fn check_names(
    header: &Header,
    names: impl Iterator<Item = Span>,
    item: &dyn Fn(u64) -> String,
    report: &mut Report<'_>,
) {
    let mut sorted: Vec<(&[u8], u64, Span)> =
        (0..).zip(names).map(|(number, span)| (header.part(span), number, span)).collect();
    for &(name, number, span) in &sorted {
        check_padding(header, span, || item(number), report);
        if core::str::from_utf8(name).is_ok_and(|name| check_name(name).is_err()) {
            report.add(FindingKind::Name { item: item(number), offset: span.offset() });
        }
    }
    sorted.sort_unstable_by_key(|(name, number, _)| (*name, *number));
    let mut first = None;
    for (name, number, span) in sorted {
        match first {
            Some((other, first)) if other == name => {
                let (item, offset) = (item(number), span.offset());
                report.add(FindingKind::SameName { item, offset, first });
            }
            _ => first = Some((name, number)),
        }
    }
}

/// Checks that the bytes after `span`, up to a multiple of 4, are null.
fn check_padding(header: &Header, span: Span, item: impl Fn() -> String, report: &mut Report<'_>) {
    let end = padded(span.len()).and_then(|len| span.offset().checked_add(len));
    let Some(padding) = end.and_then(|end| Span::between(span.end(), end)) else { return };
    if header.part(padding).iter().any(|&byte| byte != 0) {
        report.add(FindingKind::Padding { item: item(), span: padding });
    }
}

/// Checks the redundant size.
fn check_size(header: &Header, variable: Variable<'_>, report: &mut Report<'_>) {
    let (var, version) = (variable.var(), header.version());
    let number = var.varid;
    let (value, expected) = (var.vsize, version.stored_vsize(variable.layout().first.len()));
    let offset = var.begin_at.saturating_sub(version.non_neg_len());
    match is_usual_size(header, variable) {
        true if value == expected => {}
        true => report.add(FindingKind::Vsize { number, offset, value, expected }),
        false => report.add(FindingKind::WrongVsize { number, offset, value, expected }),
    }
}

fn check_alignment(variable: Variable<'_>, report: &mut Report<'_>) {
    let var = variable.var();
    if !var.begin.is_multiple_of(4) {
        let (number, offset, value) = (var.varid, var.begin_at, var.begin);
        report.add(FindingKind::Unaligned { number, offset, value });
    }
}

/// Checks that no variable begins in the padding of the one before: of the fixed variables, of the
/// record variables of a record, and of the first record and the fixed variables. That it begins
/// before the end of the values is an error of the header.
fn check_order(header: &Header, report: &mut Report<'_>) {
    let (mut fixed, mut record) = (Ends::default(), Ends::default());
    for variable in header.variables().filter(|variable| !variable.is_record()) {
        fixed.add(variable, report);
    }
    if let Some(first) = header.variables().find(|variable| variable.is_record()) {
        fixed.add(first, report);
    }
    for variable in header.variables().filter(|variable| variable.is_record()) {
        record.add(variable, report);
    }
}

/// Where the variables of a section end that were added.
#[derive(Default)]
struct Ends {
    values: u64,
    padding: u64,
}

impl Ends {
    fn add(&mut self, variable: Variable<'_>, report: &mut Report<'_>) {
        let (var, first) = (variable.var(), variable.layout().first);
        let (value, min) = (var.begin, self.padding);
        if (self.values..min).contains(&value) {
            let (number, offset) = (var.varid, var.begin_at);
            report.add(FindingKind::PaddingOverlap { number, offset, value, min });
        }
        self.values = self.values.max(first.end());
        let padded = padded(first.len()).unwrap_or(u64::MAX);
        self.padding = self.padding.max(first.offset().saturating_add(padded));
    }
}

/// Whether a library stores this `vsize` for the type and the dimensions of the variable
/// (`spec/cdf.md#variables`).
pub(super) fn is_usual_size(header: &Header, variable: Variable<'_>) -> bool {
    let (version, len) = (header.version(), variable.layout().first.len());
    let (stored, computed) = (variable.vsize(), version.stored_vsize(len));
    // Of the only record variable, SciPy stores the size without padding, as records have none; and
    // of each 0 if there are no records. Other programs can add records to such a file only if it
    // has one record variable, as SciPy gives all the same place; they leave the 0.
    let is_only = variable.is_record() && header.head().recsize == len;
    let is_unset = is_only || variable.is_record() && header.numrecs() == 0;
    let is_of_scipy = is_only && stored == len || is_unset && stored == 0;
    // What does not fit was stored by old versions as its low bits, or as 0.
    let low = padded(len).unwrap_or(u64::MAX) & version.streaming();
    let is_cut = computed == version.streaming() && (stored == low || stored == 0);
    stored == computed || is_of_scipy || is_cut
}

/// Checks that only the last variable has more bytes than the version allows.
fn check_large(header: &Header, report: &mut Report<'_>) {
    let mut large = LargeVars::new(header.version());
    let max = header.version().max_len();
    let mut found = |number: u64| {
        let variable = usize::try_from(number).ok().and_then(|varid| header.variable_at(varid));
        let len = variable.map_or(0, |variable| variable.layout().first.len());
        report.add(FindingKind::Large { number, len, max });
    };
    for variable in header.variables() {
        let len = variable.layout().first.len();
        if let Err(number) = large.add(variable.varid(), len, variable.is_record()) {
            found(number);
        }
    }
    if let Some(number) = large.not_last(header.first_record().is_some()) {
        found(number);
    }
}

/// Compares the length of the file with that of all values, and that of a record with its place.
fn check_len(header: &Header, report: &mut Report<'_>) {
    let head = header.head();
    let (whole, file_len) = (header.whole_records(), head.file_len);
    for variable in header.variables().filter(|variable| !variable.is_record()) {
        if let Err(error) = head.record(variable.layout(), 0) {
            report.add(FindingKind::Variable { number: variable.varid(), error });
        }
    }
    let has_records = header.variables().any(|variable| variable.is_record());
    if !has_records && head.numrecs > 0 && !head.is_streaming {
        report.add(FindingKind::NoRecords { records: head.numrecs });
    }
    if head.is_streaming {
        report.add(FindingKind::Streaming { records: head.numrecs });
    } else if header.first_record().is_some() && head.numrecs > whole && head.recsize > 0 {
        let (field, value) = (Header1::numrecs, head.numrecs);
        let error = Error::TooLarge { field, offset: 4, value, max: whole };
        report.add(FindingKind::Wrong(error));
    }
    if let Some(span) = header.overlap(head.numrecs) {
        report.add(FindingKind::Overlap { span, recsize: head.recsize });
    }
    let end = header.file_len(head.numrecs).unwrap_or(u64::MAX);
    if let Some(span) = Span::between(end, file_len).filter(|span| !span.is_empty()) {
        report.add(FindingKind::Tail { span });
    }
}
