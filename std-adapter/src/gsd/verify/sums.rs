//! The checksums of frames, against the bytes of all their chunks.

use super::finding::FindingKind;
use super::{Failed, Report};
use crate::gsd::room::Room;
use crate::store::bulk::{Ahead, Bulk};
use std::io;
use striae_core::gsd::raw::ChecksumRow;
use striae_core::gsd::{Checksums, Chunk, Error};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use zerocopy::FromBytes;

/// Most chunks of a frame: one a name, and that of the checksums is one of them.
const MAX_CHUNKS: usize = 1 << 16;

/// Checks one frame after another, with its chunks in memory.
pub(super) struct Sums<'s> {
    /// The file; `None` if data are not to be checked.
    bulk: Option<&'s Bulk>,
    /// The id of the chunks that hold checksums.
    id: Option<u16>,
    /// Whether the commit record says that frames have such.
    is_sealed: bool,
    frame: Vec<Chunk>,
    /// Frames without checksums: the first, and how many.
    unsealed: Option<(u64, u64)>,
    sealed: u64,
    ahead: Ahead,
    /// Bytes of frames that may still be read in one piece: of all, no more than twice the file has.
    whole: u64,
    room: Room,
    is_full: bool,
}

impl<'s> Sums<'s> {
    pub(super) fn new(
        bulk: Option<&'s Bulk>,
        file_len: u64,
        id: Option<u16>,
        is_sealed: bool,
    ) -> Self {
        let (frame, ahead, room) = (Vec::new(), Ahead::default(), Room::damaged(file_len));
        let (unsealed, sealed, is_full) = (None, 0, false);
        let whole = file_len.saturating_mul(2);
        Self { bulk, id, is_sealed, frame, unsealed, sealed, ahead, whole, room, is_full }
    }

    pub(super) fn take(&mut self, chunk: Chunk, report: &mut Report<'_>) -> Result<(), Failed> {
        if self.id != Some(chunk.id) {
            report.summary.data.add(chunk.span.len());
        }
        if self.id.is_none() && !self.is_sealed {
            return Ok(());
        }
        let present = self.frame.last().map(|last| last.frame);
        if present.is_some_and(|frame| frame != chunk.frame) {
            self.check_frame(report)?;
        }
        if self.frame.len() < MAX_CHUNKS {
            self.frame.push(chunk); // more than that are several of a name, which is told already
        }
        Ok(())
    }

    /// There are no more chunks.
    pub(super) fn finish(mut self, report: &mut Report<'_>) -> Result<(), Failed> {
        if !self.frame.is_empty() {
            self.check_frame(report)?;
        }
        if let Some((frame, count)) = self.unsealed.filter(|_| self.sealed > 0 || self.is_sealed) {
            report.note(FindingKind::FramesUnsealed { frame, count });
        }
        Ok(())
    }

    fn check_frame(&mut self, report: &mut Report<'_>) -> Result<(), Failed> {
        let mut chunks = std::mem::take(&mut self.frame);
        let checked = self.check_chunks(&chunks, report);
        chunks.clear();
        self.frame = chunks;
        checked
    }

    fn check_chunks(&mut self, chunks: &[Chunk], report: &mut Report<'_>) -> Result<(), Failed> {
        let own = chunks.iter().rfind(|chunk| Some(chunk.id) == self.id);
        let Some(own) = own else {
            let frame = chunks.first().map_or(0, |chunk| chunk.frame);
            let (first, count) = self.unsealed.unwrap_or((frame, 0));
            self.unsealed = Some((first, count.saturating_add(1)));
            return Ok(());
        };
        self.sealed = self.sealed.saturating_add(1);
        self.bring(chunks);
        let Some(bytes) = self.read_rows(own, report)? else { return Ok(()) };
        let sums = match Checksums::parse(*own, &bytes, crc32c::crc32c_append) {
            Ok(sums) => sums,
            Err(error) => {
                report.wrong(error);
                return Ok(());
            }
        };
        let rows = <[ChecksumRow]>::ref_from_bytes(&bytes).unwrap_or_default();
        let others = rows.split_last().map_or(rows, |(_, others)| others);
        if !others.is_sorted_by(|a, b| a.id.get() < b.id.get()) {
            report.wrong(Error::NoChecksums { frame: own.frame, id: own.id });
            return Ok(());
        }
        for chunk in chunks.iter().filter(|chunk| chunk.id != own.id) {
            let row = others.binary_search_by_key(&u32::from(chunk.id), |row| row.id.get());
            let Chunk { frame, id, span, .. } = *chunk;
            if row.is_err() {
                report.damage(FindingKind::ChunkUnsealed { frame, id, span });
                continue;
            }
            let Some(crc) = self.crc_of(chunk, report)? else { continue };
            report.summary.checked = report.summary.checked.saturating_add(1);
            report.summary.data.add_checked(span.len());
            match sums.check(chunk, crc, crc32c::crc32c_append) {
                Ok(()) => {}
                Err(Error::Checksum { stored, computed, .. }) => {
                    report.damage(FindingKind::Chunk { frame, id, span, stored, computed });
                }
                Err(error) => report.wrong(error),
            }
        }
        let mut ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id.into()).collect();
        ids.sort_unstable();
        for (row, at) in others.iter().zip(0_u64..) {
            let id = row.id.get();
            if ids.binary_search(&id).is_err() {
                let offset = own.span.offset().saturating_add(at.saturating_mul(8));
                report.damage(FindingKind::ChunkLost { offset, frame: own.frame, id });
            }
        }
        Ok(())
    }

    /// Reads a frame in one piece, if it is in one: its checksums, which are asked for first, stand behind
    /// what they seal.
    fn bring(&mut self, chunks: &[Chunk]) {
        let start = chunks.iter().map(|chunk| chunk.span.offset()).min().unwrap_or(0);
        let end = chunks.iter().map(|chunk| chunk.span.end()).max().unwrap_or(0);
        let len = chunks.iter().map(|chunk| chunk.span.len()).fold(0, u64::saturating_add);
        let whole = Span::between(start, end);
        let whole = whole.filter(|whole| whole.len() <= len.saturating_mul(2));
        let left = whole.and_then(|whole| self.whole.checked_sub(whole.len()));
        if let (Some(bulk), Some(whole), Some(left)) = (self.bulk, whole, left) {
            self.whole = left;
            // Whoever reads a chunk is told what is wrong.
            let _: Result<(), Failed> = self.ahead.bring(bulk, whole);
        }
    }

    /// The bytes of the chunk that holds checksums, unless it is too long to be one.
    fn read_rows(
        &mut self,
        own: &Chunk,
        report: &mut Report<'_>,
    ) -> Result<Option<Vec<u8>>, Failed> {
        let len = usize::try_from(own.span.len()).unwrap_or(usize::MAX);
        if len > MAX_CHUNKS.saturating_mul(8) {
            report.wrong(Error::NoChecksums { frame: own.frame, id: own.id });
            return Ok(None);
        }
        if !self.has_room(own, report) {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(len);
        let read = self.read_pieces(own, report, &mut |piece| bytes.extend_from_slice(piece))?;
        Ok(read.then_some(bytes))
    }

    /// Hands over the bytes of a chunk; `false` if they cannot be read, which is told.
    fn read_pieces(
        &mut self,
        chunk: &Chunk,
        report: &mut Report<'_>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, Failed> {
        let Some(bulk) = self.bulk else { return Ok(false) };
        let read = self.ahead.read_pieces(bulk, chunk.span, &mut |piece| {
            each(piece);
            true
        });
        match read {
            Ok(()) => Ok(true),
            Err(DriveError::Store(error)) => {
                unreadable(chunk, &error, report);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the chunk can be read: not when chunks that share bytes make that endless. This is told
    /// once, and which chunks they are is told by `overlap`.
    fn has_room(&mut self, chunk: &Chunk, report: &mut Report<'_>) -> bool {
        let Err(error) = self.room.take(chunk) else { return true };
        if !std::mem::replace(&mut self.is_full, true) {
            report.wrong(error);
        }
        false
    }

    /// The checksum of a chunk's bytes, unless they cannot be read.
    fn crc_of(&mut self, chunk: &Chunk, report: &mut Report<'_>) -> Result<Option<u32>, Failed> {
        if !self.has_room(chunk, report) {
            return Ok(None);
        }
        let (mut crc, progress) = (0, report.progress);
        let read = self.read_pieces(chunk, report, &mut |bytes| {
            crc = crc32c::crc32c_append(crc, bytes);
            progress(usize_to_u64(bytes.len()));
        })?;
        Ok(read.then_some(crc))
    }
}

fn unreadable(chunk: &Chunk, error: &io::Error, report: &mut Report<'_>) {
    let Chunk { frame, id, span, .. } = *chunk;
    let (kind, message) = (error.kind(), error.to_string());
    report.damage(FindingKind::UnreadableChunk { frame, id, span, kind, message });
}
