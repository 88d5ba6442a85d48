//! GSD files.
//!
//! | module | holds |
//! |---|---|
//! | [`verify`] | checks all that can be checked of a file |
//! | [`recover`] | finds what can be saved of a damaged file, frame by frame |
//! | `dump` | its structures, as lists of fields |
//! | `finding` | the findings |
//! | `map` | whose bytes are where |
//! | `sorted` | passes items in the order of their keys |
//! | `size` | how large a new file is at most |
//! | `stale` | the properties in a commit record that is older than gsd's last append |

mod dump;
mod finding;
mod map;
pub mod recover;
mod size;
mod sorted;
mod stale;
pub mod verify;

pub use dump::dump;
pub use finding::{FindingKind, error_facts};
pub use map::map;
pub use size::Contents;
pub use stale::Stale;
pub use striae_core::gsd::Basis;

use crate::subject::{self, Subject, stored};
use alloc::vec::Vec;
use core::ops::Range;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Error};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros};

/// The error that ends the check of a file: the store failed, or the file became shorter.
pub(crate) type Failed<S> = subject::Failed<S, Error>;

/// Passes the entries in some slots to `each`, with their numbers, until `each` returns `false`.
pub(crate) fn each_entry<S: Subject>(
    subject: &S,
    index: IndexBlock,
    slots: Range<u64>,
    mut each: impl FnMut(u64, &IndexEntry) -> Result<bool, Failed<S>>,
) -> Result<(), Failed<S>> {
    each_window(subject, index, slots, |first, entries| {
        for (entry, number) in entries.iter().zip(first..) {
            if !each(number, entry)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Hands the entries in some slots to `each`, as [`each_window`] does, but the empty ones in a hole
/// of the file as one: a block may claim far more slots than the bytes that exist.
pub(crate) fn each_stored<S: Subject>(
    subject: &S,
    index: IndexBlock,
    slots: Range<u64>,
    mut each: impl FnMut(u64, &[IndexEntry]) -> Result<bool, Failed<S>>,
) -> Result<(), Failed<S>> {
    let (start, mut next, mut goes_on) = (index.offset_of(slots.start), slots.start, true);
    let (empty, count) = ([IndexEntry::new_zeroed()], slots.end.saturating_sub(slots.start));
    let table = Span::of_table(start, count, 32).ok_or(DriveError::Ended { offset: start })?;
    for part in stored(subject, table) {
        let part = part.map_err(DriveError::Store)?;
        let slot = |bytes: u64| slots.start.saturating_add(bytes >> 5); // 32 bytes each
        let first = slot(part.offset().saturating_sub(start)).max(next);
        let end = slot(part.end().saturating_sub(start).saturating_add(31)).min(slots.end);
        if next < first && !each(next, &empty)? {
            return Ok(());
        }
        next = end.max(next);
        each_window(subject, index, first..next, |first, entries| {
            goes_on = each(first, entries)?;
            Ok(goes_on)
        })?;
        if !goes_on {
            return Ok(());
        }
    }
    if next < slots.end {
        each(next, &empty)?;
    }
    Ok(())
}

/// Hands the entries in some slots to `each`, many at once, with the number of the first, until it
/// wants no more.
pub(crate) fn each_window<S: Subject>(
    subject: &S,
    index: IndexBlock,
    slots: Range<u64>,
    mut each: impl FnMut(u64, &[IndexEntry]) -> Result<bool, Failed<S>>,
) -> Result<(), Failed<S>> {
    let (offset, mut first) = (index.offset_of(slots.start), slots.start);
    let count = slots.end.saturating_sub(slots.start);
    let table = Span::of_table(offset, count, 32).ok_or(DriveError::Ended { offset })?;
    subject::read_windows(subject, table, subject::WINDOW, &mut Vec::new(), |_, bytes| {
        let entries = <[IndexEntry]>::ref_from_bytes(bytes).unwrap_or_default();
        let more = each(first, entries)?;
        first = first.saturating_add(usize_to_u64(entries.len()));
        Ok(more)
    })
}

/// The bytes from the first of some chunks to the last, if most of them are theirs.
#[must_use]
pub fn together(chunks: &[Chunk]) -> Option<Span> {
    let start = chunks.iter().map(|chunk| chunk.span.offset()).min()?;
    let end = chunks.iter().map(|chunk| chunk.span.end()).max()?;
    let len = chunks.iter().map(|chunk| chunk.span.len()).fold(0, u64::saturating_add);
    Span::between(start, end).filter(|whole| whole.len() <= len.saturating_mul(2))
}
