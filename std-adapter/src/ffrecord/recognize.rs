//! Whether a file is an ffrecord file: the format has no magic.

use super::crc32;
use crate::posix::PosixFile;
use std::io;
use striae_core::ffrecord::{Head, Reader};
use striae_core::step::DriveError;

/// Whether the file, which starts as none of another format, is an ffrecord file by what its tables
/// say of each other (`spec/ffrecord.md#recognizing-a-file`).
pub(crate) fn is_ffrecord(file: &PosixFile) -> io::Result<bool> {
    let mut window = vec![0; 1 << 16];
    let reader = Reader::open(file, window.get_mut(..Head::LEN).unwrap_or_default());
    match reader.and_then(|reader| reader.is_consistent(&mut window, crc32)) {
        Ok(is) => Ok(is),
        Err(DriveError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}
