//! Classic netCDF files: those that netCDF-C and PnetCDF wrote read as they were written; any bytes
//! are read right, or the answer is an error that names what is wrong.
//!
//! The files are described in `tests/golden/cdf/README.md`.

mod encode;
mod golden;
mod hostile;
mod made;
mod slabs;
mod views;
mod writer;

use std::path::{Path, PathBuf};
use striae_core::cdf::{Error, Reader};
use striae_core::step::DriveError;

type File<'m, 'a> = Reader<'m, &'a [u8]>;

/// Opens a file of at most 64 dimensions.
fn open<'m, 'a>(bytes: &'a [u8], lengths: &'m mut [u64; 64]) -> Result<File<'m, 'a>, Error> {
    Reader::open(bytes, lengths, &mut vec![0; 1 << 16]).map_err(format_error)
}

fn format_error<S: std::fmt::Debug>(error: DriveError<S, Error>) -> Error {
    match error {
        DriveError::Format(error) => error,
        error => panic!("{error:?}"),
    }
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/cdf")
}

fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(golden_dir().join(name)).unwrap()
}

/// Names of all golden files, without `.nc`.
fn golden_names() -> Vec<String> {
    let names = std::fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".nc")?.to_owned()));
    let names: Vec<_> = names.collect();
    assert!(names.len() > 20);
    names
}
