//! Finds parts of a file that share bytes, and bytes that no part uses.

use super::Report;
use super::head::Head;
use super::part::Part;
use crate::gsd::finding::FindingKind;
use crate::gsd::sorted::each_sorted;
use crate::gsd::{Failed, each_entry};
use crate::subject::Subject;
use alloc::vec::Vec;
use core::cmp::Reverse;
use striae_core::gsd::Chunk;
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::raw::{IndexEntry, Shadow};
use striae_core::span::Span;

/// The number of chunks, or of runs of them, that are kept to be sorted by place, if that is nearly
/// the order of the index: more than a frame can have.
const NEAR: usize = 1 << 17;

/// A part of the file and its bytes.
#[derive(Debug, Clone, Copy)]
struct Place {
    span: Span,
    part: Part,
}

/// A pass through all parts in the order of their places.
struct Sweep {
    head: Head,
    /// Parts that are not chunks, the last one first.
    others: Vec<Place>,
    /// The part with the largest end so far.
    last: Place,
    /// Unused bytes: the first one, their number, and the number of places.
    unused: Option<(u64, u64, u64)>,
    /// Shorter gaps are the result of alignment.
    shortest_gap: u64,
    found: Vec<FindingKind>,
    /// Whether a part came after one with a larger start.
    is_disordered: bool,
    start: u64,
}

impl Sweep {
    fn new(head: &Head) -> Self {
        let place = |span, part| Place { span, part };
        let header = place(Span::new(0, 256).unwrap_or(Span::ZERO), Part::Header);
        let record = head.record;
        let shadow = record.and_then(|record| Span::new(record.shadow, Shadow::BOTH_LEN));
        let others = [
            shadow.map(|span| place(span, Part::Shadow)),
            head.index.span().map(|span| place(span, Part::Index)),
            head.names.span().map(|span| place(span, Part::Names)),
        ];
        let mut others: Vec<_> = others.into_iter().flatten().collect();
        others.retain(|place| !place.span.is_empty());
        others.sort_unstable_by_key(|place| Reverse(place.span.offset()));
        let align = record.and_then(|record| 1_u64.checked_shl(record.align.into()));
        let shortest_gap = align.map_or(1, |align| align.max(512));
        Self {
            head: *head,
            others,
            last: header,
            unused: None,
            shortest_gap,
            found: Vec::new(),
            is_disordered: false,
            start: 0,
        }
    }

    /// Adds the next chunk.
    fn take(&mut self, slot: u64, span: Span) {
        while let Some(other) = self.others.pop_if(|other| other.span.offset() <= span.offset()) {
            self.put(other);
        }
        self.put(Place { span, part: Part::Chunk(slot) });
    }

    fn put(&mut self, place: Place) {
        let (start, end) = (place.span.offset(), self.last.span.end());
        self.is_disordered |= start < self.start;
        self.start = start;
        if start < end {
            self.found.push(FindingKind::Overlap {
                offset: self.field_of(place.part),
                first: self.last.part,
                first_span: self.last.span,
                second: place.part,
                second_span: place.span,
            });
        } else {
            self.gap(end, start);
        }
        if place.span.end() > end {
            self.last = place;
        }
    }

    fn gap(&mut self, from: u64, to: u64) {
        let len = to.saturating_sub(from);
        if len >= self.shortest_gap {
            let (first, sum, count) = self.unused.unwrap_or((from, 0, 0));
            self.unused = Some((first, sum.saturating_add(len), count.saturating_add(1)));
        }
    }

    /// The offset of the field that states the start of a part.
    fn field_of(&self, part: Part) -> u64 {
        match part {
            Part::Header => 0,
            Part::Index => 8,
            Part::Names => 24,
            Part::Shadow => 208,
            Part::Chunk(slot) => self.head.shown.offset_of(slot).saturating_add(16),
        }
    }

    /// Whether all parts were in order so far, and none shares bytes.
    const fn is_sound(&self) -> bool {
        !self.is_disordered && self.found.is_empty()
    }

    /// Adds the parts after the last chunk.
    fn end(&mut self) {
        while let Some(other) = self.others.pop() {
            self.put(other);
        }
    }

    /// Ends the pass: there are no more chunks.
    fn finish(mut self, report: &mut Report<'_>) {
        self.end();
        let (end, file_len) = (self.last.span.end(), self.head.file_len);
        let data_end = self.head.record.map_or(end, |record| record.data_end.max(end));
        self.gap(end, data_end.min(file_len));
        self.report_found(report);
        if let Some((offset, len, count)) = self.unused {
            report.add(FindingKind::Unused { offset, len, count });
        }
        if let Some(len) = file_len.checked_sub(data_end).filter(|&len| len > 0) {
            report.add(FindingKind::Trailing { offset: data_end, len });
        }
    }

    fn report_found(&mut self, report: &mut Report<'_>) {
        self.found.drain(..).for_each(|finding| report.add(finding));
    }
}

/// The place and the slot of a chunk.
type Spot = (Span, u64);

const fn key(spot: &Spot) -> (u64, u64) {
    (spot.0.offset(), spot.1)
}

/// Looks at chunks in the order of the index, as long as that is nearly the order of their places,
/// and none shares bytes. Chunks next to each other are taken as one.
pub(super) struct Near {
    sweep: Sweep,
    spots: Vec<Spot>,
}

impl Near {
    pub(super) fn new(head: &Head) -> Self {
        Self { sweep: Sweep::new(head), spots: Vec::new() }
    }

    /// The next chunk, and its slot.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, span: Span) {
        if let Some((last, _)) = self.spots.last_mut()
            && let Some(joined) = last.joined(span)
        {
            *last = joined;
            return;
        }
        self.begin(slot, span);
    }

    /// The next chunk, which is not next to the one before it.
    fn begin(&mut self, slot: u64, span: Span) {
        if span.is_empty() || !self.sweep.is_sound() {
            return;
        }
        self.spots.push((span, slot));
        if self.spots.len() >= NEAR.saturating_mul(2) {
            self.sweep(NEAR);
        }
    }

    /// Takes so many chunks in the order of their places.
    fn sweep(&mut self, count: usize) {
        self.spots.sort_unstable_by_key(key);
        for (span, slot) in self.spots.drain(..count) {
            if !self.sweep.is_sound() {
                break;
            }
            self.sweep.take(slot, span);
        }
    }

    /// There are no more chunks. If they were in disorder, or some share bytes, each is looked at
    /// again, in the `index`.
    pub(super) fn finish<S: Subject>(
        mut self,
        index: &Index<'_, S>,
        report: &mut Report<'_>,
    ) -> Result<(), Failed<S>> {
        self.sweep(self.spots.len());
        self.sweep.end();
        if self.sweep.is_sound() {
            self.sweep.finish(report);
            return Ok(());
        }
        drop(self);
        index.sweep_batches(report)
    }
}

/// The chunks of the index that take place.
pub(super) struct Index<'a, S> {
    pub(super) subject: &'a S,
    pub(super) head: &'a Head,
    pub(super) entries: u64,
    pub(super) limits: Limits,
}

impl<S: Subject> Index<'_, S> {
    /// Passes all chunks to `each`.
    fn each(&self, each: &mut dyn FnMut(Spot)) -> Result<(), Failed<S>> {
        let mut last = None;
        each_entry(self.subject, self.head.shown, 0..self.entries, |slot, entry| {
            let is_copy = last == Some(*entry);
            last = Some(*entry).filter(IndexEntry::is_used).or(last);
            let chunk = Chunk::parse(entry, self.head.shown, slot, self.limits);
            if let Some(chunk) = chunk.ok().flatten().filter(|it| !it.span.is_empty() && !is_copy) {
                each((chunk.span, slot));
            }
            Ok(true)
        })
    }

    /// Takes all chunks in the order of their places, however that differs from the index.
    fn sweep_batches(&self, report: &mut Report<'_>) -> Result<(), Failed<S>> {
        let mut sweep = Sweep::new(self.head);
        each_sorted(
            key,
            |each| self.each(each),
            |(span, slot)| {
                sweep.take(slot, span);
                sweep.report_found(report);
            },
        )?;
        sweep.finish(report);
        Ok(())
    }
}
