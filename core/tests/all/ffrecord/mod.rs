//! ffrecord files: those that ffrecord wrote read as they were written; any bytes are read right,
//! or the answer is an error that names what is wrong.
//!
//! The files are described in `tests/golden/ffrecord/README.md`. This test needs nothing but
//! `core`, so that it also runs on big-endian and 32-bit hosts.

mod golden;
mod hostile;

use std::path::Path;
use striae_core::ffrecord::{Error, Reader};
use striae_core::step::DriveError;

type File<'a> = Reader<&'a [u8]>;

fn open(bytes: &[u8]) -> Result<File<'_>, Error> {
    Reader::open(bytes, &mut [0; 12]).map_err(format_error)
}

fn format_error<S: std::fmt::Debug>(error: DriveError<S, Error>) -> Error {
    match error {
        DriveError::Format(error) => error,
        error => panic!("{error:?}"),
    }
}

fn golden_file(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/ffrecord");
    std::fs::read(dir.join(name)).unwrap()
}
