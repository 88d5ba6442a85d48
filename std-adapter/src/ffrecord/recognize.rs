//! Whether a file is an ffrecord file: the format has no magic.

use super::crc32;
use crate::format::Format;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_core::ffrecord::{Head, Reader};
use striae_core::step::DriveError;

/// Whether the file, which starts as none of another format, is an ffrecord file: by its name, which
/// ffrecord asks for, or by what the tables say of each other
/// (`spec/ffrecord.md#recognizing-a-file`).
pub(crate) fn is_ffrecord(path: &Path, file: &PosixFile) -> io::Result<bool> {
    if path.extension().is_some_and(|ending| ending == Format::Ffrecord.ending()) {
        return Ok(true);
    }
    let mut window = vec![0; 1 << 16];
    let reader = Reader::open(file, window.get_mut(..Head::LEN).unwrap_or_default());
    match reader.and_then(|reader| reader.is_consistent(&mut window, crc32)) {
        Ok(is) => Ok(is),
        Err(DriveError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}
