//! Names: a new name goes to the end of the list.

use super::adopt::adopt;
use super::commit::settle;
use super::tail::Tail;
use super::work::{Bytes, HAND, Work, write_zeros};
use crate::exact::Exact;
use crate::gsd::checksums;
use crate::gsd::error::Error;
use crate::gsd::layout::{MAX_NAMES, NAME_UNIT, NameBlock};
use crate::gsd::names::check_name;
use crate::span::Span;
use crate::store::usize_to_u64;

/// Refuses a name that the file cannot have.
fn check(tail: &Tail, name: &[u8]) -> Result<(), Error> {
    check_name(name, tail.version)?;
    match tail.names_count < MAX_NAMES {
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

    const fn shows_names(&self) -> bool {
        let shown = self.image.name_block();
        self.names.location == shown.location && self.names.units == shown.units
    }

    /// The previous visible name list and its used bytes, if names of `len` bytes fit there.
    fn names_before(&self, len: u64) -> Option<(NameBlock, u64)> {
        self.names_before.filter(|(block, _)| {
            let is_long = block.exact_span().len() >= len;
            is_long && self.shows_names() && *block != self.names
        })
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
        let most = u64::from(u32::MAX) / NAME_UNIT;
        if len > most.saturating_mul(NAME_UNIT) {
            return Err(Error::FileFull { data_end: self.data_end, len });
        }
        let mut units = self.names.units.clamp(1, most);
        while units.exact_mul(NAME_UNIT) < len {
            units = units.exact_mul(2).min(most);
        }
        let location = self.behind(units.exact_mul(NAME_UNIT))?.offset();
        Ok(NameBlock { location, units })
    }
}

/// Adds `work.name`.
pub(super) fn add(work: &mut Work<'_>) {
    let check = check(work.tail, work.name);
    if work.ok(check).is_some() {
        work.then(&[adopt, make_name_room, clear_behind_names, write_name]);
    }
}

/// Length of the list with `work.name`.
fn end_of_names(work: &Work<'_>) -> u64 {
    work.tail.names_len.exact_add(work.tail.name_len(work.name.len()))
}

fn make_name_room(work: &mut Work<'_>) {
    if work.tail.must_move_names(end_of_names(work)) {
        work.then(&[settle, move_names]);
    }
}

fn write_name(work: &mut Work<'_>) {
    work.tail.names_torn = true;
    work.then(&[has_name]);
    let offset = work.tail.name_list().end();
    work.write(offset, Bytes::Name);
}

fn has_name(work: &mut Work<'_>) {
    let (end, len, name) = (end_of_names(work), work.tail.name_len(work.name.len()), work.name);
    let tail = &mut *work.tail;
    tail.names_torn = false; // what is behind it is zero
    let mut crc = (work.checksum)(tail.names_crc, name);
    for _ in usize_to_u64(name.len())..len {
        crc = (work.checksum)(crc, &[0]);
    }
    if name == checksums::NAME && tail.checksums {
        tail.checksums_id = u16::try_from(tail.names_count).ok();
    }
    (tail.names_crc, tail.names_len) = (crc, end);
    tail.names_count = tail.names_count.exact_add(1);
}

/// Switches to an invisible name list with room for `work.name`: the previous visible list, or a
/// new one at the end of the file.
fn move_names(work: &mut Work<'_>) {
    let len = end_of_names(work);
    let (block, done) = match work.tail.names_before(len) {
        Some(before) => before,
        None => {
            let Some(block) = work.ok(work.tail.fresh_names(len)) else { return };
            let end = block.exact_span().end();
            if work.lacks(end) {
                return work.reserve(end, move_names);
            }
            (block, 0)
        }
    };
    (work.block, work.done) = (block.exact_span(), done);
    work.then(&[copy_names, clear_rest, have_moved])
}

fn copy_names(work: &mut Work<'_>) {
    let left = work.tail.name_list().skip(work.done);
    if left.is_empty() {
        return;
    }
    work.then(&[write_names]);
    work.read(left.offset(), left.len())
}

fn write_names(work: &mut Work<'_>) {
    let len = work.bytes_read().len();
    let offset = work.block.offset().exact_add(work.done);
    work.then(&[
        |work| {
            let len = usize_to_u64(work.bytes_read().len());
            work.done = work.done.exact_add(len);
        },
        copy_names,
    ]);
    work.write(offset, Bytes::Read(len));
}

/// Clears the rest of a new list after its names.
fn clear_rest(work: &mut Work<'_>) {
    if work.tail.names_before(end_of_names(work)).is_some() {
        return;
    }
    work.zeros = work.block.skip(work.done);
    work.then(&[write_zeros, |work| {
        work.tail.data_end = work.tail.data_end.max(work.block.end());
    }])
}

fn have_moved(work: &mut Work<'_>) {
    let (block, tail) = (work.block, &mut *work.tail);
    if tail.shows_names() {
        // Only a list with zeros after its names can be used again.
        let before = Some((tail.names, tail.names_len));
        tail.names_before = before.filter(|_| !tail.names_found);
    }
    tail.names_found = false;
    tail.names = NameBlock { location: block.offset(), units: block.len() / NAME_UNIT };
    tail.names_torn = false;
}

/// Clears bytes that a failed write may have left after the names.
pub(super) fn clear_behind_names(work: &mut Work<'_>) {
    if !work.tail.names_torn {
        return;
    }
    work.block = work.tail.names.exact_span().skip(work.tail.names_len);
    work.then(&[look_behind_names])
}

fn look_behind_names(work: &mut Work<'_>) {
    if work.block.is_empty() {
        work.tail.names_torn = false;
        return;
    }
    work.then(&[clear_names]);
    work.read(work.block.offset(), work.block.len().min(usize_to_u64(HAND)))
}

fn clear_names(work: &mut Work<'_>) {
    let bytes = work.bytes_read();
    let (len, is_clear) = (usize_to_u64(bytes.len()), bytes.iter().all(|&byte| byte == 0));
    let part = work.block.part(0, len).unwrap_or(Span::ZERO);
    work.block = work.block.skip(len);
    if is_clear {
        return work.then(&[look_behind_names]);
    }
    work.zeros = part;
    work.then(&[write_zeros, look_behind_names])
}
