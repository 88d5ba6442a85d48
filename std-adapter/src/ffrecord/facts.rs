//! What a finding says, as values with stable names: for programs.

use super::verify::{Finding, FindingKind};
use crate::finding::{Facts, kind};
use striae_core::ffrecord::{Error, raw};

impl Finding {
    /// What it says, as values.
    #[must_use]
    pub fn facts(&self) -> Facts {
        match self.what {
            FindingKind::Wrong(error) => of_error(&error),
            FindingKind::Sample { number, error } => {
                Facts { sample: Some(number), ..of_error(&error) }
            }
            FindingKind::Unsummed => {
                kind("no_checksum").field(raw::TABLES, raw::Header::checksum_meta, 0).value(0)
            }
            FindingKind::Gap(span) => kind("gap").span(span.offset(), span.len()),
            FindingKind::Shared { number } => Facts { sample: Some(number), ..kind("shared") },
            FindingKind::Ended { offset } => Facts { offset: Some(offset), ..kind("ended") },
        }
    }
}

fn of_error(error: &Error) -> Facts {
    match *error {
        Error::Cut { file_len } => kind("cut").span(0, file_len),
        Error::TooSmall { field, offset, value, min } => {
            kind("too_small").field(raw::TABLES, field, offset).value(value).min(min)
        }
        Error::TooLarge { field, offset, value, max } => {
            kind("too_large").field(raw::TABLES, field, offset).value(value).max(max)
        }
        Error::Checksum { field, offset, stored, computed } => {
            kind("checksum").field(raw::TABLES, field, offset).crcs(stored, computed)
        }
        _ => kind("damage"), // errors that blame the caller are no findings
    }
}
