//! Checks the fixed part of META1.

use super::{Failed, Report};
use crate::subject::read;
use alloc::vec::Vec;
use alloc::{format, vec};
use striae_core::field::FieldId;
use striae_core::sion::{Error, FormatVersion, KeyvalMode, Meta1, raw};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The fixed part of META1, even if some of its fields are wrong.
#[derive(Debug)]
pub(crate) struct Fixed {
    /// Its bytes in the file, as many as there are.
    pub(crate) bytes: Vec<u8>,
    /// Length of the file.
    pub(crate) file_len: u64,
    /// The parsed META1, in which a wrong field has its smallest allowed value; `None` if the rest
    /// of the file cannot be found because of an error.
    pub(crate) meta1: Option<Meta1>,
    /// All errors in it.
    pub(crate) errors: Vec<Error>,
}

impl Fixed {
    /// Reads the fixed part; continues after a wrong field.
    pub(crate) fn read<S: ReadAt>(store: &S) -> Result<Self, Failed<S>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let len = usize::try_from(file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
        let mut bytes = vec![0; len];
        read(store, 0, &mut bytes)?;

        Ok(Self::parse(bytes, file_len))
    }

    /// Parses the first `bytes` of a file of `file_len` bytes.
    pub(crate) fn parse(bytes: Vec<u8>, file_len: u64) -> Self {
        let mut errors = Vec::new();
        let meta1 = Meta1::judge(&bytes, file_len, |error| {
            errors.push(error);
            Ok(())
        });
        let meta1 = meta1.map_err(|error| errors.push(error)).ok();
        Self { bytes, file_len, meta1, errors }
    }

    /// Whether this field is wrong.
    pub(crate) fn is_wrong(&self, wanted: FieldId) -> bool {
        let is_it =
            |error: &Error| matches!(*error, Error::TooSmall { field, .. } if field == wanted);
        self.errors.iter().any(is_it)
    }

    /// Reports errors and unusual values.
    pub(super) fn check(&self, report: &mut Report<'_>) {
        for error in &self.errors {
            report.wrong(*error);
        }
        if let Some(meta1) = &self.meta1 {
            self.check_ident(meta1, report);
            check_filenumber(meta1, report);
            check_flags(meta1, report);
            self.check_prefix(meta1, report);
        }
    }

    fn check_ident(&self, meta1: &Meta1, report: &mut Report<'_>) {
        let field = raw::Ident::endianness;
        if let Some(&[b0, b1, b2, b3]) = self.bytes.get(4..8) {
            // sion_internal.c:1140 writes 0 or 1, and the same in reverse.
            let usual = [b0 & 1, b1 & 1, b1 & 1, b0 & 1];
            if [b0, b1, b2, b3] != usual {
                let text = |bytes: [u8; 4]| format!("{bytes:02x?}");
                report.unusual(field, 4, text([b0, b1, b2, b3]), text(usual));
            }
        }
        let (version, _) = meta1.library_version();
        if version < 1000 {
            report.unusual(raw::Ident::version, 8, version, "1000 to 1999");
        }
    }

    fn check_prefix(&self, meta1: &Meta1, report: &mut Report<'_>) {
        let field = meta1.prefix_field();
        let padded = self.bytes.get(usize::from(field.offset())..).unwrap_or_default();
        let padded = padded.get(..1024).unwrap_or(padded);
        let Some(nul) = padded.iter().position(|&byte| byte == 0) else {
            let usual = "ended by one";
            return report.unusual(field, field.offset().into(), "1024 bytes without a NUL", usual);
        };
        let behind = padded.iter().zip(u64::from(field.offset())..).skip(nul);
        if let Some((byte, offset)) = behind.into_iter().find(|(byte, _)| **byte != 0) {
            report.unusual(field, offset, format_args!("{byte:#04x} behind its NUL"), 0);
        }
    }
}

/// Checks filenumber of the only file of a set: 1 if it was written serially, else 0. No reader
/// uses it.
fn check_filenumber(meta1: &Meta1, report: &mut Report<'_>) {
    let (Some(number), nfiles) = (meta1.filenumber(), meta1.nfiles()) else { return };
    let field = raw::Meta1::filenumber;
    if nfiles == 1 && number > 1 {
        report.unusual(field, field.offset().into(), number, "0 or 1 in the only file of a set");
    } else if nfiles > 1 && number >= nfiles {
        let usual = format_args!("below {nfiles}, the number of files");
        report.unusual(field, field.offset().into(), number, usual);
    }
}

/// Checks the flags: flag1 has a meaning only in fileformat_version 5, flag2 never.
fn check_flags(meta1: &Meta1, report: &mut Report<'_>) {
    let (flag1, flag2) = meta1.flags();
    if meta1.fileformat_version() == FormatVersion::V5 {
        let (field, offset) = (raw::Meta1::flag1, u64::from(raw::Meta1::flag1.offset()));
        if flag1 & 0xffff_ffff != 0 {
            let usual = "a multiple of 2^32";
            report.unusual(field, offset, flag1, usual);
        }
        if let KeyvalMode::Other(mode) = meta1.keyval() {
            let value = format_args!("{mode} times 2^32, a mode that was never implemented");
            report.unusual(field, offset, value, "50 or 51 times 2^32");
        }
    }
    if flag2 != 0 {
        let field = raw::Meta1::flag2;
        report.unusual(field, field.offset().into(), flag2, 0);
    }
}
