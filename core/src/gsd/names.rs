//! The name list: NUL-terminated names, packed in layer 2, in slots of 64 bytes in layer 1.

use super::error::{BadName, Error};
use super::header::Version;
use super::layout::{MAX_NAMES, NAME_UNIT};
use super::verdict::Head;
use crate::exact::Exact;
use crate::span::Span;
use crate::step::{DriveError, Fill, Need, ReadMachine, ReadStep, fill};
use crate::store::{ReadAt, usize_to_u64};
use core::convert::Infallible;
#[cfg(feature = "async")]
use {crate::step::fill_async, crate::store::AsyncReadAt};

/// Splits a list into names, byte by byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splitter {
    is_packed: bool,
    /// Bytes of the current name so far, with its NUL and the padding of a slot of layer 1.
    taken: u64,
    /// Length of the current name so far.
    len: u64,
}

/// The role of a byte in a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameByte {
    /// Its position in its name, unless it is a NUL or padding.
    pub(super) at: Option<u64>,
    /// The length of the name that ends with this byte, if it ends one.
    pub(super) end: Option<u64>,
}

impl Splitter {
    pub(super) const fn new(version: Version) -> Self {
        Self { is_packed: version.is_sorted(), taken: 0, len: 0 }
    }

    /// Whether the next byte starts a name.
    pub(super) const fn is_start(&self) -> bool {
        self.taken == 0
    }

    pub(super) fn take(&mut self, byte: u8) -> NameByte {
        let at = (self.taken == self.len && byte != 0).then_some(self.len);
        self.taken = self.taken.wrapping_add(1); // exact: nobody has read 2^64 bytes
        if at.is_some() {
            self.len = self.taken;
        }
        let is_end = if self.is_packed { byte == 0 } else { self.taken == NAME_UNIT };
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
            let wanted = usize::try_from(at).ok().and_then(|at| self.name.get(at));
            self.is_same &= wanted == Some(&byte);
        }
        if let Some(len) = end {
            let is_whole = len == usize_to_u64(self.name.len()) && len != 0;
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

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for &byte in bytes {
            if self.found.is_some() {
                break;
            }
            self.take(byte);
        }
        self.list = self.list.skip(usize_to_u64(bytes.len()));
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

/// The names of a file in the order of their ids, read through a window.
///
/// Each name is borrowed from the window, so this is not an [`Iterator`]: `while let Some((id,
/// name)) = names.next()? { .. }`.
#[derive(Debug)]
pub struct Names<'s, S, W> {
    store: &'s S,
    version: Version,
    list: Span,
    window: W,
    /// The part of the list that is in the window.
    have: Span,
    /// The start of the next name in the list.
    next: u64,
    id: u16,
    /// Number of names in the list.
    names: u32,
}

impl<'s, S, W: AsMut<[u8]>> Names<'s, S, W> {
    pub(super) const fn new(store: &'s S, head: &Head, window: W) -> Self {
        let (list, version, names) = (head.name_list(), head.header.version, head.names);
        Self { store, version, list, window, have: Span::ZERO, next: 0, id: 0, names }
    }

    fn is_over(&self) -> bool {
        self.next >= self.list.len() || u32::from(self.id) >= self.names
    }

    /// Lends the next name, if the window is long enough for it.
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    fn take(&mut self) -> Result<Option<(u16, &[u8])>, Error> {
        let (id, start) = (self.id, self.next);
        let Some((name_len, taken)) = self.in_window(start) else {
            return Err(self.too_long(start));
        };
        self.next = start.saturating_add(taken);
        self.id = id.saturating_add(1);
        let from = usize::try_from(start.saturating_sub(self.have.offset())).unwrap_or(0);
        let name = self.window.as_mut().get(from..).and_then(|rest| rest.get(..name_len));
        Ok(Some((id, name.unwrap_or_default())))
    }

    /// Lends the last name again.
    fn again(&mut self) -> (u16, &[u8]) {
        let window = self.window.as_mut();
        let end = usize::try_from(self.next.saturating_sub(self.have.offset())).unwrap_or(0);
        let before = window.get(..end).unwrap_or_default();
        let name = match self.version.is_sorted() {
            true => {
                let body = before.strip_suffix(&[0]).unwrap_or(before);
                body.rsplit(|&byte| byte == 0).next().unwrap_or_default()
            }
            false => {
                let slot = before.rchunks(64).next().unwrap_or_default();
                slot.split(|&byte| byte == 0).next().unwrap_or_default()
            }
        };
        (self.id.saturating_sub(1), name)
    }

    /// The error for a name at `start` that is not whole in the window filled from there: its end
    /// is after the window, or it has no end.
    fn too_long(&mut self, start: u64) -> Error {
        let have = usize_to_u64(self.window.as_mut().len());
        let rest = self.list.len().saturating_sub(start);
        if have >= rest {
            let last = usize::try_from(rest.saturating_sub(1)).unwrap_or(usize::MAX);
            let value = self.window.as_mut().get(last).copied().unwrap_or(0);
            return Error::NotTerminated { offset: self.list.end().saturating_sub(1), value };
        }
        let need = match self.version.is_sorted() {
            true => have.saturating_mul(2).max(NAME_UNIT),
            false => NAME_UNIT,
        };
        Error::Memory { need: need.min(rest), have }
    }

    /// Length of the name at `start`, and the bytes that it takes in the list, if it is in the
    /// window.
    fn in_window(&mut self, start: u64) -> Option<(usize, u64)> {
        let skip = start.checked_sub(self.have.offset())?;
        let have = usize::try_from(self.have.len()).ok()?;
        let window = self.window.as_mut().get(..have)?;
        let rest = window.get(usize::try_from(skip).ok()?..)?;
        if self.version.is_sorted() {
            let len = rest.iter().position(|&byte| byte == 0)?;
            return Some((len, usize_to_u64(len).saturating_add(1)));
        }
        let slot = rest.get(..64)?;
        Some((slot.iter().position(|&byte| byte == 0).unwrap_or(64), NAME_UNIT))
    }

    /// The most bytes of one read.
    fn room(&mut self) -> usize {
        let left = self.list.len().saturating_sub(self.next);
        usize::try_from(left).unwrap_or(usize::MAX).min(self.window.as_mut().len())
    }
}

impl<S, W: AsMut<[u8]>> Fill for Names<'_, S, W> {
    type Error = Error;

    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Error>> {
        let len = self.room();
        let is_read = self.have == Span::new(self.next, usize_to_u64(len)).unwrap_or(Span::ZERO);
        if is_read || self.in_window(self.next).is_some() {
            return Ok(None);
        }
        self.have = Span::ZERO;
        let offset = self.list.offset().saturating_add(self.next);
        Ok(Some((offset, self.window.as_mut().get_mut(..len).unwrap_or_default())))
    }

    fn filled(&mut self) {
        let len = usize_to_u64(self.room());
        self.have = Span::new(self.next, len).unwrap_or(Span::ZERO);
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Names<'_, S, W> {
    /// The next name and its id, or `None` after the last name. The name is without its NUL; it may
    /// be any bytes and is usually UTF-8.
    ///
    /// # Errors
    /// [`Error::Memory`] if the name is longer than the window; [`Error::NotTerminated`] if the
    /// name has no end; the store's own error.
    #[allow(clippy::should_implement_trait, reason = "it lends, an iterator cannot")]
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    pub fn next(&mut self) -> Result<Option<(u16, &[u8])>, DriveError<S::Error, Error>> {
        if self.is_over() {
            return Ok(None);
        }
        fill(self, self.store)?;
        self.take().map_err(DriveError::Format)
    }

    /// The next name that starts with `prefix`; see [`next`](Self::next).
    ///
    /// # Errors
    /// See [`next`](Self::next).
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    pub fn next_with_prefix(
        &mut self,
        prefix: &[u8],
    ) -> Result<Option<(u16, &[u8])>, DriveError<S::Error, Error>> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some((_, name)) if !name.starts_with(prefix) => {}
                Some(_) => break,
            }
        }
        // Lent again, since a loop cannot return what it lends.
        Ok(Some(self.again()))
    }
}

#[cfg(feature = "async")]
impl<S: AsyncReadAt, W: AsMut<[u8]>> Names<'_, S, W> {
    /// [`Names::next`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Names::next`].
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    pub async fn next_async(
        &mut self,
    ) -> Result<Option<(u16, &[u8])>, DriveError<S::Error, Error>> {
        if self.is_over() {
            return Ok(None);
        }
        fill_async(self, self.store).await?;
        self.take().map_err(DriveError::Format)
    }
}
