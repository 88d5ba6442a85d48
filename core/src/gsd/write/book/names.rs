//! Names: a new name goes to the end of the list.

use super::desk::{Desk, Failure, SMALL};
use super::tail::{Move, NO_NAME, NO_NAMES, Tail};
use crate::exact::Exact;
use crate::gsd::disk::checksums;
use crate::gsd::disk::names::check_name;
use crate::gsd::error::Error;
use crate::gsd::layout::{MAX_NAMES, NAME_UNIT, NameBlock, grown_names};
use crate::integrity::Checksum;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

/// Refuses a name that the file cannot have.
fn check(tail: &Tail, name: &[u8]) -> Result<(), Error> {
    check_name(name, tail.version)?;
    // The first frame that ends needs the name of its checksums.
    let has_own = tail.checksums_id != NO_NAME || name == checksums::NAME;
    let most = if tail.checksums && !has_own { MAX_NAMES.exact_sub(1) } else { MAX_NAMES };
    match tail.names_count < most {
        true => Ok(()),
        false => Err(Error::NamesFull),
    }
}

impl Tail {
    /// The bytes that a name of `len` bytes takes in the list.
    fn name_len(&self, len: usize) -> u64 {
        match self.version.is_sorted() {
            true => usize_to_u64(len).exact_add(1),
            false => NAME_UNIT,
        }
    }

    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    const fn shows_names(&self) -> bool {
        let shown = self.image.name_block();
        self.names.location == shown.location && self.names.units == shown.units
    }

    /// The previous visible name list and its used bytes, if names of `len` bytes fit there.
    fn names_before(&self, len: u64) -> Option<(NameBlock, u64)> {
        let block = self.names_before;
        let is_long = block.exact_span().len() >= len;
        let may = is_long && self.shows_names() && block != self.names;
        may.then_some((block, self.names_before_len))
    }

    /// Whether a list of `len` bytes needs another place.
    fn must_move_names(&self, len: u64) -> bool {
        let is_kept = self.shows_names() && !self.names_in_place;
        is_kept || len > self.names.exact_span().len()
    }

    /// The end of the file after another name of `len` bytes.
    pub(super) fn end_with_name(&self, len: usize) -> u64 {
        let len = self.names_len.exact_add(self.name_len(len));
        match self.must_move_names(len) && self.names_before(len).is_none() {
            true => self.fresh_names(len).map_or(u64::MAX, |block| block.exact_span().end()),
            false => self.data_end,
        }
    }

    /// A new name list of at least `len` bytes at the end of the file.
    fn fresh_names(&self, len: u64) -> Result<NameBlock, Error> {
        let units = grown_names(self.names.units, len);
        let units = units.ok_or(Error::FileFull { data_end: self.data_end, len })?;
        let location = self.behind(units.exact_mul(NAME_UNIT))?.offset();
        Ok(NameBlock { location, units })
    }

    /// Notes that `name` is written after the others, and the list is `end` bytes long.
    fn add_name(&mut self, name: &[u8], end: u64, checksum: Checksum) {
        let mut crc = checksum(self.names_crc, name);
        for _ in self.names_len.exact_add(usize_to_u64(name.len()))..end {
            crc = checksum(crc, &[0]);
        }
        if name == checksums::NAME && self.checksums {
            self.checksums_id = u16::try_from(self.names_count).unwrap_or(NO_NAME);
        }
        (self.names_crc, self.names_len) = (crc, end);
        self.names_count = self.names_count.exact_add(1);
    }

    /// Switches to the name list at `block`.
    fn take_names(&mut self, block: NameBlock) {
        if self.shows_names() {
            // Only a list with zeros after its names can be used again.
            self.names_before = if self.names_found { NO_NAMES } else { self.names };
            self.names_before_len = self.names_len;
        }
        (self.names, self.names_found, self.names_torn) = (block, false, false);
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Adds a name.
    pub(super) async fn add_name(&mut self, name: &[u8]) -> Result<(), Failure> {
        self.disk.check(check(self.tail, name))?;
        self.adopt().await?;
        let end = self.tail.names_len.exact_add(self.tail.name_len(name.len()));
        if self.tail.must_move_names(end) {
            self.settle().await?;
            self.move_names(end).await?;
        }
        self.clear_behind_names().await?;
        self.tail.names_torn = true;
        self.disk.write(self.tail.name_list().end(), name).await?;
        self.tail.names_torn = false; // what is behind it is zero
        self.tail.add_name(name, end, self.checksum);
        Ok(())
    }

    /// Switches to an invisible name list of at least `len` bytes: the previous visible list, or a
    /// new one at the end of the file.
    async fn move_names(&mut self, len: u64) -> Result<(), Failure> {
        let before = self.tail.names_before(len);
        let (block, done) = match before {
            Some(before) => before,
            None => (self.disk.check(self.tail.fresh_names(len))?, 0),
        };
        let end = block.exact_span().end();
        if before.is_none() {
            self.reserve(end).await?;
        }
        let to = block.location.exact_add(done);
        let mut moving = Move { from: self.tail.name_list().skip(done), to };
        while !moving.from.is_empty() {
            self.copy_front(&mut moving).await?;
        }
        if before.is_none() {
            let rest = Span::between(moving.to, end).unwrap_or(Span::ZERO);
            self.disk.write_zeros(rest).await?; // what is after the names
            self.tail.data_end = self.tail.data_end.max(end);
        }
        self.tail.take_names(block);
        Ok(())
    }

    /// Clears bytes that a failed write may have left after the names.
    pub(super) async fn clear_behind_names(&mut self) -> Result<(), Failure> {
        if !self.tail.names_torn {
            return Ok(());
        }
        let mut left = self.tail.names.exact_span().skip(self.tail.names_len);
        while !left.is_empty() {
            let mut small = [0; SMALL];
            let found = self.disk.read_front(left, &mut [], &mut small).await?;
            if found.iter().any(|&byte| byte != 0) {
                let len = usize_to_u64(found.len());
                self.disk.write_zeros(Span::exact(left.offset(), len)).await?;
            }
            left = left.after(found);
        }
        self.tail.names_torn = false;
        Ok(())
    }
}
