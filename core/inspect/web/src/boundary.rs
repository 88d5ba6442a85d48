//! The functions of the WebAssembly module, and those that the page gives it.
//!
//! The page writes a question to the memory that [`room`] returns, calls [`ask`], and reads the
//! answer at [`answer`]. A question is the words, with U+001F between them, then the names of the
//! files, each after a NUL. While a question is answered, the module calls the page to read slices
//! of files and to write new ones.
//!
//! The page runs one call at a time, in one thread.
#![allow(unsafe_code, reason = "the memory that both sides see")]

use crate::file::{Named, Shelf};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use embedded_io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use striae_core::sion::recover::Sparse;
use striae_core::store::{ReadAt, WriteAt};
use striae_inspect::subject::Subject;

mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        /// The length of a file in bytes.
        pub(super) safe fn size(file: u32) -> u64;
        /// Reads up to `len` bytes at `offset` to the memory at `to`; returns how many, or -1.
        pub(super) fn read(file: u32, offset: u64, to: *mut u8, len: usize) -> i32;
        /// Makes a new file with the name of `len` bytes at `name`; returns its number.
        pub(super) fn create(name: *const u8, len: usize) -> u32;
        /// Writes the `len` bytes at `from` to a new file; returns 0, or -1 if there is no room.
        pub(super) fn write(file: u32, offset: u64, from: *const u8, len: usize) -> i32;
        /// Cuts or lengthens a new file; returns 0, or -1 if there is no room.
        pub(super) safe fn resize(file: u32, len: u64) -> i32;
    }
}

/// The question, then the answer to it.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a question of `len` bytes, and returns its place.
#[unsafe(no_mangle)]
extern "C" fn room(len: usize) -> *mut u8 {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    text.clear();
    text.resize(len, 0);
    text.as_mut_ptr()
}

/// Answers the question, and returns the length of the answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn ask() -> usize {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let question = String::from_utf8_lossy(&text).into_owned();
    let mut parts = question.split('\0');
    let words: Vec<&str> = parts.next().unwrap_or_default().split('\u{1f}').collect();
    let file = |(number, name): (u32, &str)| Named { name: name.into(), store: Slices(number) };
    let files: Vec<_> = (0..).zip(parts).map(file).collect();
    *text = crate::answer(&files, &words, &mut Downloads).to_string().into_bytes();
    text.len()
}

/// The place of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// What the browser could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// It could not read the file: it was moved, or changed since it was chosen.
    Read,
    /// There is no room for the new file.
    Write,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "cannot be read; was it moved, or changed since it was chosen?",
            Self::Write => "does not fit into the memory of the page",
        })
    }
}

impl core::error::Error for Refused {}

impl embedded_io::Error for Refused {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Read => ErrorKind::Other,
            Self::Write => ErrorKind::OutOfMemory,
        }
    }
}

/// A file of the page, or a new one, which is read in slices.
struct Slices(u32);

impl ReadAt for Slices {
    type Error = Refused;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Refused> {
        // SAFETY: `page::read` writes up to `len` bytes at `to`: `buf` has that many, and nobody
        // else uses it until the call returns.
        let read = unsafe { page::read(self.0, offset, buf.as_mut_ptr(), buf.len()) };
        usize::try_from(read).map_err(|_| Refused::Read)
    }

    fn size(&self) -> Result<u64, Refused> {
        Ok(page::size(self.0))
    }
}

impl Subject for Slices {}

impl Sparse for Slices {}

impl WriteAt for Slices {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Refused> {
        // SAFETY: `page::write` reads the `len` bytes at `from`, which are those of `bytes`.
        let done = unsafe { page::write(self.0, offset, bytes.as_ptr(), bytes.len()) };
        if done == 0 { Ok(()) } else { Err(Refused::Write) }
    }

    fn set_size(&mut self, len: u64) -> Result<(), Refused> {
        if page::resize(self.0, len) == 0 { Ok(()) } else { Err(Refused::Write) }
    }

    fn sync(&mut self) -> Result<(), Refused> {
        Ok(()) // there is no disk
    }
}

/// New files, which the page offers as downloads.
struct Downloads;

impl Shelf for Downloads {
    type File = Slices;

    fn create(&mut self, name: &str) -> Slices {
        // SAFETY: `page::create` reads the `len` bytes at `name`, which are those of the text.
        Slices(unsafe { page::create(name.as_ptr(), name.len()) })
    }
}
