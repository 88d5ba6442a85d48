//! [`Names`]: the names of a file, one after another.

use crate::gsd::disk::header::Version;
use crate::gsd::error::Error;
use crate::gsd::layout::NAME_UNIT;
use crate::gsd::verdict::Head;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

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
    /// The last name that was lent, as a part of the list.
    last: Span,
    id: u16,
    /// Number of names in the list.
    names: u32,
}

impl<'s, S, W: AsMut<[u8]>> Names<'s, S, W> {
    pub(in crate::gsd) const fn new(store: &'s S, head: &Head, window: W) -> Self {
        let (list, version, names) = (head.name_list(), head.header.version, head.names);
        let (have, last) = (Span::ZERO, Span::ZERO);
        Self { store, version, list, window, have, next: 0, last, id: 0, names }
    }

    /// Lends the next name, if the window is long enough for it.
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    fn take(&mut self) -> Result<Option<(u16, &[u8])>, Error> {
        let start = self.next;
        let Some((name_len, taken)) = self.in_window(start) else {
            return Err(self.too_long(start));
        };
        self.last = Span::exact(start, usize_to_u64(name_len));
        self.next = start.saturating_add(taken);
        self.id = self.id.saturating_add(1);
        Ok(Some(self.lend()))
    }

    /// Lends the last name, which is in the window.
    fn lend(&mut self) -> (u16, &[u8]) {
        let from = self.last.offset().saturating_sub(self.have.offset());
        let rest = usize::try_from(from).ok().and_then(|from| self.window.as_mut().get_mut(from..));
        let name: &[u8] = self.last.front_of(rest.unwrap_or_default());
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

#[twin(ReadAt)]
impl<S: ReadAt, W: AsMut<[u8]>> Names<'_, S, W> {
    /// The next name and its id, or `None` after the last name. The name is without its NUL; it may
    /// be any bytes and is usually UTF-8.
    ///
    /// # Errors
    /// [`Error::Memory`] if the name is longer than the window; [`Error::NotTerminated`] if the
    /// name has no end; the store's own error.
    #[allow(clippy::should_implement_trait, reason = "it lends, an iterator cannot")]
    #[allow(clippy::type_complexity, reason = "an id and a name, or an error")]
    pub async fn next(&mut self) -> Result<Option<(u16, &[u8])>, DriveError<S::Error, Error>> {
        if self.next >= self.list.len() || u32::from(self.id) >= self.names {
            return Ok(None);
        }
        if self.in_window(self.next).is_none() {
            self.fill().await?;
        }
        self.take().map_err(DriveError::Format)
    }

    /// Reads the list into the window, from the next name on.
    async fn fill(&mut self) -> Result<(), DriveError<S::Error, Error>> {
        let len = self.room();
        let part = Span::new(self.next, usize_to_u64(len)).unwrap_or(Span::ZERO);
        if self.have == part {
            return Ok(()); // the name is longer than the window, or has no end
        }
        if self.next == 0 && self.have.is_empty() {
            self.store.will_read(&[Stride::one(self.list)]).await;
        }
        self.have = Span::ZERO;
        let offset = self.list.offset().saturating_add(self.next);
        let bytes = self.window.as_mut().get_mut(..len).unwrap_or_default();
        read_exact(self.store, offset, bytes).await?;
        self.have = part;
        Ok(())
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Names<'_, S, W> {
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
        Ok(Some(self.lend()))
    }
}
