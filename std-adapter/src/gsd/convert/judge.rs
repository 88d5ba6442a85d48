//! Decides if a file is sound enough to copy, with the findings of a check.

use crate::error::Error;
use crate::gsd::verify::{self, FindingKind, Part};
use crate::gsd::{ErrorKind, File, hoomd};
use striae_core::gsd::check_entry::Finding as Entry;
use striae_core::gsd::raw::IndexEntry;
use striae_core::store::ReadAt;
use striae_inspect::finding::Found;

/// Number of checks before the file counts as damaged: a concurrent write can look like damage.
const LOOKS: u32 = 2;

/// Refuses a file with damage, except in data or in frames that are not `wanted`. `is_part` says if
/// only some frames are copied.
pub(super) fn check(file: &File, is_part: bool, wanted: &dyn Fn(u64) -> bool) -> Result<(), Error> {
    let mut found = None;
    for _ in 0..LOOKS {
        let mut counts = |what: &FindingKind| match what {
            FindingKind::Torn { .. } => false, // the other half is known
            what => {
                frames_of(file, is_part, what).is_none_or(|frames| frames.into_iter().any(wanted))
            }
        };
        found = verify::first_damage(file.path(), file.store(), &mut counts)?;
        if found.is_none() {
            return Ok(());
        }
    }
    match found {
        Some(finding) => Err(file.error(ErrorKind::Damaged(Box::new(finding)))),
        None => Ok(()),
    }
}

/// The frames that a finding concerns; `None` if every frame may be concerned.
fn frames_of(file: &File, is_part: bool, what: &FindingKind) -> Option<Vec<u64>> {
    let entry_of = |slot: u64| file.head().index().offset_of(slot);
    let frame_at = |entry: u64| {
        let mut frame = [0; 8];
        let read = file.store().read_at(entry, &mut frame).ok()?;
        (read == frame.len()).then(|| u64::from_le_bytes(frame))
    };
    let location = u64::from(IndexEntry::location.offset());
    match what {
        // The frame of the entry before it may be the wrong one.
        FindingKind::Entry(Entry::Order { .. } | Entry::Unsorted { .. }) => None,
        FindingKind::Entry(entry) => {
            let entry = entry.offset().checked_sub(entry.field().offset().into())?;
            Some(vec![frame_at(entry)?])
        }
        // The first copied frame may have the quantity, which the copy itself finds out.
        FindingKind::Hoomd { error: hoomd::Error::Late { .. }, .. } if is_part => Some(Vec::new()),
        FindingKind::Hoomd { .. } => what.facts().frame.map(|frame| vec![frame]),
        FindingKind::Repeated { frame, .. } => Some(vec![*frame]),
        FindingKind::BehindEnd { offset, .. } => {
            Some(vec![frame_at(offset.checked_sub(location)?)?])
        }
        FindingKind::Overlap { first, second, .. } => {
            let parts = [first, second].into_iter();
            let slots = parts.filter_map(|part| match part {
                Part::Chunk(slot) => Some(*slot),
                _ => None,
            });
            let frames: Option<Vec<u64>> = slots.map(|slot| frame_at(entry_of(slot))).collect();
            frames.filter(|frames| !frames.is_empty())
        }
        _ => None,
    }
}
