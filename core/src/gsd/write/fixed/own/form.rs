//! The names and blocks of a log, which move.

use crate::gsd::disk::record::Record;
use crate::gsd::layout::{
    IndexBlock, MAX_NAMES, MAX_NAMES_LEN, NAME_UNIT, NameBlock, check_places, grown_names,
};
use crate::gsd::raw::Image;
use crate::gsd::write::fixed::fault::Fault;
use crate::gsd::write::fixed::form::Form;
use crate::gsd::write::fixed::log::Log;
use crate::gsd::write::fixed::shape::{Base, Blocks};
use crate::integrity::crc32c;
use crate::span::Span;
use crate::store::usize_to_u64;

/// The places of the blocks, and the names.
#[derive(Debug)]
pub(super) struct Own<'s> {
    base: &'s Base,
    /// The blocks that the header shows.
    shown: Blocks,
    /// The blocks that the next commit shows.
    next: Blocks,
    /// The bytes of the names that the header shows.
    shown_len: u32,
    /// The list that the header showed before, and the bytes of the names in it.
    before: NameBlock,
    before_len: u32,
    /// The number of names, their bytes and their CRC-32C with the next commit.
    names: u32,
    names_len: u32,
    names_crc: u32,
}

impl Blocks {
    /// Whether the next writes overwrite nothing: the blocks lie after the shadows and before
    /// `end`, and are apart.
    fn are_right(&self, start: u64, end: u64) -> bool {
        check_places(&[self.names.span(), self.index.span()], start..end).is_ok()
    }
}

impl<'s> Own<'s> {
    pub(super) const fn new(base: &'s Base) -> Self {
        let shown = base.blocks();
        let (before, before_len, shown_len) = (NameBlock { location: 0, units: 0 }, 0, 0);
        let (names, names_len, names_crc) = (0, 0, 0);
        Self {
            base,
            shown,
            next: shown,
            shown_len,
            before,
            before_len,
            names,
            names_len,
            names_crc,
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.names
    }

    /// The names, and the NULs after them.
    pub(super) fn list(&self) -> Span {
        Span::exact(self.next.names.location, self.names_len.into())
    }

    /// The bytes of the names that the list in `block` has: it may be one that has all of them, or
    /// the first ones.
    pub(super) fn names_in(&self, block: NameBlock) -> u64 {
        match block {
            block if block == self.next.names => self.names_len.into(),
            block if block == self.before => self.before_len.into(),
            _ => 0,
        }
    }
}

impl Form for Own<'_> {
    const MOVES: bool = true;

    fn base(&self) -> &Base {
        self.base
    }

    fn first_names(&self) -> &[&str] {
        &[]
    }

    fn names(&self) -> usize {
        usize::try_from(self.names).unwrap_or(usize::MAX)
    }

    fn take(&mut self, found: &Record, image: &Image, record: &mut Record) -> bool {
        let Some(index) = found.index(image.index()) else { return false };
        let blocks = Blocks { names: image.name_block(), index };
        (self.shown, self.next) = (blocks, blocks);
        (self.names, self.names_len) = (found.names, found.names_len);
        (self.names_crc, self.shown_len) = (found.names_crc, found.names_len);
        (record.entries, record.data_end) = (found.entries, found.data_end);
        (record.index_crc, record.sequence) = (found.index_crc, found.sequence);
        self.complete(record);
        blocks.are_right(self.base.blocks().names.location, found.data_end)
    }

    fn shown(&self) -> Blocks {
        self.shown
    }

    fn next(&self) -> Blocks {
        self.next
    }

    fn move_index(&mut self, block: IndexBlock) {
        self.next.index = block;
    }

    fn complete(&self, record: &mut Record) {
        (record.names, record.names_len) = (self.names, self.names_len);
        record.names_crc = self.names_crc;
        record.index_reserved = self.next.index.slots;
    }

    fn commit(&mut self) {
        if self.shown.names != self.next.names {
            (self.before, self.before_len) = (self.shown.names, self.shown_len);
        }
        (self.shown, self.shown_len) = (self.next, self.names_len);
    }

    fn after_names(&self) -> Span {
        self.next.names.exact_span().skip(self.names_len.into())
    }
}

impl<const N: usize> Log<Own<'_>, N> {
    /// The name list that can have another name. If readers see the present one, it is the one that
    /// they saw before, or a new one.
    pub(super) fn name_block(&self, name: &[u8]) -> Result<NameBlock, Fault> {
        let form = &self.form;
        if name.is_empty() || name.contains(&0) {
            return Err(Fault::BadName);
        }
        let len = form.list().len().saturating_add(usize_to_u64(name.len())).saturating_add(1);
        if len > MAX_NAMES_LEN || form.names >= MAX_NAMES {
            return Err(Fault::Full);
        }
        let has_room = |block: &NameBlock| len <= block.units.saturating_mul(NAME_UNIT);
        let mut block = form.next.names;
        if block == form.shown.names && has_room(&form.before) && !self.is_torn {
            block = form.before; // the header that showed it is replaced for good
        } else if block == form.shown.names || !has_room(&block) {
            block.units = grown_names(block.units, len).ok_or(Fault::Full)?;
            block.location = self.at_end(block.units.saturating_mul(NAME_UNIT))?.offset();
        }
        Ok(block)
    }

    /// Notes that the list in `block` has another name, and returns its id.
    pub(super) fn add_name(&mut self, block: NameBlock, name: &[u8]) -> u16 {
        self.has_torn_name = false;
        let form = &mut self.form;
        let id = u16::try_from(form.names).unwrap_or(u16::MAX);
        let len = u32::try_from(name.len()).unwrap_or(u32::MAX).saturating_add(1);
        form.next.names = block;
        form.names = form.names.saturating_add(1);
        form.names_len = form.names_len.saturating_add(len);
        form.names_crc = crc32c(crc32c(form.names_crc, name), &[0]);
        self.data_end = self.data_end.max(self.form.end());
        id
    }
}
