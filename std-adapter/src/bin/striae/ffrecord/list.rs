//! `striae ls` of an ffrecord file.

use crate::args::LsArgs;
use crate::failure::{Failure, FirstError, Sound};
use crate::sheet::{Cell, Column, Sheet, left, right};
use crate::text::{print, print_json_of};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use striae::address::Address;
use striae::ffrecord::File;
use striae_core::ffrecord::Sample;

/// The output of `ls --json`.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    samples: u64,
    meta_crc: Option<u32>,
    rows: Rows<'a>,
}

const COLUMNS: &[Column] =
    &[right("sample", 12), right("offset", 20), right("bytes", 14), left("crc32", 0)];

/// The samples. They are read while they are printed, since there may be millions.
struct Rows<'a> {
    file: &'a File,
    failed: &'a FirstError,
}

/// The row of a sample.
#[derive(Serialize)]
struct Row {
    number: u64,
    address: String,
    offset: u64,
    bytes: u64,
    crc32: u32,
}

/// The row of a sample without a valid place in the file, with the error.
#[derive(Serialize)]
struct WrongRow {
    number: u64,
    error: String,
}

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    let failed = FirstError::default();
    let rows = Rows { file: &file, failed: &failed };
    if args.json {
        let meta_crc = Some(file.head().checksum_meta).filter(|&crc| crc != 0);
        print_json_of(
            &args.file.path,
            &Listing { format: "ffrecord", samples: file.n(), meta_crc, rows },
        )?;
    } else {
        print(|out| match args.addresses {
            true => rows.write_addresses(out),
            false => rows.write_text(args, out),
        })?;
    }
    failed.into_failure()?;
    Ok(Sound::Yes)
}

impl Rows<'_> {
    /// Calls `each` for each sample, or for the number and the error of a sample without a valid
    /// place. Ends at the first error of `each`.
    fn each<E>(
        &self,
        mut each: impl FnMut(Result<Sample, WrongRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut samples = self.file.samples();
        loop {
            let number = samples.number();
            let Some(sample) = samples.next() else { return Ok(()) };
            each(sample.map_err(|error| WrongRow { number, error: self.failed.keep(error) }))?;
        }
    }

    fn write_addresses(&self, out: &mut impl Write) -> io::Result<()> {
        self.each(|sample| match sample {
            Ok(sample) => writeln!(out, "{}", Address::sample(sample.number)),
            Err(_) => Ok(()), // told at the end
        })
    }

    fn write_text(&self, args: &LsArgs, out: &mut impl Write) -> io::Result<()> {
        let mut sheet = Sheet::new(COLUMNS, args.form(), out)?;
        self.each(|sample| match sample {
            Ok(Sample { number, crc, span }) => {
                let (offset, bytes) = (Cell::Number(span.offset()), Cell::Number(span.len()));
                sheet.row(&[Cell::Number(number), offset, bytes, Cell::Hex(crc)])
            }
            Err(WrongRow { number, error }) => {
                sheet.row(&[Cell::Number(number), Cell::Unknown, Cell::Wrong(&error)])
            }
        })
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        self.each(|sample| match sample {
            Ok(Sample { number, crc, span }) => {
                let (offset, bytes) = (span.offset(), span.len());
                let address = Address::sample(number).to_string();
                rows.serialize_element(&Row { number, address, offset, bytes, crc32: crc })
            }
            Err(wrong) => rows.serialize_element(&wrong),
        })?;
        rows.end()
    }
}
