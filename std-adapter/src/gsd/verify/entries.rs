//! The index: every entry alone, behind the one before it, and against the rest of the file.

use super::finding::FindingKind;
use super::head::{Head, compare};
use super::names::Names;
use super::sums::Sums;
use super::{Failed, Report, WINDOW, overlap, read};
use crate::posix::PosixFile;
use std::ops::Range;
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::{Commit, IndexEntry};
use striae_core::gsd::{Chunk, ChunkType, Error, Version};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// Hands the entries in some slots to `each`, with their numbers, until it wants no more.
pub(in crate::gsd) fn each_entry(
    store: &PosixFile,
    index: IndexBlock,
    slots: Range<u64>,
    each: &mut dyn FnMut(u64, &IndexEntry) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let most = super::to_u64(WINDOW / 32);
    let mut window = Vec::new();
    let mut slot = slots.start;
    while let Some(left) = slots.end.checked_sub(slot).filter(|&left| left > 0) {
        let count = left.min(most);
        let len = usize::try_from(count.saturating_mul(32)).unwrap_or(WINDOW);
        window.resize(len, 0);
        read(store, index.offset_of(slot), &mut window)?;
        let entries = <[IndexEntry]>::ref_from_bytes(&window).unwrap_or_default();
        for (number, entry) in (slot..).zip(entries) {
            if !each(number, entry)? {
                return Ok(());
            }
        }
        slot = slot.saturating_add(count);
    }
    Ok(())
}

/// What is known of the entries so far.
struct Entries<'r, 'a> {
    head: Head,
    limits: Limits,
    names: Names,
    report: &'r mut Report<'a>,
    before: IndexEntry,
    /// Which ids the present frame has, and a list of them to forget them by.
    ids: Vec<bool>,
    listed: Vec<u16>,
    /// Where the first chunk of no rows is, and how many there are.
    no_rows: Option<(u64, u64)>,
    early_text: Option<(u64, u64)>,
    crc: u32,
}

pub(super) fn check(
    store: &PosixFile,
    head: &Head,
    names: Names,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let (head, mut names) = (*head, names);
    let entries = count(store, &head, report)?;
    report.summary.chunks = entries;
    let sealed = head.record.is_some_and(|record| record.checksums);
    let mut sums = Sums::new(store, names.sums, sealed);
    let limits = Limits { file_len: head.file_len, names: names.len() };
    names.sums = None;
    let mut seen = Entries {
        head,
        limits,
        names,
        report,
        before: IndexEntry::new_zeroed(),
        ids: vec![false; usize::try_from(limits.names).unwrap_or(1 << 16)],
        listed: Vec::new(),
        no_rows: None,
        early_text: None,
        crc: 0,
    };
    each_entry(store, head.shown, 0..entries, &mut |slot, entry| {
        if let Some(chunk) = seen.take(slot, entry) {
            sums.take(chunk, seen.report)?;
        }
        Ok(true)
    })?;
    sums.finish(seen.report)?;
    seen.finish();
    overlap::check(store, &head, entries, limits, report)
}

/// How many entries there are.
fn count(store: &PosixFile, head: &Head, report: &mut Report<'_>) -> Result<u64, Failed> {
    let shown = head.shown;
    if let Some(record) = head.record {
        return Ok(record.entries.min(shown.slots));
    }
    let (mut hole, mut stale) = (None, 0_u64);
    each_entry(store, shown, 0..shown.slots, &mut |slot, entry| {
        match (hole, entry.is_used()) {
            (None, false) => hole = Some(slot),
            (Some(_), true) => stale = stale.saturating_add(1),
            _ => {}
        }
        Ok(true)
    })?;
    if let Some(slot) = hole.filter(|_| stale > 0) {
        let offset = shown.offset_of(slot).saturating_add(16);
        report.damage(FindingKind::Hole { offset, slot, used: stale });
    }
    Ok(hole.unwrap_or(shown.slots))
}

impl Entries<'_, '_> {
    /// Checks an entry; its chunk if that can be right, and is not a copy of the one before.
    fn take(&mut self, slot: u64, entry: &IndexEntry) -> Option<Chunk> {
        let Head { shown, allocated, record, .. } = self.head;
        if record.is_some_and(|record| slot >= record.crc_from) {
            self.crc = crc32c::crc32c_append(self.crc, entry.as_bytes());
        }
        if slot > 0 && *entry == self.before {
            return None; // a striae writer fills its index with copies of the last entry
        }
        let at = |skip| shown.offset_of(slot).saturating_add(skip);
        let chunk = match Chunk::parse(entry, shown, slot, self.limits) {
            Ok(Some(chunk)) => Some(chunk),
            Ok(None) => {
                let (field, offset) = (IndexEntry::location, at(16));
                self.report.wrong(Error::TooSmall { field, offset, value: 0, min: 256 });
                None
            }
            Err(error) => {
                self.report.wrong(error);
                None
            }
        };
        self.check_order(slot, entry);
        self.before = *entry;
        let frame = entry.frame.get();
        if frame >= allocated {
            let (field, offset, max) = (IndexEntry::frame, at(0), allocated.saturating_sub(1));
            self.report.wrong(Error::TooLarge { field, offset, value: frame, max });
        }
        let chunk = chunk?;
        self.names.is_used(chunk.id);
        self.report.summary.frames = self.report.summary.frames.max(frame.saturating_add(1));
        if chunk.n == 0 {
            count_one(&mut self.no_rows, at(8));
        }
        if chunk.kind == ChunkType::Character && self.head.version < Version::LAYER {
            count_one(&mut self.early_text, at(30));
        }
        let data_end = record.map_or(u64::MAX, |record| record.data_end);
        if chunk.span.end() > data_end {
            let (offset, span) = (at(16), chunk.span);
            self.report.damage(FindingKind::BehindEnd { offset, span, data_end });
        }
        Some(chunk)
    }

    fn check_order(&mut self, slot: u64, entry: &IndexEntry) {
        let (frame, id) = (entry.frame.get(), entry.id.get());
        let (before, last) = (self.before.frame.get(), self.before.id.get());
        let at = |skip| self.head.shown.offset_of(slot).saturating_add(skip);
        if slot > 0 && frame < before {
            self.report.wrong(Error::Order { offset: at(0), frame, before });
        }
        if slot == 0 || frame != before {
            for id in self.listed.drain(..) {
                if let Some(has) = self.ids.get_mut(usize::from(id)) {
                    *has = false;
                }
            }
        }
        if let Some(has) = self.ids.get_mut(usize::from(id)) {
            if *has {
                self.report.damage(FindingKind::Repeated { offset: at(28), frame, id });
            } else if slot > 0 && frame == before && id < last && self.head.version.is_sorted() {
                let (offset, before) = (at(28), last);
                self.report.damage(FindingKind::Unsorted { offset, frame, id, before });
            }
            if !*has {
                self.listed.push(id);
            }
            *has = true;
        }
    }

    fn finish(self) {
        if let Some((offset, count)) = self.no_rows {
            self.report.note(FindingKind::NoRows { offset, count });
        }
        if let Some((offset, count)) = self.early_text {
            self.report.note(FindingKind::EarlyText { offset, count });
        }
        self.names.report_unused(self.report);
        if let Some(record) = self.head.record {
            compare(Commit::index_crc, record.index_crc, self.crc, self.report);
        }
    }
}

fn count_one(seen: &mut Option<(u64, u64)>, offset: u64) {
    let (first, count) = seen.unwrap_or((offset, 0));
    *seen = Some((first, count.saturating_add(1)));
}
