//! The canonical file of a set in pieces that fit into memory.

use crate::blob::read::MOST_TASKS;
use crate::blob::runs;
use crate::blob::set::Set;
use crate::blob::tasks::{Scratch, Task};
use crate::error::Error;
use striae_core::cdf::{Layout, Region};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Some values of a record of a variable, or of a variable without records.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    kind: Kind,
    record: u64,
    /// The first value in the record, and the number of values.
    first: u64,
    count: u64,
    /// Their place in the canonical file.
    span: Span,
}

/// A part of the canonical file that is made in memory.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) span: Span,
    chunks: Vec<Chunk>,
}

impl Image {
    /// Makes the bytes, in memory that is used again and again.
    pub(super) fn read<'m>(
        &self,
        set: &Set,
        memory: &'m mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<&'m [u8], Error> {
        let len = usize::try_from(self.span.len()).unwrap_or(usize::MAX);
        if memory.len() < len {
            runs::resize(memory, self.span.len()).map_err(|error| set.error(error))?;
        }
        let bytes = memory.get_mut(..len).unwrap_or_default();
        let (mut plans, mut end) = (Vec::new(), 0_usize);
        for chunk in &self.chunks {
            let at = self.place(chunk);
            bytes.get_mut(end..at).unwrap_or_default().fill(0); // padding
            let len = usize::try_from(chunk.span.len()).unwrap_or(usize::MAX);
            end = at.saturating_add(len);
            let Kind { index, total, decomposition, fill, .. } = chunk.kind;
            let Some(decomposition) = decomposition else {
                let spans = |layout: Layout| {
                    let values = match layout.recsize {
                        Some(_) => layout.record(chunk.record),
                        None => Some(layout.first),
                    };
                    let part = chunk.first.checked_mul(layout.value_len);
                    let span = values.and_then(|values| values.part(part?, chunk.span.len()));
                    let size = striae_core::cdf::Error::Size { begin: layout.first.offset() };
                    Ok(vec![span.ok_or(size)?])
                };
                let room = bytes.get_mut(at..end).unwrap_or_default();
                set.read_whole(index, &spans, (ByteOrder::Big, fill), room)?;
                continue;
            };
            let (start, count) = ([chunk.first], [chunk.count]);
            let region = Region { start: &start, count: &count, stride: None };
            plans.push((*chunk, set.plan(decomposition, &[total], region)?));
        }
        let tasks = plans.iter().map(|(chunk, plan)| Task {
            plan,
            variable: chunk.kind.index,
            record: chunk.record,
            at: self.place(chunk),
            fill: chunk.kind.fill,
        });
        let tasks: Vec<_> = tasks.collect();
        set.read_tasks(&tasks, ByteOrder::Big, bytes, scratch)?;
        Ok(bytes)
    }

    fn place(&self, chunk: &Chunk) -> usize {
        let skip = chunk.span.offset().saturating_sub(self.span.offset());
        usize::try_from(skip).unwrap_or(usize::MAX)
    }
}

/// A variable of the canonical file.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Index of the variable.
    index: usize,
    layout: Layout,
    /// The values in a record.
    total: u64,
    /// Index of its decomposition.
    decomposition: Option<usize>,
    /// What elements get that no subfile has, in big-endian order.
    fill: [u8; 8],
}

impl Kind {
    /// The variables without records, and those with them.
    fn all(set: &Set, fills: &[[u8; 8]]) -> [Vec<Self>; 2] {
        let mut lists = [Vec::new(), Vec::new()];
        for ((index, variable), fill) in set.header().variables().enumerate().zip(fills) {
            let layout = variable.layout();
            let total = layout.first.len().checked_div(layout.value_len).unwrap_or(0);
            let decomposition = set.decomposition(variable).and_then(|id| id.checked_sub(1));
            let [fixed, records] = &mut lists;
            let list = if variable.is_record() { records } else { fixed };
            list.push(Self { index, layout, total, decomposition, fill: *fill });
        }
        lists
    }
}

/// The parts of a canonical file, from the first value to the last one.
#[derive(Debug)]
pub(super) struct Images {
    /// The bytes of a part: it has more only if a variable is longer.
    room: u64,
    /// The most bytes of a part. Longer variables are cut.
    most: u64,
    fixed: Vec<Kind>,
    records: Vec<Kind>,
    numrecs: u64,
    /// The chunk that comes next: its variable's place in the list, its record or `None` for fixed
    /// variables, and its first value.
    place: usize,
    record: Option<u64>,
    first: u64,
}

impl Images {
    pub(super) fn new(set: &Set, fills: &[[u8; 8]], room: usize, most: usize) -> Self {
        let [fixed, records] = Kind::all(set, fills);
        let numrecs = if records.is_empty() { 0 } else { set.header().numrecs() };
        let (room, most) = (usize_to_u64(room), usize_to_u64(most));
        Self { room, most, fixed, records, numrecs, place: 0, record: None, first: 0 }
    }

    /// The next chunk.
    fn chunk(&self) -> Option<Chunk> {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        let kind = *list.get(self.place)?;
        let (layout, left) = (kind.layout, kind.total.saturating_sub(self.first));
        // All variables of a decomposition are cut at the same elements, so that they need the same
        // plans.
        let most = self.most.checked_div(8).unwrap_or(1).max(1);
        let is_long = layout.first.len() > self.most;
        let count = if is_long { left.min(most) } else { left };
        let (first, record) = (self.first, self.record.unwrap_or(0));
        let values = self.record.map_or(Some(layout.first), |record| layout.record(record))?;
        let skip = first.checked_mul(layout.value_len)?;
        let span = values.part(skip, count.checked_mul(layout.value_len)?)?;
        Some(Chunk { kind, record, first, count, span })
    }

    /// Goes to the next list if the current one has ended; `false` after the last one.
    fn settle(&mut self) -> bool {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        if self.place >= list.len() {
            let next = self.record.map_or(0, |record| record.saturating_add(1));
            (self.place, self.first, self.record) = (0, 0, Some(next));
        }
        self.record.is_none_or(|record| record < self.numrecs)
    }

    fn advance(&mut self, chunk: &Chunk) {
        self.first = self.first.saturating_add(chunk.count);
        if self.first >= chunk.kind.total {
            (self.place, self.first) = (self.place.saturating_add(1), 0);
        }
    }
}

impl Iterator for Images {
    type Item = Image;

    fn next(&mut self) -> Option<Image> {
        let mut image: Option<Image> = None;
        while self.settle() {
            let used = image.as_ref().map_or(0, |image| image.span.len());
            let chunk = self.chunk()?;
            let span = match &image {
                None => chunk.span,
                Some(image) => Span::between(image.span.offset(), chunk.span.end())?,
            };
            let is_full = image.as_ref().is_some_and(|image| image.chunks.len() >= MOST_TASKS);
            if is_full || used > 0 && span.len() > self.room {
                break;
            }
            self.advance(&chunk);
            let image = image.get_or_insert_with(|| Image { span, chunks: Vec::new() });
            image.span = span;
            image.chunks.push(chunk);
        }
        image
    }
}
