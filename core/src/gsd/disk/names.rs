//! The name list: NUL-terminated names, packed in layer 2, in slots of 64 bytes in layer 1.

use super::header::Version;
use crate::exact::Exact;
use crate::gsd::error::{BadName, Error};
use crate::gsd::layout::MAX_NAMES;
use crate::gsd::raw::NameSlot;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;

/// Bytes of a name in layer 1.
const SLOT: usize = size_of::<NameSlot>();

/// Splits a list into names, byte by byte.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Splitter {
    is_packed: bool,
    /// Bytes of the current name so far, with its NUL and the padding of a slot of layer 1.
    taken: usize,
    /// Length of the current name so far; it saturates.
    len: usize,
}

/// The role of a byte in a list.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct NameByte {
    /// Its position in its name, unless it is a NUL or padding.
    pub(in crate::gsd) at: Option<usize>,
    /// The length of the name that ends with this byte, if it ends one.
    pub(in crate::gsd) end: Option<usize>,
}

impl Splitter {
    pub(in crate::gsd) const fn new(version: Version) -> Self {
        Self { is_packed: version.is_sorted(), taken: 0, len: 0 }
    }

    /// Whether the next byte starts a name.
    pub(in crate::gsd) const fn is_start(&self) -> bool {
        self.taken == 0
    }

    pub(in crate::gsd) fn take(&mut self, byte: u8) -> NameByte {
        let at = (self.taken == self.len && byte != 0).then_some(self.len);
        self.taken = self.taken.saturating_add(1);
        if at.is_some() {
            self.len = self.taken;
        }
        let is_end = if self.is_packed { byte == 0 } else { self.taken == SLOT };
        let end = is_end.then_some(self.len);
        if is_end {
            (self.taken, self.len) = (0, 0);
        }
        NameByte { at, end }
    }
}

/// Counts the names of a list that is read in pieces.
///
/// The list ends at the first empty name or at the end of its block.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    splitter: Splitter,
    read: u64,
    used: u64,
    names: u32,
    is_done: bool,
}

impl Counter {
    /// Makes a counter at the start of the list of a file of this version.
    #[must_use]
    pub const fn new(version: Version) -> Self {
        Self { splitter: Splitter::new(version), read: 0, used: 0, names: 0, is_done: false }
    }

    /// Takes the next bytes of the list.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.is_done {
                return;
            }
            self.take(byte);
        }
    }

    fn take(&mut self, byte: u8) {
        self.read = self.read.exact_add(1);
        if self.splitter.is_start() && byte == 0 {
            self.is_done = true;
        } else if self.splitter.take(byte).end.is_some() {
            self.names = self.names.exact_add(1);
            self.used = self.read;
            self.is_done = self.names == MAX_NAMES;
        }
    }

    /// Whether the end of the list was reached.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// The number of bytes that were taken.
    #[must_use]
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// The number of bytes of whole names.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The number of whole names.
    #[must_use]
    pub const fn names(&self) -> u32 {
        self.names
    }
}

/// The machine that finds a name. Its output is the id of the name.
///
/// The buffer must not be empty. If the list has the name twice, the first one counts, as for gsd's
/// readers.
#[derive(Debug)]
pub struct FindName<'n> {
    name: &'n [u8],
    splitter: Splitter,
    /// What is still to be read.
    list: Span,
    id: u16,
    /// Whether the current name is equal to `name` so far.
    is_same: bool,
    found: Option<u16>,
}

impl<'n> FindName<'n> {
    /// Makes a machine that finds `name` in `list`, the used part of the name list.
    #[must_use]
    pub const fn new(name: &'n [u8], list: Span, version: Version) -> Self {
        let splitter = Splitter::new(version);
        Self { name, splitter, list, id: 0, is_same: true, found: None }
    }

    fn take(&mut self, byte: u8) {
        let NameByte { at, end } = self.splitter.take(byte);
        if let Some(at) = at {
            self.is_same &= self.name.get(at) == Some(&byte);
        }
        if let Some(len) = end {
            let is_whole = len == self.name.len() && len != 0;
            if self.is_same && is_whole {
                self.found = Some(self.id);
            }
            self.id = self.id.saturating_add(1);
            self.is_same = true;
        }
    }
}

impl ReadMachine for FindName<'_> {
    type Output = Option<u16>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Option<u16>> {
        if self.found.is_some() || self.list.is_empty() {
            return ReadStep::Done(self.found);
        }
        ReadStep::Read { offset: self.list.offset(), need: 1, want: self.list.len() }
    }

    #[inline]
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for &byte in bytes {
            if self.found.is_some() {
                break;
            }
            self.take(byte);
        }
        self.list = self.list.rest(usize_to_u64(bytes.len())).unwrap_or(Span::ZERO);
        Ok(())
    }
}

/// Checks that a file of this version can have the name.
///
/// # Errors
/// [`Error::BadName`] if it cannot.
pub const fn check_name(name: &[u8], version: Version) -> Result<(), Error> {
    let max = if version.is_sorted() { u32::MAX / 2 } else { 63 };
    let (mut rest, mut at) = (name, 0_u32);
    while let Some((&byte, others)) = rest.split_first() {
        if byte == 0 {
            return Err(Error::BadName(BadName::Nul { at }));
        }
        (rest, at) = (others, at.saturating_add(1));
    }
    match at {
        0 => Err(Error::BadName(BadName::Empty)),
        len if len > max => Err(Error::BadName(BadName::Long { len, max })),
        _ => Ok(()),
    }
}
