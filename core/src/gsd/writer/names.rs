//! Names: looked up in the store, added behind those that there are.

use super::{Slot, WriteError, Writer};
use crate::gsd::checksums;
use crate::gsd::error::Error;
use crate::gsd::layout::{MAX_NAMES, NAME_UNIT, NameBlock};
use crate::gsd::names::{FindName, check_name};
use crate::span::Span;
use crate::step::{DriveError, drive_read, read_exact};
use crate::store::{WriteAt, usize_to_u64};

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// The id of a name, which is added to the file if it is new. It is committed with the next
    /// commit.
    ///
    /// Reads the name list: ask once a name and keep the id.
    ///
    /// # Errors
    /// [`Error::BadName`]; [`Error::NamesFull`]; [`Error::FileFull`]; the store's own.
    pub fn name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        match self.find_name(name)? {
            Some(id) => Ok(id),
            None => self.add_name(name),
        }
    }

    /// The id of a name that the file has already.
    ///
    /// # Errors
    /// The store's own.
    pub fn find_name(&mut self, name: &[u8]) -> Result<Option<u16>, WriteError<S>> {
        let list = self.name_list();
        let mut find = FindName::new(name, list, self.tail.version);
        let mut small = [0; 64];
        let scratch = self.buffer.scratch();
        let scratch = if scratch.len() < small.len() { &mut small } else { scratch };
        let id = drive_read(&mut find, &self.store, scratch)?;
        let id = id.filter(|&id| u32::from(id) < self.tail.names_count); // a list may be damaged
        if name == checksums::NAME && self.tail.checksums {
            self.tail.checksums_id = id;
        }
        Ok(id)
    }

    /// Adds a name that the file does not have; the caller has looked. For callers with a table of
    /// names of their own.
    ///
    /// # Errors
    /// As [`name`](Self::name).
    pub fn add_name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        check_name(name, self.tail.version).map_err(DriveError::Format)?;
        if self.tail.names_count >= MAX_NAMES {
            return Err(DriveError::Format(Error::NamesFull));
        }
        self.adopt()?;
        let id = u16::try_from(self.tail.names_count).unwrap_or(u16::MAX);
        let len = match self.tail.version.is_sorted() {
            true => usize_to_u64(name.len()).saturating_add(1),
            false => NAME_UNIT,
        };
        let end = self.tail.names_len.saturating_add(len);
        let is_shown = self.tail.names == self.tail.image.name_block();
        let is_kept = is_shown && !self.tail.names_in_place;
        if is_kept || end > self.tail.names.span().map_or(0, Span::len) {
            self.settle()?;
            self.move_names(end)?;
        }
        self.clear_behind_names()?;
        let offset = self.tail.names.location.saturating_add(self.tail.names_len);
        self.tail.names_torn = true;
        self.store.write_all_at(offset, name).map_err(DriveError::Store)?;
        self.tail.names_torn = false; // what is behind it is zero
        let mut crc = (self.checksum)(self.tail.names_crc, name);
        for _ in usize_to_u64(name.len())..len {
            crc = (self.checksum)(crc, &[0]);
        }
        self.tail.names_crc = crc;
        self.tail.names_len = end;
        self.tail.names_count = self.tail.names_count.saturating_add(1);
        if name == checksums::NAME && self.tail.checksums {
            self.tail.checksums_id = Some(id);
        }
        Ok(id)
    }

    /// Whether names go to the list that the header shows while it has room, and not to another. Only
    /// for a file that nobody reads before it is closed, nor if it never is: names would be seen that
    /// are not committed.
    pub const fn set_names_in_place(&mut self, in_place: bool) {
        self.tail.names_in_place = in_place;
    }

    pub(super) fn name_list(&self) -> Span {
        Span::new(self.tail.names.location, self.tail.names_len).unwrap_or(Span::ZERO)
    }

    /// Makes a name list that is not shown, of at least `len` bytes, the present one: that which was
    /// shown before, or a fresh one at the end of the file.
    fn move_names(&mut self, len: u64) -> Result<(), WriteError<S>> {
        let (list, present) = (self.name_list(), self.tail.names);
        let is_shown = present == self.tail.image.name_block();
        let before = self.tail.names_before.filter(|(block, _)| {
            is_shown && *block != present && block.span().is_some_and(|span| span.len() >= len)
        });
        let (block, mut skip) = match before {
            Some(before) => before,
            None => (self.fresh_names(len)?, 0),
        };
        let span = block.span().unwrap_or(Span::ZERO);
        while let Some(left) = list.len().checked_sub(skip).filter(|&left| left > 0) {
            let mut small = [0; 256];
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(small.len());
            let bytes = small.get_mut(..len).unwrap_or_default();
            read_exact(&self.store, list.offset().saturating_add(skip), bytes)?;
            let to = span.offset().saturating_add(skip);
            self.store.write_all_at(to, bytes).map_err(DriveError::Store)?;
            skip = skip.saturating_add(usize_to_u64(len));
        }
        if before.is_none() {
            self.write_zeros(span.offset().saturating_add(skip), span.end())?;
            self.tail.data_end = self.tail.data_end.max(span.end());
        }
        if is_shown {
            // Only one that has zeros behind its names can be gone on with.
            self.tail.names_before = Some((present, list.len())).filter(|_| !self.tail.names_found);
        }
        self.tail.names_found = false;
        self.tail.names = block;
        self.tail.names_torn = false;
        Ok(())
    }

    /// Room for a name list of at least `len` bytes at the end of the file.
    fn fresh_names(&mut self, len: u64) -> Result<NameBlock, WriteError<S>> {
        let data_end = self.tail.data_end;
        let most = u64::from(u32::MAX) / NAME_UNIT;
        if len > most.saturating_mul(NAME_UNIT) {
            return Err(DriveError::Format(Error::FileFull { data_end, len }));
        }
        let mut units = self.tail.names.units.clamp(1, most);
        while units.saturating_mul(NAME_UNIT) < len {
            units = units.saturating_mul(2).min(most);
        }
        let len = units.saturating_mul(NAME_UNIT);
        let block = self.behind(len).map_err(DriveError::Format)?;
        self.reserve(block.end())?;
        Ok(NameBlock { location: block.offset(), units })
    }

    /// Clears what a write that failed may have left behind the names.
    pub(super) fn clear_behind_names(&mut self) -> Result<(), WriteError<S>> {
        if !self.tail.names_torn {
            return Ok(());
        }
        let end = self.tail.names.span().map_or(0, Span::end);
        let mut at = self.name_list().end();
        while let Some(left) = end.checked_sub(at).filter(|&left| left > 0) {
            let mut small = [0; 256];
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(small.len());
            let bytes = small.get_mut(..len).unwrap_or_default();
            read_exact(&self.store, at, bytes)?;
            if bytes.iter().any(|&byte| byte != 0) {
                bytes.fill(0);
                self.store.write_all_at(at, bytes).map_err(DriveError::Store)?;
            }
            at = at.saturating_add(usize_to_u64(len));
        }
        self.tail.names_torn = false;
        Ok(())
    }
}
