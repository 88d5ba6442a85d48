//! Commits: they make the written bytes part of the file.

use super::adopt::make_durable;
use super::index::{copy_entries, free_slots, move_index, pad, spill};
use super::names::clear_behind_names;
use super::tail::{Stands, Tail};
use super::work::{HAND, Work, sync, write_zeros};
use crate::exact::Exact;
use crate::gsd::layout::IndexBlock;
use crate::gsd::publish::Stage;
use crate::gsd::raw::{Image, Shadow};
use crate::gsd::shadow::{Added, SHADOW_LEN};
use crate::store::usize_to_u64;

/// Makes all ended frames durable and visible. It takes two syncs, or one
/// ([`Attributes::one_sync`](crate::gsd::Attributes::one_sync)), and none if nothing is new. The
/// first commit always syncs the state that was found.
pub(super) fn commit(work: &mut Work<'_>) {
    work.then(&[settle, spill, publish_new])
}

fn publish_new(work: &mut Work<'_>) {
    let tail = &work.tail;
    let names = if tail.is_adopted { tail.image.commit.names.get() } else { tail.names_count };
    if tail.entries != tail.committed || names != tail.names_count {
        return work.then(&[publish_all]);
    }
    match tail.stands {
        // The program that left this state may have been killed before its sync. A commit promises
        // durability.
        Stands::Found => work.then(&[make_durable]),
        Stands::Written | Stands::Durable => {}
    }
}

/// Publishes all entries of the index and all names.
pub(super) fn publish_all(work: &mut Work<'_>) {
    work.then(&[free_slots, pad, publish_entries])
}

/// Publishes all entries of an index, after its padding.
pub(super) fn publish_entries(work: &mut Work<'_>) {
    work.shown = work.tail.entries;
    work.then(&[publish])
}

/// Publishes the first `work.shown` entries of the index, and all names.
pub(super) fn publish(work: &mut Work<'_>) {
    work.then(&[show_nothing, copy_entries, clear_behind_names, reserve_data, replace_header])
}

/// Clears the slots that a header without entries shows: the last ones, so that the others stay
/// free.
fn show_nothing(work: &mut Work<'_>) {
    let (tail, shown) = (&work.tail, work.tail.image.index());
    let is_shown = tail.index.last(shown.slots) == Some(shown) || tail.index == shown;
    if work.shown > 0 || is_shown {
        return;
    }
    let Some(last) = tail.index.last(tail.shown_slots) else {
        work.slots = tail.shown_slots.exact_mul(2);
        return work.then(&[move_index, show_nothing]);
    };
    work.zeros = last.exact_span();
    work.then(&[write_zeros])
}

fn reserve_data(work: &mut Work<'_>) {
    let end = work.tail.data_end;
    if work.lacks(end) {
        work.reserve(end, |_| ())
    }
}

/// Replaces the header's image by a new one.
#[inline(never)]
fn replace_header(work: &mut Work<'_>) {
    let (shown, entries, checksum) = (shown_block(work), work.shown, work.checksum);
    let (tail, hand) = (&*work.tail, &mut work.hand);
    let commit = &tail.image.commit;
    let place = (tail.data_end, commit.shadow.get(), commit.sequence.get().wrapping_add(1));
    // In place: it is large for a device's stack.
    let made = hand.set(Stage::Shadow, |shadow| {
        shadow.old.copy_from(&tail.image);
        shadow.new.copy_from(&tail.image);
        show(&mut shadow.new, tail, shown);
        tail.put_record(&mut shadow.new, entries, place, checksum)?;
        let crc = tail.sums.added_crc(tail.data_end, checksum);
        let added_crc = Added::between(&shadow.old, &shadow.new).map_or(0, |_| crc);
        shadow.seal(added_crc, checksum);
        Ok(())
    });
    if work.ok(made).is_none() {
        return;
    }
    work.then(&[publish_front, header_is_begun, publish_rest, header_is_written])
}

/// Makes the header show the blocks of the next commit.
fn show(image: &mut Image, tail: &Tail, shown: IndexBlock) {
    image.index_location = shown.location.into();
    image.index_allocated_entries = shown.slots.into();
    image.namelist_location = tail.names.location.into();
    image.namelist_allocated_entries = tail.names.units.into();
    image.gsd_version = tail.version.number().into();
}

fn shown_block(work: &Work<'_>) -> IndexBlock {
    let (tail, shown) = (&work.tail, work.tail.image.index());
    let is_shown = tail.index.last(shown.slots) == Some(shown) || tail.index == shown;
    match work.shown {
        0 if is_shown => shown,
        0 => tail.index.last(tail.shown_slots).unwrap_or(shown),
        slots => IndexBlock { slots, ..tail.index },
    }
}

/// Publishes up to the point where readers can see it.
fn publish_front(work: &mut Work<'_>) {
    if work.hand.is_about_to_begin() {
        return;
    }
    work.then(&[publish_front]);
    work.step();
}

/// Notes that the header may be the new one from here on, even after an error.
fn header_is_begun(work: &mut Work<'_>) {
    let (hand, tail) = (&work.hand, &mut *work.tail);
    (tail.image, tail.is_torn) = (*hand.image(), true);
    tail.stands = if hand.is_of_one_sync() { Stands::Written } else { Stands::Durable };
    tail.begin_sums();
}

/// Publishes the rest.
pub(super) fn publish_rest(work: &mut Work<'_>) {
    if work.hand.is_done() {
        return;
    }
    work.then(&[publish_rest]);
    work.step();
}

fn header_is_written(work: &mut Work<'_>) {
    work.tail.is_torn = false;
    work.tail.committed = work.shown;
}

/// Completes a publication that was interrupted while the header was written.
pub(super) fn settle(work: &mut Work<'_>) {
    if work.tail.is_torn_before {
        return work.then(&[settle_before, settle]);
    }
    if !work.tail.is_torn {
        return;
    }
    let image = work.tail.image;
    work.publish(Stage::Before, &image);
    work.then(&[publish_rest, |work| {
        let tail = &mut *work.tail;
        (tail.is_torn, tail.stands) = (false, Stands::Durable);
        tail.committed = tail.image.commit.entries.get();
    }])
}

/// Completes the publication of the previous commit. Without this, the header could be a front of
/// the last commit's and parts of two others, which no shadow explains.
fn settle_before(work: &mut Work<'_>) {
    let commit = &work.tail.image.commit;
    let before = commit.sequence.get().wrapping_sub(1);
    let offset = Shadow::offset_of(commit.shadow.get(), before);
    work.then(&[publish_before, publish_rest, |work| {
        work.tail.is_torn_before = false;
    }]);
    work.read(offset, usize_to_u64(SHADOW_LEN))
}

fn publish_before(work: &mut Work<'_>) {
    let mut image = work.tail.image;
    match Shadow::parse(work.bytes_read()) {
        Some(shadow) => {
            image.copy_from(&shadow.new);
            work.publish(Stage::Before, &image);
        }
        None => work.fail(image.crc_error()),
    }
}

/// Cuts the store at the end of the file: a failed or discarded chunk may have left bytes after it.
pub(super) fn cut(work: &mut Work<'_>) {
    let tail = &work.tail;
    let is_longer = tail.is_adopted && tail.store_len > tail.data_end;
    match (is_longer, tail.stands) {
        // an older header may use the bytes that are cut off
        (true, _) => work.then(&[make_durable, cut_store]),
        (false, Stands::Written) => work.then(&[make_durable]),
        (false, _) => {}
    }
}

/// Cuts the store at the end of the file.
pub(super) fn cut_store(work: &mut Work<'_>) {
    let end = work.tail.data_end;
    work.reserve(end, sync)
}

const _: () = assert!(SHADOW_LEN <= HAND);
