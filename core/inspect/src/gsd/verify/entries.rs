//! Checks the index: every entry by itself, after the previous one, and against the rest of the
//! file.

use super::head::{Head, compare};
use super::names::Names;
use super::overlap::{Index, Near};
use super::sums::Sums;
use super::{Depth, Report};
use crate::gsd::finding::FindingKind;
use crate::gsd::{Failed, each_stored, each_window};
use crate::report::Cases;
use crate::subject::{Subject, Sum};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::gsd::check_entry::{EntryCheck, Finding};
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::{Commit, IndexEntry};
use striae_core::gsd::{Chunk, ChunkType, Version};
use striae_core::integrity::Checksum;
use zerocopy::{FromZeros, IntoBytes};

/// The state after the entries so far.
struct Entries<'r, 'a> {
    head: Head,
    limits: Limits,
    check: EntryCheck,
    names: Names,
    report: &'r mut Report<'a>,
    /// The last entry, apart from empty slots, and the slot after it if that is empty.
    last: Option<IndexEntry>,
    empty: Option<IndexEntry>,
    /// The last frame with each id, as a number in order of the index; 0 for none.
    ids: Vec<u64>,
    frames: u64,
    /// Entries that gsd refuses because of their frame: the frame, and its offset.
    many_frames: Cases<(u64, u64)>,
    /// Chunks without rows, and chunks of text in layer 1: the offset of the field.
    no_rows: Cases<u64>,
    early_text: Cases<u64>,
    crc: u32,
    checksum: Checksum,
}

pub(super) fn check<S: Subject>(
    subject: &S,
    head: &Head,
    (names, depth): (Names, Depth),
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let (head, mut names) = (*head, names);
    let entries = count(subject, &head, report)?;
    let sealed = head.record.is_some_and(|record| record.checksums);
    let mut sums = Sums::new(subject, (head.file_len, depth), names.sums, sealed);
    let limits = Limits { file_len: head.file_len, names: names.len() };
    names.sums = None;
    let check = EntryCheck {
        version: head.version,
        file_len: head.file_len,
        shown: IndexBlock { slots: head.allocated, ..head.shown },
        index: head.index,
        names: head.names,
        // That some are cut off is told, and which ones nobody knows.
        name_count: if head.are_names_cut { u32::MAX } else { names.len() },
        shadow: head.record.map(|record| record.shadow),
    };
    let mut seen = Entries {
        head,
        limits,
        check,
        names,
        report,
        last: None,
        empty: None,
        ids: vec![0; usize::try_from(limits.names).unwrap_or(1 << 16)],
        frames: 0,
        many_frames: Cases::NONE,
        no_rows: Cases::NONE,
        early_text: Cases::NONE,
        crc: 0,
        checksum: subject.checksum(Sum::Crc32c),
    };
    let mut near = Near::new(&head);
    each_window(subject, head.shown, 0..entries, |first, entries| {
        seen.sum(first, entries);
        for (slot, entry) in (first..).zip(entries) {
            if let Some(chunk) = seen.take(slot, entry) {
                near.take(slot, chunk.span);
                sums.take(chunk, seen.report)?;
            }
        }
        Ok(true)
    })?;
    sums.finish(seen.report)?;
    seen.finish();
    near.finish(&Index { subject, head: &head, entries, limits }, report)
}

/// Finds the number of entries.
fn count<S: Subject>(subject: &S, head: &Head, report: &mut Report<'_>) -> Result<u64, Failed<S>> {
    let shown = head.shown;
    // Nobody but gsd uses slots that are shown and not committed; the first of these is empty here.
    let committed = head.record.map(|record| record.entries.min(shown.slots));
    let slots = committed.unwrap_or(0)..shown.slots;
    let (mut hole, mut stale, mut half) = (None, 0_u64, None);
    each_stored(subject, shown, slots, |first, entries| {
        for (slot, entry) in (first..).zip(entries) {
            match entry.is_used() {
                true if hole.is_some() => stale = stale.saturating_add(1),
                true => {}
                false => {
                    hole.get_or_insert(slot);
                    if half.is_none() && !is_zero(entry) {
                        half = Some(slot);
                    }
                }
            }
        }
        Ok(true)
    })?;
    if let Some(slot) = hole.filter(|_| stale > 0) {
        let offset = shown.offset_of(slot).saturating_add(16);
        report.add(FindingKind::Hole { offset, slot, used: stale });
    } else if let Some(slot) = half {
        report.add(FindingKind::HalfEntry { offset: shown.offset_of(slot), slot });
    }
    Ok(committed.or(hole).unwrap_or(shown.slots))
}

impl Entries<'_, '_> {
    /// Adds the entries that the commit record has the checksum of; `first` is the slot of the
    /// first.
    fn sum(&mut self, first: u64, entries: &[IndexEntry]) {
        let Some(record) = &self.head.record else { return };
        let skip = usize::try_from(record.crc_from.saturating_sub(first)).unwrap_or(usize::MAX);
        self.crc = (self.checksum)(self.crc, entries.get(skip..).unwrap_or_default().as_bytes());
    }

    /// Checks an entry; returns its chunk if it is plausible and not a copy of the previous one.
    #[inline]
    fn take(&mut self, slot: u64, entry: &IndexEntry) -> Option<Chunk> {
        let shown = self.head.shown;
        let is_used = entry.is_used();
        // An index in order has no copies.
        let follows = is_used && self.last.as_ref().is_none_or(|last| last.key() < entry.key());
        let before = if is_used { &self.last } else { &self.empty };
        let is_copy = !follows && before.as_ref() == Some(entry);
        self.empty = Some(*entry).filter(|_| !is_used);
        if is_copy {
            return None; // a striae writer fills its index with copies of the last entry
        }
        self.report.summary.chunks = self.report.summary.chunks.saturating_add(1);
        let at = |skip| shown.offset_of(slot).saturating_add(skip);
        let chunk = Chunk::parse(entry, shown, slot, self.limits).ok().flatten();
        // What a chunk overlaps is told by its place.
        if !chunk.is_some_and(|chunk| follows && chunk.frame < self.check.shown.slots) {
            self.report_defects(slot, entry);
        }
        if !is_used {
            return None; // it has neither a frame nor a name
        }
        self.check_name(slot, entry);
        self.last = Some(*entry);
        let frame = entry.frame.get();
        let chunk = chunk?;
        self.names.is_used(chunk.id);
        self.report.summary.frames = self.report.summary.frames.max(frame.saturating_add(1));
        if chunk.n == 0 {
            self.no_rows.add(at(8));
        }
        if chunk.kind == ChunkType::Character && self.head.version < Version::LAYER {
            self.early_text.add(at(30));
        }
        let data_end = self.head.record.as_ref().map_or(u64::MAX, |record| record.data_end);
        if chunk.span.end() > data_end {
            let (offset, span) = (at(16), chunk.span);
            self.report.add(FindingKind::BehindEnd { offset, span, data_end });
        }
        Some(chunk)
    }

    /// Reports the defects of an entry that may have some.
    #[inline(never)]
    fn report_defects(&mut self, slot: u64, entry: &IndexEntry) {
        let offset = self.head.shown.offset_of(slot);
        let (report, many_frames) = (&mut *self.report, &mut self.many_frames);
        self.check.findings(self.last.as_ref(), entry, offset, |finding| match finding {
            // Told with all others that share bytes, or have a name that the frame has.
            Finding::Overlap { .. } | Finding::Duplicate { .. } => {}
            // gsd's writer does that with frames without chunks; but no file has more frames than
            // bytes.
            Finding::Frame { frame, .. } if frame < self.head.file_len => {
                many_frames.add((frame, offset));
            }
            finding => report.add(FindingKind::Entry(finding)),
        });
    }

    /// Checks whether the frame already has a chunk of that name.
    #[inline]
    fn check_name(&mut self, slot: u64, entry: &IndexEntry) {
        let (frame, id) = (entry.frame.get(), entry.id.get());
        if self.last.as_ref().is_none_or(|last| frame != last.frame.get()) {
            self.frames = self.frames.saturating_add(1);
        }
        match self.ids.get_mut(usize::from(id)) {
            Some(last) if *last == self.frames => {
                let offset = self.head.shown.offset_of(slot).saturating_add(28);
                self.report.add(FindingKind::Repeated { offset, frame, id });
            }
            Some(last) => *last = self.frames,
            None => {} // there is no such name
        }
    }

    fn finish(self) {
        let slots = self.head.allocated;
        self.report.cases(self.many_frames, |(frame, offset), count| FindingKind::ManyFrames {
            offset,
            frame,
            slots,
            count,
        });
        self.report.cases(self.no_rows, |offset, count| FindingKind::NoRows { offset, count });
        self.report
            .cases(self.early_text, |offset, count| FindingKind::EarlyText { offset, count });
        self.names.report_unused(self.report);
        if let Some(record) = self.head.record {
            compare(Commit::index_crc, record.index_crc, self.crc, self.report);
        }
    }
}

fn is_zero(entry: &IndexEntry) -> bool {
    *entry == IndexEntry::new_zeroed()
}
