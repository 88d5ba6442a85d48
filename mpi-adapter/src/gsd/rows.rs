//! The rows that a rank gives to a frame.

use super::{Named, refused};
use crate::error::{Code, Failure};
use std::borrow::Cow;
use std::collections::HashSet;
use striae_core::gsd::{ChunkType, Element, Error as GsdError};
use striae_core::integrity::crc32c;
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

/// The rows of this rank for some chunks that all have as many: the positions and the types of this
/// rank's particles, for example.
///
/// All ranks give the same chunks in the same order, each with its own number of rows, also 0. The
/// values stay where they are and are written from there.
#[derive(Debug, Clone, Default)]
pub struct Rows<'a> {
    columns: Vec<Column<'a>>,
}

/// The rows of one chunk.
#[derive(Debug, Clone)]
pub(super) struct Column<'a> {
    pub(super) name: Cow<'a, [u8]>,
    pub(super) kind: ChunkType,
    pub(super) m: u32,
    /// As they are to be in the file.
    pub(super) bytes: Cow<'a, [u8]>,
}

impl<'a> Rows<'a> {
    /// Rows of no chunk yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { columns: Vec::new() }
    }

    /// Adds the rows of a chunk: rows of `m` values. What is wrong with them is an error of the
    /// write.
    #[must_use]
    pub fn chunk<T: Element>(
        self,
        name: &'a (impl AsRef<[u8]> + ?Sized),
        values: &'a [T],
        m: u32,
    ) -> Self {
        let is_swapped = cfg!(target_endian = "big") && size_of::<T>() > 1;
        let bytes = match is_swapped {
            true => Cow::Owned(striae::striae_hoomd::element::little_endian(values)),
            false => Cow::Borrowed(values.as_bytes()),
        };
        self.column(name.as_ref(), T::KIND, m, bytes)
    }

    /// Adds the rows of a chunk of text: one column of type [`ChunkType::Character`], in which each
    /// byte of `text` is a row.
    #[must_use]
    pub fn text(self, name: &'a (impl AsRef<[u8]> + ?Sized), text: &'a str) -> Self {
        self.column(name.as_ref(), ChunkType::Character, 1, Cow::Borrowed(text.as_bytes()))
    }

    /// Adds the rows of a chunk as they will be in the file: rows of `m` values of type `kind`,
    /// little-endian.
    #[must_use]
    pub fn bytes(
        self,
        name: &'a (impl AsRef<[u8]> + ?Sized),
        kind: ChunkType,
        m: u32,
        bytes: &'a [u8],
    ) -> Self {
        self.column(name.as_ref(), kind, m, Cow::Borrowed(bytes))
    }

    fn column(mut self, name: &'a [u8], kind: ChunkType, m: u32, bytes: Cow<'a, [u8]>) -> Self {
        self.columns.push(Column { name: Cow::Borrowed(name), kind, m, bytes });
        self
    }

    /// The chunks.
    pub(super) fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }

    /// The number of rows, equal for all chunks.
    fn count(&self) -> Result<u64, Failure> {
        let mut counts = self.columns.iter().map(Column::count);
        let count = counts.next().unwrap_or(Ok(0))?;
        for (column, other) in self.columns.iter().skip(1).zip(counts) {
            let other = other?;
            if other != count {
                let name = Named(&column.name);
                let text = format_args!("{name}: {other} rows, the first chunk beside it {count}");
                return Err(Failure::new(Code::Refused, text));
            }
        }
        Ok(count)
    }

    /// A number of everything that all ranks must have equal: chunks, names, types, columns.
    pub(super) fn fingerprint(&self, mut crc: u32) -> u32 {
        crc = crc32c(crc, &usize_to_u64(self.columns.len()).to_le_bytes());
        for Column { name, kind, m, .. } in &self.columns {
            crc = crc32c(crc, &usize_to_u64(name.len()).to_le_bytes());
            crc = crc32c(crc, name);
            crc = crc32c(crc, &[kind.number()]);
            crc = crc32c(crc, &m.to_le_bytes());
        }
        crc
    }
}

/// The number of rows of each of `rows`, whose chunks have different names.
pub(super) fn counts(rows: &[Rows<'_>]) -> Result<Vec<u64>, Failure> {
    let mut names = HashSet::new();
    for Column { name, .. } in rows.iter().flat_map(Rows::columns) {
        if !names.insert(name) {
            let text = format_args!("{}: twice in a frame", Named(name));
            return Err(Failure::new(Code::Refused, text));
        }
    }
    rows.iter().map(Rows::count).collect()
}

impl Column<'_> {
    /// The length of a row in bytes.
    fn row_len(&self) -> u64 {
        self.kind.size().get().saturating_mul(self.m.into())
    }

    fn count(&self) -> Result<u64, Failure> {
        let (len, want) = (usize_to_u64(self.bytes.len()), self.row_len());
        let error = match (len.checked_div(want), len.checked_rem(want)) {
            (Some(count), Some(0)) => return Ok(count),
            (None, _) => GsdError::NoColumns,
            _ => GsdError::Rows { len, want },
        };
        Err(refused(Named(&self.name), error))
    }
}

/// A number of what names a chunk, which all ranks must have equal.
pub(super) fn fingerprint_of(frame: u64, name: &[u8]) -> u32 {
    crc32c(crc32c(0, &frame.to_le_bytes()), name)
}
