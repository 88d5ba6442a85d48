//! ffrecord files.

use crate::file::{Named, Store, Wrong};
use crate::json::{Json, row};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::ffrecord::open::Open;
use striae_core::ffrecord::{ReadError, Reader, find::Find};
use striae_core::integrity::crc32;
use striae_core::span::Span;
use striae_core::step::DriveError;

/// The first bytes of the last sample of a packed folder.
const PACKED: &[u8] = b"piouhjgbr";

fn open<S: Store>(file: &Named<S>) -> Result<Reader<&S>, Wrong> {
    Reader::open(&file.store, &mut [0; Open::WINDOW]).map_err(Wrong::of(&file.name))
}

pub(crate) fn info<S: Store>(file: &Named<S>) -> Result<Json, Wrong> {
    let reader = open(file)?;
    let head = reader.head();
    Ok(row()
        .with("path", file.name.as_str())
        .with("format", "ffrecord")
        .with("samples", reader.n())
        .with("bytes", head.file_len)
        .with("header_bytes", head.layout.header_len())
        .with("meta_crc", Some(head.checksum_meta).filter(|&crc| crc != 0))
        .with("packed_folder", is_packed(file, &reader)?))
}

/// Whether ffrecord's `pack_folder` made the file: its last sample has the names of the others.
fn is_packed<S: Store>(file: &Named<S>, reader: &Reader<&S>) -> Result<bool, Wrong> {
    let Some(last) = reader.n().checked_sub(1) else { return Ok(false) };
    let Ok(last) = reader.sample(last, &mut [0; Find::WINDOW]) else { return Ok(false) };
    let mut front = [0; PACKED.len()];
    let len = reader.read(last.span, &mut front).map_err(Wrong::of(&file.name))?;
    Ok(len == PACKED.len() && front == PACKED)
}

pub(crate) fn ls<S: Store>(file: &Named<S>, (from, count): (u64, u64)) -> Result<Json, Wrong> {
    let reader = open(file)?;
    let end = from.saturating_add(count).min(reader.n());
    let mut samples = reader.samples(from..end, vec![0; 1 << 16]);
    let mut rows: Vec<Json> = Vec::new();
    loop {
        let number = samples.number();
        let Some(sample) = samples.next() else { break };
        rows.push(match sample {
            Ok(sample) => row()
                .with("number", sample.number)
                .with("address", format!("sample/{}", sample.number))
                .with("offset", sample.span.offset())
                .with("bytes", sample.span.len())
                .with("crc32", sample.crc),
            Err(error) => {
                let error = of_sample(file, number)(error).to_string();
                row().with("number", number).with("error", error)
            }
        });
    }
    Ok(row()
        .with("path", file.name.as_str())
        .with("format", "ffrecord")
        .with("samples", reader.n())
        .with("meta_crc", Some(reader.head().checksum_meta).filter(|&crc| crc != 0))
        .with("rows", rows))
}

pub(crate) fn places<S: Store>(file: &Named<S>, number: u64) -> Result<Vec<Span>, Wrong> {
    let sample = open(file)?.sample(number, &mut [0; Find::WINDOW]);
    Ok(vec![sample.map_err(of_sample(file, number))?.span])
}

/// What is wrong with the bytes of a sample, whose checksum is compared as `striae cat` does.
pub(crate) fn damage<S: Store>(file: &Named<S>, number: u64) -> Result<Option<String>, Wrong> {
    let (reader, mut window) = (open(file)?, vec![0; 1 << 16]);
    let sample = reader.sample(number, &mut window).map_err(of_sample(file, number))?;
    match reader.check(&sample, &mut window, crc32) {
        Err(error @ DriveError::Format(_)) => Ok(Some(of_sample(file, number)(error).to_string())),
        checked => checked.map(|()| None).map_err(of_sample(file, number)),
    }
}

/// An error of a sample, whose number is in the text.
fn of_sample<S: Store>(file: &Named<S>, number: u64) -> impl Fn(ReadError<S>) -> Wrong {
    move |error| match error {
        DriveError::Format(error) => Wrong::new(&file.name, format!("sample {number}: {error}")),
        error => Wrong::of(&file.name)(error),
    }
}
