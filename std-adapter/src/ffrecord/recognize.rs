//! Recognizes ffrecord files, which have no magic.

use super::crc32;
use crate::posix::PosixFile;
use std::io;
use striae_core::ffrecord::{Head, Reader};
use striae_core::step::DriveError;

/// Whether the file is an ffrecord file, by the consistency of its tables
/// (`spec/ffrecord.md#recognizing-a-file`). The caller has excluded all other formats.
pub(crate) fn is_ffrecord(file: &PosixFile) -> io::Result<bool> {
    let mut window = vec![0; 1 << 16];
    let reader = Reader::open(file, window.get_mut(..Head::LEN).unwrap_or_default());
    match reader.and_then(|reader| reader.is_consistent(&mut window, crc32)) {
        Ok(is) => Ok(is),
        Err(DriveError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}
