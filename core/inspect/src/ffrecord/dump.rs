//! Lists every metadata field of a file, with its offset, bytes and value.

use crate::dump::{Each, Lines};
use crate::subject;
use alloc::format;
use alloc::string::{String, ToString};
use striae_core::ffrecord::raw::{Checksum, Header, Offset};
use striae_core::ffrecord::{Error, Head};
use striae_core::field::Field;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use zerocopy::FromBytes;
use zerocopy::little_endian::{I64, U32};

type Failed<S> = subject::Failed<S, Error>;

/// Passes each field of a file's header and tables to `each`.
///
/// # Errors
/// [`Error`] if the file ends early or if its number of samples is impossible; the fields before
/// that are passed first. An error of the store; an error of `each`.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S>> {
    let lines = &mut Lines::new(store, each)?;
    let file_len = lines.file_len;
    let len = usize::try_from(file_len).unwrap_or(Head::LEN).min(Head::LEN);
    let bytes = lines.bytes(0, len)?.to_vec();
    if bytes.len() >= Head::LEN {
        lines.structure(Header::TABLE, (0, &[]), value_of)?;
    }
    let layout = Head::parse(&bytes, file_len).map_err(DriveError::Format)?.layout;
    for number in 0..layout.n() {
        lines.structure(Checksum::TABLE, (layout.checksum_at(number), &[number]), value_of)?;
    }
    for number in 0..layout.n() {
        lines.structure(Offset::TABLE, (layout.offset_at(number), &[number]), value_of)?;
    }
    lines.derived("bytes in front of the samples", layout.header_len())
}

fn value_of(field: &Field, bytes: &[u8]) -> String {
    match field.ty {
        "U32" => {
            U32::read_from_bytes(bytes).map_or_else(|_| String::new(), |crc| format!("{crc:#010x}"))
        }
        _ => I64::read_from_bytes(bytes).map_or_else(|_| String::new(), |value| value.to_string()),
    }
}
