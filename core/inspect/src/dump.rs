//! The lines of a dump: every metadata field of a file, with its offset, bytes and value.

use crate::subject::{Failed, read};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::marker::PhantomData;
use striae_core::field::{Field, Table};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Length in bytes of the window in which tables are read.
pub(crate) const WINDOW: usize = 1 << 16;

/// A line of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A field that the file has.
    Field {
        /// The part of the file, a dot, the specification's name, and in a table the index:
        /// `META1.ntasks`, `META2.blocksize[chunk][task]`, `index.frame[slot]`.
        name: String,
        /// Offset of its first byte in the physical file.
        offset: u64,
        /// Its length in bytes. The header of a SIONlib record may continue in the next chunk of
        /// the task.
        len: u64,
        /// Its bytes; for SIONlib's filenameprefix, without the zeros at the end.
        bytes: Vec<u8>,
        /// Its value in words.
        value: String,
        /// Position in the task's stream, for the fields of a SIONlib record.
        position: Option<u64>,
    },
    /// A value that follows from the fields and is not in the file.
    Derived {
        /// The name in the specification, or a description.
        name: &'static str,
        /// The value.
        value: String,
    },
}

/// A callback that gets the lines. It returns the store's error type, because reading and printing
/// mostly use one operating system.
pub type Each<'a, S> = dyn FnMut(Line) -> Result<(), <S as ReadAt>::Error> + 'a;

/// Reads a file of a format whose error type is `F` from front to back, and passes lines on.
pub(crate) struct Lines<'a, S: ReadAt, F> {
    pub(crate) store: &'a S,
    pub(crate) file_len: u64,
    each: &'a mut Each<'a, S>,
    window: Vec<u8>,
    window_at: u64,
    format: PhantomData<F>,
}

impl<'a, S: ReadAt, F> Lines<'a, S, F> {
    pub(crate) fn new(store: &'a S, each: &'a mut Each<'a, S>) -> Result<Self, Failed<S, F>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let (window, window_at, format) = (Vec::new(), 0, PhantomData);
        Ok(Self { store, file_len, each, window, window_at, format })
    }

    pub(crate) fn line(&mut self, line: Line) -> Result<(), Failed<S, F>> {
        (self.each)(line).map_err(DriveError::Store)
    }

    pub(crate) fn derived(
        &mut self,
        name: &'static str,
        value: impl ToString,
    ) -> Result<(), Failed<S, F>> {
        self.line(Line::Derived { name, value: value.to_string() })
    }

    /// Reads `len` bytes, at most [`WINDOW`], which the file must have.
    pub(crate) fn bytes(&mut self, offset: u64, len: usize) -> Result<&[u8], Failed<S, F>> {
        if self.in_window(offset, len).is_none() {
            let left = Span::between(offset, self.file_len).map_or(0, Span::len);
            self.window.resize(usize::try_from(left).unwrap_or(WINDOW).min(WINDOW), 0);
            self.window_at = offset;
            if let Err(error) = read(self.store, offset, &mut self.window) {
                self.window.clear();
                return Err(error);
            }
        }
        self.in_window(offset, len).ok_or(DriveError::Ended { offset })
    }

    fn in_window(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let skip = usize::try_from(offset.checked_sub(self.window_at)?).ok()?;
        self.window.get(skip..)?.get(..len)
    }
}

// Not for SION, whose records go on in other chunks.
#[cfg(any(feature = "ffrecord", feature = "gsd", feature = "blob"))]
impl<S: ReadAt, F> Lines<'_, S, F> {
    /// Passes on a field at `offset`. `value` says its value in words.
    pub(crate) fn field(
        &mut self,
        (name, field): (String, &Field),
        offset: u64,
        value: impl FnOnce(&Field, &[u8]) -> String,
    ) -> Result<(), Failed<S, F>> {
        let (len, bytes) = (field.size.into(), self.bytes(offset, field.size.into())?.to_vec());
        let value = value(field, &bytes);
        self.line(Line::Field { name, offset, len, bytes, value, position: None })
    }

    /// Passes on all fields of a structure at `base`.
    pub(crate) fn structure(
        &mut self,
        table: &Table,
        (base, index): (u64, &[u64]),
        value: impl Fn(&Field, &[u8]) -> String,
    ) -> Result<(), Failed<S, F>> {
        for field in table.fields {
            let offset = base.saturating_add(field.offset.into());
            self.field((name_of(table, field, index), field), offset, &value)?;
        }
        Ok(())
    }
}

/// The name as in error texts, with the index of the table entry.
pub(crate) fn name_of(table: &Table, field: &Field, index: &[u64]) -> String {
    let index: String = index.iter().map(|index| format!("[{index}]")).collect();
    format!("{}.{}{index}", table.part, field.name)
}
