//! The upgrade from layer 1 to layer 2: packed names and a sorted index, in new blocks, with one
//! commit.

use super::adopt::adopt;
use super::commit::{commit, publish_all, publish_entries};
use super::index::{index_block, pad};
use super::tail::{MAX_LEN, Tail};
use super::waiting::{Counts, Waiting};
use super::work::{Bytes, Job, Work, write_zeros};
use crate::gsd::error::{BadName, Error};
use crate::gsd::header::Version;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, NAME_UNIT, NameBlock};
use crate::gsd::raw::IndexEntry;
use crate::span::Span;
use crate::store::{copy_front, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

/// Memory for the state of a [`Book`](super::Book) before it is upgraded or truncated, which is
/// restored if that fails.
#[derive(Debug, Default)]
pub struct Before(Option<(Tail, Counts)>);

/// The type of [`Before::take_back`]. Other work does not refer to the function, so a program
/// without upgrades does not link it.
pub(super) type TakeBack = fn(&mut Before, &mut Tail, &mut Waiting<'_>);

impl Before {
    /// Memory without a state.
    pub const NONE: Self = Self(None);

    /// Restores the state before the failed work. If the header may be the new one already, the new
    /// state stays, and the header will be written again.
    pub(super) fn take_back(&mut self, tail: &mut Tail, waiting: &mut Waiting<'_>) {
        let Some((before, counts)) = self.0.take() else { return };
        *waiting.counts = counts;
        if tail.is_torn {
            waiting.counts.clear();
        } else {
            let Tail { store_len, stands, .. } = *tail;
            *tail = Tail { store_len, stands, ..before };
        }
    }
}

/// Remembers the state, which is restored if the work fails after this.
pub(super) fn remember(work: &mut Work<'_>) {
    if let Some((before, _)) = &mut work.before {
        before.0 = Some((*work.tail, *work.waiting.counts));
    }
}

/// Drops the remembered state after success.
pub(super) fn forget(work: &mut Work<'_>) {
    if let Some((before, _)) = &mut work.before {
        before.0 = None;
    }
}

/// Commits, and turns a file of an older layer into one of layer 2.1.
pub(super) fn upgrade(work: &mut Work<'_>) {
    match work.waiting.counts.open_len() {
        0 => work.then(&[commit, upgrade_committed]),
        _ => work.fail(Error::OpenFrame { frame: work.tail.frame }),
    }
}

fn upgrade_committed(work: &mut Work<'_>) {
    let version = work.tail.version;
    if version >= Version::LAYER {
        return;
    }
    if !version.is_sorted() {
        return work.then(&[adopt, remember, pack_names, sort_entries, forget]);
    }
    let set_version: Job = |work| {
        work.tail.version = Version::LAYER;
    };
    work.then(&[adopt, remember, set_version, publish_all, forget]) // layer 2.0 lacks text only
}

/// Writes the names to a new list, without the padding of their slots.
fn pack_names(work: &mut Work<'_>) {
    let units = work.tail.names.units.max(16); // never longer than in slots, but for 64 bytes
    let names = NameBlock { location: 0, units: units.saturating_add(1) };
    let Some(block) = work.ok(work.tail.behind(names.span().map_or(u64::MAX, Span::len))) else {
        return;
    };
    if work.lacks(block.end()) {
        return work.reserve(block.end(), pack_names);
    }
    (work.block, work.zeros) = (block, block);
    (work.done, work.crc) = (0, 0);
    work.then(&[read_slot, write_zeros, have_packed])
}

/// Reads the next old name. `work.done` bytes of the old list are packed; `work.zeros` is the rest
/// of the new list.
fn read_slot(work: &mut Work<'_>) {
    let left = work.tail.name_list().skip(work.done);
    if left.is_empty() {
        work.done = work.zeros.offset().saturating_sub(work.block.offset());
        return;
    }
    work.then(&[write_packed]);
    work.read(left.offset(), NAME_UNIT)
}

fn write_packed(work: &mut Work<'_>) {
    let mut slot = [0; 65];
    copy_front(work.bytes_read(), &mut slot);
    let len = slot.iter().position(|&byte| byte == 0).unwrap_or(64);
    if len == 0 {
        // a packed list cannot have an empty name, and ids are positions in the list
        return work.fail(Error::BadName(BadName::Empty));
    }
    let name = slot.get(..len.saturating_add(1)).unwrap_or_default();
    work.crc = (work.checksum)(work.crc, name);
    work.put_in_hand(name);
    work.done = work.done.saturating_add(NAME_UNIT);
    let offset = work.zeros.offset();
    work.zeros = work.zeros.skip(usize_to_u64(name.len()));
    work.then(&[read_slot]);
    work.write(offset, Bytes::Hand(name.len()));
}

fn have_packed(work: &mut Work<'_>) {
    let (block, tail) = (work.block, &mut *work.tail);
    tail.names = NameBlock { location: block.offset(), units: block.len() / NAME_UNIT };
    (tail.names_len, tail.names_crc, tail.names_torn) = (work.done, work.crc, false);
    (tail.names_before, tail.names_found) = (None, false); // the old one has slots
    tail.data_end = block.end().min(MAX_LEN);
}

/// Copies the entries to a new index; the entries of each frame are sorted by id. If a frame has
/// several entries with one name, the last one is kept, as readers of layer 1 find it.
fn sort_entries(work: &mut Work<'_>) {
    work.slots = work.tail.entries.max(2);
    let Some(index) = work.ok(index_block(work)) else { return };
    let span = index.span().unwrap_or(Span::ZERO);
    if work.lacks(span.end()) {
        return work.reserve(span.end(), sort_entries);
    }
    work.waiting.counts.clear();
    work.waiting.counts.set_rows(false); // entries are all that is sorted, and need the room
    (work.block, work.zeros) = (span, span);
    (work.done, work.crc) = (0, 0);
    work.then(&[read_entry, have_sorted, pad, publish_entries, |work| {
        work.waiting.counts.clear();
        work.waiting.counts.set_rows(work.tail.checksums);
    }])
}

/// Reads the next old entry. `work.done` bytes of the old entries are in the new index, up to
/// `work.zeros`, or wait in memory.
fn read_entry(work: &mut Work<'_>) {
    if work.done < work.tail.entries {
        work.then(&[sort_entry]);
        return work.read(work.tail.index.offset_of(work.done), ENTRY_LEN);
    }
    if work.waiting.counts.open_len() > 0 {
        write_sorted(work)
    }
}

fn sort_entry(work: &mut Work<'_>) {
    let mut entry = IndexEntry::new_zeroed();
    copy_front(work.bytes_read(), entry.as_mut_bytes());
    let has_open = work.waiting.counts.open_len() > 0;
    let frame = entry.frame.get();
    if has_open && work.shown != frame {
        return write_sorted(work);
    }
    let is_new = work.waiting.position(entry.id.get()).is_ok();
    if is_new && !work.waiting.counts.has_room() {
        let chunks = usize_to_u64(work.waiting.counts.open_len());
        return work.fail(Error::FrameFull { frame, chunks });
    }
    work.shown = frame;
    work.waiting.insert_entry(&entry, 0);
    work.done = work.done.saturating_add(1);
    work.then(&[read_entry])
}

fn write_sorted(work: &mut Work<'_>) {
    work.waiting.counts.end_frame();
    work.then(&[
        |work| {
            let sorted = work.waiting.ended();
            work.crc = (work.checksum)(work.crc, sorted);
            work.zeros = work.zeros.skip(usize_to_u64(sorted.len()));
            work.waiting.counts.clear();
        },
        read_entry,
    ]);
    work.write(work.zeros.offset(), Bytes::Ended);
}

fn have_sorted(work: &mut Work<'_>) {
    let (block, tail) = (work.block, &mut *work.tail);
    let entries = work.zeros.offset().saturating_sub(block.offset()) / ENTRY_LEN;
    tail.index = IndexBlock { location: block.offset(), slots: block.len() / ENTRY_LEN };
    (tail.entries, tail.index_crc, tail.crc_from) = (entries, work.crc, 0);
    (tail.data_end, tail.version) = (block.end(), Version::LAYER);
}
