//! Lists every metadata field of a file, with its offset, bytes and value.

use crate::dump::{Each, Line, Lines, name_of};
use crate::subject;
use alloc::format;
use alloc::string::{String, ToString};
use striae_core::ffrecord::raw::{Checksum, Header, Offset};
use striae_core::ffrecord::{Error, Head, Layout};
use striae_core::field::Table;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use zerocopy::FromBytes;

type Failed<S> = subject::Failed<S, Error>;
type Dump<'a, S> = Lines<'a, S, Error>;

/// Passes each field of a file's header and tables to `each`.
///
/// # Errors
/// [`Error`] if the file ends early or if its number of samples is impossible; the fields before
/// that are passed first. An error of the store; an error of `each`.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S>> {
    let lines = &mut Dump::new(store, each)?;
    let file_len = lines.file_len;
    let len = usize::try_from(file_len).unwrap_or(Head::LEN).min(Head::LEN);
    let bytes = lines.bytes(0, len)?.to_vec();
    if let Ok((header, _)) = Header::ref_from_prefix(&bytes) {
        let checksum = shown(header.checksum_meta.get());
        field(lines, (Header::TABLE, 0), &[], 0, checksum)?;
        field(lines, (Header::TABLE, 1), &[], 4, header.n.get().to_string())?;
    }
    let layout = Head::parse(&bytes, file_len).map_err(DriveError::Format)?.layout;
    tables(lines, layout)?;
    lines.derived("bytes in front of the samples", layout.header_len())
}

fn tables<S: ReadAt>(lines: &mut Dump<'_, S>, layout: Layout) -> Result<(), Failed<S>> {
    for number in 0..layout.n() {
        let at = layout.checksum_at(number);
        let entry = Checksum::read_from_bytes(lines.bytes(at, size_of::<Checksum>())?);
        let value = entry.map_or_else(|_| String::new(), |entry| shown(entry.checksum.get()));
        field(lines, (Checksum::TABLE, 0), &[number], at, value)?;
    }
    for number in 0..layout.n() {
        let at = layout.offset_at(number);
        let entry = Offset::read_from_bytes(lines.bytes(at, size_of::<Offset>())?);
        let value = entry.map_or_else(|_| String::new(), |entry| entry.offset.get().to_string());
        field(lines, (Offset::TABLE, 0), &[number], at, value)?;
    }
    Ok(())
}

fn shown(crc: u32) -> String {
    format!("{crc:#010x}")
}

/// The line of a field of a table, by its place there.
fn field<S: ReadAt>(
    lines: &mut Dump<'_, S>,
    (table, place): (&Table, usize),
    index: &[u64],
    offset: u64,
    value: String,
) -> Result<(), Failed<S>> {
    let Some(field) = table.fields.get(place) else { return Ok(()) };
    let bytes = lines.bytes(offset, field.size.into())?.to_vec();
    let (name, len) = (name_of(table, field, index), u64::from(field.size));
    lines.line(Line::Field { name, offset, len, bytes, value, position: None })
}
