//! The state of a log: its last commit, and the chunks of the current frame.

use super::fault::Fault;
use super::form::Form;
use crate::gsd::disk::record::Record;
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::{IndexBlock, Room, SECTOR, free, grown};
use crate::gsd::raw::{Header, Image, IndexEntry};
use crate::integrity::crc32c;
use crate::span::Span;
use crate::store::{Proof, usize_to_u64};
use core::num::NonZeroU64;
use heapless::Vec;
use zerocopy::IntoBytes;

/// The state of a log.
#[derive(Debug)]
pub(super) struct Log<F, const N: usize> {
    pub(super) form: F,
    /// The record in the header.
    pub(super) record: Record,
    /// Whether the header may be half written: it must be written again before anything else.
    pub(super) is_torn: bool,
    /// Whether the name list of the next commit may have a part of a name that was not added.
    pub(super) has_torn_name: bool,
    pub(super) frames: u64,
    /// The end of the chunks of the current frame.
    pub(super) data_end: u64,
    /// The entries of the current frame, in the order of their ids.
    pub(super) entries: Vec<IndexEntry, N>,
}

/// A chunk without its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) id: u16,
    pub(super) kind: ChunkType,
    pub(super) n: u64,
    pub(super) m: u32,
}

impl Place {
    pub(super) fn of<T: Element, const M: usize>(id: u16, rows: &[[T; M]]) -> Result<Self, Fault> {
        let m = u32::try_from(M).ok().filter(|&m| m > 0).ok_or(Fault::Rows)?;
        Ok(Self { id, kind: T::KIND, n: usize_to_u64(rows.len()), m })
    }
}

impl<F: Form, const N: usize> Log<F, N> {
    /// The state of no file yet.
    pub(super) fn new(form: F) -> Self {
        let record = form.base().record(form.first_names());
        let data_end = record.data_end;
        let (is_torn, has_torn_name, entries) = (false, false, Vec::new());
        Self { form, record, is_torn, has_torn_name, frames: 0, data_end, entries }
    }

    /// The alignment of chunks.
    pub(super) fn align(&self) -> NonZeroU64 {
        crate::gsd::write::create::align_of(self.record.align)
    }

    /// What commits change of the header, after the last commit.
    pub(super) fn image(&self) -> Image {
        self.form.base().image(&self.record, &self.form.shown())
    }

    /// What commits change of the header, after the next commit, that of `record`.
    pub(super) fn next_image(&self, record: &Record) -> Image {
        self.form.base().image(record, &self.form.next())
    }

    /// Makes `header` the one after the last commit, and `image` what commits change of it.
    pub(super) fn fill(&self, header: &mut Header, image: &mut Image) {
        *image = self.image();
        self.form.base().fill_header(image, header);
    }

    /// Goes on after the commit of `record`.
    pub(super) fn set(&mut self, record: &Record, is_torn: bool) {
        (self.record, self.is_torn, self.data_end) = (*record, is_torn, record.data_end);
    }

    pub(super) fn discard(&mut self) {
        self.entries.clear();
        self.data_end = self.record.data_end.max(self.form.end());
    }

    /// The start and the end of a chunk of `len` bytes.
    pub(super) fn place(&self, place: &Place, len: usize) -> Result<(u64, u64), Fault> {
        if usize::from(place.id) >= self.form.names() {
            return Err(Fault::NoName);
        }
        if self.entries.iter().any(|entry| entry.id.get() == place.id) {
            return Err(Fault::Duplicate);
        }
        if self.entries.is_full() {
            return Err(Fault::FrameFull); // never with a chunk of each of N names
        }
        let span = free(self.data_end, self.align(), usize_to_u64(len)).ok_or(Fault::Full)?;
        Ok((span.offset(), span.end()))
    }

    /// A block of `len` bytes at the end of the file.
    pub(super) fn at_end(&self, len: u64) -> Result<Span, Fault> {
        free(self.data_end, self.align().max(SECTOR), len).ok_or(Fault::Full)
    }

    /// Adds a chunk, which is in the store, to the current frame.
    pub(super) fn add(&mut self, place: &Place, start: u64, end: u64) {
        let mut moved = IndexEntry {
            frame: self.frames.into(),
            n: place.n.into(),
            location: i64::try_from(start).unwrap_or(0).into(),
            m: place.m.into(),
            id: place.id.into(),
            kind: place.kind.number(),
            flags: 0,
        };
        for entry in &mut self.entries {
            if entry.id.get() > moved.id.get() {
                core::mem::swap(entry, &mut moved);
            }
        }
        if self.entries.push(moved).is_ok() {
            self.data_end = end;
        }
    }

    /// The entries of the current frame as in the file, and the last of them.
    pub(super) fn open(&self) -> (&[u8], &[u8]) {
        let last = self.entries.last().map_or(&[][..], IntoBytes::as_bytes);
        (self.entries.as_bytes(), last)
    }

    pub(super) fn room(&self) -> Room {
        let (index, base) = (self.form.index(), self.form.base());
        let (slots, shown) = (index.slots, base.shown_slots());
        // without entries, the header shows the last slots of the first index
        let is_shown = self.record.entries == 0 && !self.form.has_moved();
        Room {
            slots,
            usable: if is_shown { slots.saturating_sub(shown) } else { slots },
            entries: self.record.entries,
            frames: self.frames,
            shown,
            align: self.align(),
        }
    }

    pub(super) fn frames_left(&self, chunks: u64) -> u64 {
        self.room().frames_left(chunks)
    }

    /// A larger index at the end of the file, if the current frame needs one.
    pub(super) fn larger_index(&self) -> Result<Option<IndexBlock>, Fault> {
        let room = self.room();
        let entries = room.with(usize_to_u64(self.entries.len()));
        if self.entries.is_empty() || entries <= room.usable {
            return Ok(None);
        }
        let slots = grown(room.slots, entries).ok_or(Fault::Full)?;
        let block = IndexBlock { location: 0, slots };
        let len = block.span().ok_or(Fault::Full)?.len();
        Ok(Some(IndexBlock { location: self.at_end(len)?.offset(), slots }))
    }

    /// Notes that the index is in `block`.
    pub(super) fn move_index(&mut self, block: IndexBlock) {
        self.form.move_index(block);
        self.data_end = self.data_end.max(self.form.end());
    }

    /// The record of a commit of the current frame.
    pub(super) fn next(&self) -> Result<Record, Fault> {
        let room = self.room();
        let entries = room.with(usize_to_u64(self.entries.len()));
        if self.entries.is_empty() {
            return Err(Fault::NoChunks);
        }
        if entries > room.usable {
            return Err(Fault::Full);
        }
        let (open, last) = self.open();
        let mut index_crc = crc32c(self.record.index_crc, open);
        let written = self.record.entries.saturating_add(usize_to_u64(self.entries.len()));
        for _ in written..entries {
            index_crc = crc32c(index_crc, last);
        }
        let sequence = self.record.sequence.wrapping_add(1);
        let data_end = self.data_end;
        let mut next = Record { entries, index_crc, sequence, data_end, ..self.record };
        self.form.complete(&mut next);
        Ok(next)
    }

    /// Notes that the frame has ended: readers may see the commit of `record` from now on.
    pub(super) fn end_frame(&mut self, record: &Record) {
        self.set(record, true);
        self.has_torn_name = false;
        self.form.commit();
        self.frames = self.frames.saturating_add(1);
        self.entries.clear();
    }
}

impl<F: Form, const N: usize> Proof for Log<F, N> {
    fn place(&self, number: u32, known: &mut [u8; 80]) -> Option<(u64, usize)> {
        (number == 0).then(|| self.image().proof(true, self.is_torn, known))
    }
}
