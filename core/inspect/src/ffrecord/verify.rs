//! Runs all checks of an ffrecord file, and reports everything that it finds.
//!
//! Opening a file checks only the number of samples. Verifying compares the tables with their
//! checksum, checks every offset, and compares every sample whose place is known with its checksum.
//! It keeps at most [`BATCH`] samples in memory.

use super::finding::FindingKind;
use crate::finding::Coverage;
use crate::report::report;
use crate::subject::{Failed, Subject, Sum};
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use striae_core::ffrecord::{Error, Reader, Sample};
use striae_core::span::Span;
use striae_core::step::DriveError;

/// The most samples whose data is read together.
const BATCH: usize = 1 << 14;

/// Length in bytes of the window in which tables are read.
const WINDOW: usize = 1 << 17;

report! {
    FindingKind(Error);
    /// Checks a file and passes each finding to the callback.
    ///
    /// # Errors
    /// An error of the store. Any problem in the contents of the file is a finding.
    pub fn verify;
    /// The size of the verified file, and the number of findings.
    pub struct Summary {
        /// Number of samples; 0 if the header is damaged.
        pub samples: u64,
        /// Number of samples whose bytes were compared with their checksums.
        pub checked: u64,
        /// The amount of sample bytes that was compared with checksums.
        pub data: Coverage,
    }
}

fn check<S: Subject>(subject: &S, report: &mut Report<'_>) -> Result<(), Failed<S, Error>> {
    let mut window = vec![0; WINDOW];
    let reader = Reader::open(subject, &mut window)?;
    let (n, head) = (reader.n(), *reader.head());
    report.summary.samples = n;
    if head.checksum_meta == 0 {
        report.add(FindingKind::Unsummed {});
    }
    match reader.check_meta(&mut window, subject.checksum(Sum::Crc32)) {
        Err(DriveError::Format(error)) => report.add(FindingKind::Wrong(error)),
        checked => checked?,
    }
    let tables = head.layout.header_len();
    // So that the work is bounded by the length of the file, whatever offsets say. With one wrong
    // offset samples have at most twice its bytes: the others are still compared.
    let mut left = Some(head.file_len.saturating_sub(tables).saturating_mul(2));
    let (mut batch, mut told) = (Vec::new(), None);
    let mut samples = reader.samples(0..n, &mut window);
    if n == 0 {
        let rest = Span::between(tables, head.file_len).filter(|rest| !rest.is_empty());
        rest.into_iter().for_each(|span| report.add(FindingKind::NoSamples { span }));
    }
    loop {
        let number = samples.number();
        let sample = match samples.next() {
            None => return check_data(subject, &mut batch, report),
            Some(Ok(sample)) => sample,
            Some(Err(DriveError::Format(error))) => {
                check_data(subject, &mut batch, report)?;
                // One sample ends where the next one starts: an offset is reported once.
                let place = place_of(&error);
                if told.replace(place) != Some(place) {
                    report.add(FindingKind::Sample { number, error });
                }
                continue;
            }
            Some(Err(error)) => return Err(error),
        };
        if number == 0 {
            gap(tables, sample.span.offset(), report);
        }
        report.summary.data.add(sample.span.len());
        let Some(rest) = left else { continue }; // of the others only the offsets are checked
        left = rest.checked_sub(sample.span.len());
        if left.is_none() {
            check_data(subject, &mut batch, report)?;
            report.add(FindingKind::Shared { number });
            continue;
        }
        batch.push(sample);
        if batch.len() == BATCH {
            check_data(subject, &mut batch, report)?;
        }
    }
}

/// Reports bytes between the tables and the first sample.
fn gap(tables: u64, first: u64, report: &mut Report<'_>) {
    if let Some(span) = Span::between(tables, first).filter(|span| !span.is_empty()) {
        report.add(FindingKind::Gap { span });
    }
}

/// Compares these samples with their checksums.
fn check_data<S: Subject>(
    subject: &S,
    batch: &mut Vec<Sample>,
    report: &mut Report<'_>,
) -> Result<(), Failed<S, Error>> {
    let batch = mem::take(batch);
    let spans: Vec<Span> = batch.iter().map(|sample| sample.span).collect();
    let (mut samples, mut failed) = (batch.iter(), Ok(()));
    subject.sums(Sum::Crc32, &spans, &mut |crc| match (samples.next(), crc) {
        (Some(sample), Ok(crc)) => {
            report.summary.checked = report.summary.checked.saturating_add(1);
            report.summary.data.add_checked(sample.span.len());
            if let Err(error) = sample.check_crc(crc) {
                report.add(FindingKind::Sample { number: sample.number, error });
            }
        }
        (_, Err(error)) if failed.is_ok() => failed = Err(error.infallible()),
        _ => {}
    });
    failed
}

/// The offset in the file of the field that an error of the tables is about.
const fn place_of(error: &Error) -> u64 {
    match *error {
        Error::TooSmall { offset, .. } | Error::TooLarge { offset, .. } => offset,
        _ => 0,
    }
}
