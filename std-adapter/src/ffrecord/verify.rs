//! Checks all that can be checked of a file, and reports everything that it finds.
//!
//! Opening a file looks at nothing but the number of samples. Verifying compares the tables with their
//! checksum, looks at every offset, and compares every sample that has a place with its checksum.

use super::crc32;
use super::file::File;
use crate::direct;
use crate::error::{Error as FileError, ErrorKind};
use crate::finding::Severity;
use crate::store::bulk::Ahead;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use striae_core::ffrecord::{Error, Sample};
use striae_core::span::Span;
use striae_core::step::DriveError;

pub use crate::finding::{Coverage, Facts, Value};
use striae_core::store::usize_to_u64;

/// Something that is wrong or unusual. Its `Display` is one line, without the severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file that it is in.
    pub file: Arc<Path>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub what: FindingKind,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// The header or the tables are damaged.
    Wrong(Error),
    /// A sample is damaged, or where it should start or end.
    Sample {
        /// Its number.
        number: u64,
        /// What is wrong.
        error: Error,
    },
    /// The header has no checksum of the tables, as in files of old versions: nobody can say whether
    /// a number of them changed.
    Unsummed,
    /// Bytes between the tables and the first sample, which belong to none.
    Gap(Span),
    /// Samples have more than twice the bytes of the file together, so that many share some: those
    /// from this one on were not compared with their checksums.
    Shared {
        /// The first of them.
        number: u64,
    },
    /// The file became shorter while it was read.
    Ended {
        /// Where a byte was expected.
        offset: u64,
    },
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(error) => error.fmt(f),
            Self::Sample { number, error } => write!(f, "sample {number}: {error}"),
            Self::Unsummed => f.write_str(
                "header.checksum_meta at offset 0 is 0: the tables have no checksum, as in files of \
                 old versions",
            ),
            Self::Gap(span) => write!(
                f,
                "{} bytes at offset {} between the tables and the first sample belong to none",
                span.len(),
                span.offset()
            ),
            Self::Shared { number } => write!(
                f,
                "samples have more than twice the bytes of the file together: those from sample \
                 {number} on were not compared with their checksums"
            ),
            Self::Ended { offset } => {
                write!(f, "the file ended at offset {offset} while it was read")
            }
        }
    }
}

impl FindingKind {
    const fn severity(&self) -> Severity {
        match self {
            Self::Unsummed | Self::Gap(_) => Severity::Note,
            _ => Severity::Damage,
        }
    }
}

/// What was verified, and how much was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Samples; 0 if the header is damaged.
    pub samples: u64,
    /// Samples whose bytes were compared with their checksums.
    pub checked: u64,
    /// How much of the bytes of samples was compared with checksums.
    pub data: Coverage,
    /// Findings of [`Severity::Damage`].
    pub damage: u64,
    /// Findings of [`Severity::Note`].
    pub notes: u64,
}

impl Summary {
    /// Whether no damage was found; in what was checked: see [`Coverage`].
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.damage == 0
    }
}

/// Checks the file at `path`, and hands over what it finds, one after another.
///
/// # Errors
/// The operating system's. Whatever is wrong with the contents of the file is a finding.
pub fn verify(path: &Path, each: &mut dyn FnMut(Finding)) -> Result<Summary, FileError> {
    verify_seen(path, each, &|_| {})
}

/// The same, and tells `progress` the length of each piece of data that was checked: of
/// [`checked_bytes`] in all, or at most twice that if samples share bytes.
///
/// # Errors
/// As [`verify`].
pub fn verify_seen(
    path: &Path,
    each: &mut dyn FnMut(Finding),
    progress: &dyn Fn(u64),
) -> Result<Summary, FileError> {
    verify_with(path, None, each, progress)
}

/// The same, and reads samples past the page cache, as far as that can be, if there are options for that. What is
/// found is the same.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    direct: Option<direct::OpenOptions>,
    each: &mut dyn FnMut(Finding),
    progress: &dyn Fn(u64),
) -> Result<Summary, FileError> {
    let mut report = Report { file: Arc::from(path), each, summary: Summary::default() };
    let opened = File::open_direct(path, direct);
    match opened.and_then(|file| check(&file, &mut report, progress)) {
        Ok(()) => Ok(report.summary),
        Err(error) => match *error.kind() {
            ErrorKind::Ffrecord(wrong) => {
                report.add(FindingKind::Wrong(wrong));
                Ok(report.summary)
            }
            ErrorKind::Ended { offset } => {
                report.add(FindingKind::Ended { offset });
                Ok(report.summary)
            }
            _ => Err(error),
        },
    }
}

/// Bytes behind the tables of the file at `path`; 0 if it cannot be read.
#[must_use]
pub fn checked_bytes(path: &Path) -> u64 {
    File::open(path).map_or(0, |file| bytes_of(&file))
}

/// Bytes behind the tables.
const fn bytes_of(file: &File) -> u64 {
    let head = file.head();
    head.file_len.saturating_sub(head.layout.header_len())
}

struct Report<'a> {
    file: Arc<Path>,
    each: &'a mut dyn FnMut(Finding),
    summary: Summary,
}

impl Report<'_> {
    fn add(&mut self, what: FindingKind) {
        let severity = what.severity();
        let count = match severity {
            Severity::Damage => &mut self.summary.damage,
            Severity::Note => &mut self.summary.notes,
        };
        *count = count.saturating_add(1);
        (self.each)(Finding { file: Arc::clone(&self.file), severity, what });
    }
}

fn check(file: &File, report: &mut Report<'_>, progress: &dyn Fn(u64)) -> Result<(), FileError> {
    report.summary.samples = file.n();
    check_tables(file, report)?;
    let mut left = bytes_of(file).saturating_mul(2);
    let mut ahead = Ahead::default();
    // Where the offset stands that was told last: of two samples, one ends and one starts there.
    let mut told = None;
    let mut samples = file.samples();
    loop {
        let number = samples.number();
        let sample = match samples.next() {
            None => return Ok(()),
            Some(Ok(sample)) => sample,
            Some(Err(error)) => {
                let ErrorKind::Sample { error: wrong, .. } = *error.kind() else {
                    return Err(error);
                };
                let place = place_of(&wrong);
                if told != Some(place) {
                    report.add(FindingKind::Sample { number, error: wrong });
                }
                told = Some(place);
                continue;
            }
        };
        report.summary.data.add(sample.span.len());
        // So that the work is bounded by the length of the file, whatever offsets say. With one
        // wrong offset samples have at most twice its bytes: the others are still compared.
        let Some(rest) = left.checked_sub(sample.span.len()) else {
            report.add(FindingKind::Shared { number });
            return Ok(());
        };
        left = rest;
        check_sample((file, &sample), &mut ahead, report, progress)?;
    }
}

fn check_tables(file: &File, report: &mut Report<'_>) -> Result<(), FileError> {
    let head = file.head();
    if head.checksum_meta == 0 {
        report.add(FindingKind::Unsummed);
    }
    if let Err(error) = file.check_meta() {
        let ErrorKind::Ffrecord(wrong) = *error.kind() else { return Err(error) };
        report.add(FindingKind::Wrong(wrong));
    }
    let tables = head.layout.header_len();
    let first = match file.samples().next() {
        None => head.file_len,
        Some(Ok(first)) => first.span.offset(),
        Some(Err(_)) => tables, // it is told with the others
    };
    match first.checked_sub(tables).and_then(|len| Span::new(tables, len)) {
        Some(gap) if !gap.is_empty() => report.add(FindingKind::Gap(gap)),
        _ => {}
    }
    Ok(())
}

fn check_sample(
    (file, sample): (&File, &Sample),
    ahead: &mut Ahead,
    report: &mut Report<'_>,
    progress: &dyn Fn(u64),
) -> Result<(), FileError> {
    let mut crc = 0;
    let read = ahead.read_pieces(file.bulk(), sample.span, &mut |bytes| {
        crc = crc32(crc, bytes);
        progress(usize_to_u64(bytes.len()));
        true
    });
    read.map_err(|error: DriveError<_, Error>| file.error(error))?;
    report.summary.checked = report.summary.checked.saturating_add(1);
    report.summary.data.add_checked(sample.span.len());
    if let Err(error) = sample.check_crc(crc) {
        report.add(FindingKind::Sample { number: sample.number, error });
    }
    Ok(())
}

/// Where the field stands that an error of the tables is about.
const fn place_of(error: &Error) -> u64 {
    match *error {
        Error::TooSmall { offset, .. } | Error::TooLarge { offset, .. } => offset,
        _ => 0,
    }
}
