//! Every metadata field of a file, with its place, its bytes and its value.

pub use crate::dump::Line;

use crate::dump::{Lines, name_of};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_core::ffrecord::raw::{Checksum, Header, Offset};
use striae_core::ffrecord::{Head, Layout};
use striae_core::field::Table;
use zerocopy::FromBytes;

/// Reads the file at `path` and hands over each field of its header and its tables.
///
/// # Errors
/// [`Error`](striae_core::ffrecord::Error) where the file ends, or the number of samples is none that
/// it can have, behind the lines in front of it; the operating system's; those of `each`.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    let lines = Lines::new(&store, each).map_err(|error| Error::new(path, error));
    lines.and_then(|mut lines| all(&mut lines).map_err(|error| Error::new(path, error)))
}

fn all(lines: &mut Lines<'_>) -> Result<(), ErrorKind> {
    let file_len = lines.file_len;
    let len = usize::try_from(file_len).unwrap_or(Head::LEN).min(Head::LEN);
    let bytes = lines.bytes(0, len)?.to_vec();
    if let Ok((header, _)) = Header::ref_from_prefix(&bytes) {
        let checksum = shown(header.checksum_meta.get());
        field(lines, (Header::TABLE, 0), &[], 0, checksum)?;
        field(lines, (Header::TABLE, 1), &[], 4, header.n.get().to_string())?;
    }
    let layout = Head::parse(&bytes, file_len)?.layout;
    tables(lines, layout)?;
    lines.derived("bytes in front of the samples", layout.header_len())
}

fn tables(lines: &mut Lines<'_>, layout: Layout) -> Result<(), ErrorKind> {
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
fn field(
    lines: &mut Lines<'_>,
    (table, place): (&Table, usize),
    index: &[u64],
    offset: u64,
    value: String,
) -> Result<(), ErrorKind> {
    let Some(field) = table.fields.get(place) else { return Ok(()) };
    let bytes = lines.bytes(offset, field.size.into())?.to_vec();
    let (name, len) = (name_of(table, field, index), u64::from(field.size));
    lines.line(Line::Field { name, offset, len, bytes, value, position: None })
}
