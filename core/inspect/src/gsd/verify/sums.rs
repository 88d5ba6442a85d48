//! Compares the bytes of all chunks with the checksums of their frames.

use super::{Depth, Report};
use crate::gsd::finding::FindingKind;
use crate::gsd::{Failed, together};
use crate::report::Cases;
use crate::subject::{Subject, Sum};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;
use embedded_io::Error as _;
use striae_core::gsd::raw::ChecksumRow;
use striae_core::gsd::{Checksums, Chunk, Error};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_hoomd::room::Room;
use zerocopy::FromBytes;

/// The most chunks of a frame: one for each name, and one of them has the checksums.
const MAX_CHUNKS: usize = 1 << 16;

/// Checks one frame after another, with its chunks in memory.
pub(super) struct Sums<'s, S> {
    subject: &'s S,
    /// Whether data is checked.
    depth: Depth,
    /// The id of the chunks that have checksums.
    id: Option<u16>,
    /// Whether the commit record states that frames have checksums.
    is_sealed: bool,
    frame: Vec<Chunk>,
    /// Frames without checksums.
    unsealed: Cases<u64>,
    sealed: u64,
    /// Bytes of frames that may still be read in one piece: in total at most twice the file's
    /// length.
    whole: u64,
    room: Room,
    is_full: bool,
    /// Chunks of a frame that are compared, and their bytes.
    compared: (Vec<Chunk>, Vec<Span>),
}

impl<'s, S: Subject> Sums<'s, S> {
    pub(super) fn new(
        subject: &'s S,
        (file_len, depth): (u64, Depth),
        id: Option<u16>,
        is_sealed: bool,
    ) -> Self {
        let (frame, room, whole) =
            (Vec::new(), Room::damaged(file_len), file_len.saturating_mul(2));
        let (unsealed, sealed, is_full, compared) = (Cases::NONE, 0, false, Default::default());
        Self {
            subject,
            depth,
            id,
            is_sealed,
            frame,
            unsealed,
            sealed,
            whole,
            room,
            is_full,
            compared,
        }
    }

    pub(super) fn take(&mut self, chunk: Chunk, report: &mut Report<'_>) -> Result<(), Failed<S>> {
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

    /// Ends the check: there are no more chunks.
    pub(super) fn finish(mut self, report: &mut Report<'_>) -> Result<(), Failed<S>> {
        if !self.frame.is_empty() {
            self.check_frame(report)?;
        }
        match self.unsealed.0 {
            Some((frame, count)) if self.is_sealed => {
                report.add(FindingKind::FramesLackChecksums { frame, count });
            }
            Some((frame, count)) if self.sealed > 0 => {
                report.add(FindingKind::FramesUnsealed { frame, count });
            }
            _ => {}
        }
        Ok(())
    }

    fn check_frame(&mut self, report: &mut Report<'_>) -> Result<(), Failed<S>> {
        let mut chunks = mem::take(&mut self.frame);
        let checked = self.check_chunks(&chunks, report);
        chunks.clear();
        self.frame = chunks;
        checked
    }

    fn check_chunks(&mut self, chunks: &[Chunk], report: &mut Report<'_>) -> Result<(), Failed<S>> {
        let own = chunks.iter().rfind(|chunk| Some(chunk.id) == self.id);
        let Some(own) = own else {
            self.unsealed.add(chunks.first().map_or(0, |chunk| chunk.frame));
            return Ok(());
        };
        self.sealed = self.sealed.saturating_add(1);
        self.bring(chunks);
        let Some(bytes) = self.read_rows(own, report)? else { return Ok(()) };
        let checksum = self.subject.checksum(Sum::Crc32c);
        let sums = match Checksums::parse(*own, &bytes, checksum) {
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
        self.check_data(chunks, own, others, &sums, report)?;
        let ids = chunks.iter().map(|chunk| u32::from(chunk.id));
        let data = ids.clone().filter(|&id| id != u32::from(own.id));
        if data.eq(others.iter().map(|row| row.id.get())) {
            return Ok(()); // as in most frames
        }
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        for (row, at) in others.iter().zip(0_u64..) {
            let id = row.id.get();
            if ids.binary_search(&id).is_err() {
                let offset = own.span.offset().saturating_add(at.saturating_mul(8));
                report.add(FindingKind::ChunkLost { offset, frame: own.frame, id });
            }
        }
        Ok(())
    }

    /// Compares the bytes of all chunks of a frame, except its `own` chunk of checksums, with their
    /// checksums.
    fn check_data(
        &mut self,
        chunks: &[Chunk],
        own: &Chunk,
        rows: &[ChecksumRow],
        sums: &Checksums<'_>,
        report: &mut Report<'_>,
    ) -> Result<(), Failed<S>> {
        let (mut checked, mut spans) = mem::take(&mut self.compared);
        checked.clear();
        spans.clear();
        for chunk in chunks.iter().filter(|chunk| chunk.id != own.id) {
            if rows.binary_search_by_key(&u32::from(chunk.id), |row| row.id.get()).is_err() {
                let Chunk { frame, id, span, .. } = *chunk;
                report.add(FindingKind::ChunkUnsealed { frame, id, span });
            } else if self.has_room(chunk, report) {
                checked.push(*chunk);
                spans.push(chunk.span);
            }
        }
        let (mut chunks, mut failed) = (checked.iter(), Ok(()));
        let checksum = self.subject.checksum(Sum::Crc32c);
        self.subject.sums(Sum::Crc32c, &spans, &mut |crc| {
            let Some(chunk) = chunks.next() else { return };
            let Chunk { frame, id, span, .. } = *chunk;
            let crc = match crc {
                Ok(crc) => crc,
                Err(DriveError::Store(error)) => return unreadable::<S>(chunk, &error, report),
                Err(error) => {
                    failed = Err(error.infallible());
                    return;
                }
            };
            report.summary.checked = report.summary.checked.saturating_add(1);
            report.summary.data.add_checked(span.len());
            match sums.check(chunk, crc, checksum) {
                Ok(()) => {}
                Err(Error::Checksum { stored, computed, .. }) => {
                    report.add(FindingKind::Chunk { frame, id, span, stored, computed });
                }
                Err(error) => report.wrong(error),
            }
        });
        self.compared = (checked, spans);
        failed
    }

    /// Announces the read of a frame in one piece, if its span has at most twice the bytes of its
    /// chunks: its checksums are read first but follow the data.
    fn bring(&mut self, chunks: &[Chunk]) {
        let whole = together(chunks);
        let left = whole.and_then(|whole| self.whole.checked_sub(whole.len()));
        if let (Depth::Data, Some(whole), Some(left)) = (self.depth, whole, left) {
            self.whole = left;
            self.subject.bring(whole);
        }
    }

    /// The bytes of the chunk of checksums, unless it is too long for one, or cannot be read.
    fn read_rows(
        &mut self,
        own: &Chunk,
        report: &mut Report<'_>,
    ) -> Result<Option<Vec<u8>>, Failed<S>> {
        let len = usize::try_from(own.span.len()).unwrap_or(usize::MAX);
        if len > MAX_CHUNKS.saturating_mul(8) {
            report.wrong(Error::NoChecksums { frame: own.frame, id: own.id });
            return Ok(None);
        }
        if self.depth == Depth::Structure || !self.has_room(own, report) {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(len);
        match self.subject.data(own.span, &mut |piece| bytes.extend_from_slice(piece)) {
            Ok(()) => Ok(Some(bytes)),
            Err(DriveError::Store(error)) => {
                unreadable::<S>(own, &error, report);
                Ok(None)
            }
            Err(error) => Err(error.infallible()),
        }
    }

    /// Whether the chunk may be read: not if chunks that share bytes would make the work unlimited.
    /// This is reported once; `overlap` reports the chunks.
    fn has_room(&mut self, chunk: &Chunk, report: &mut Report<'_>) -> bool {
        let Err(error) = self.room.take(chunk) else { return true };
        if !mem::replace(&mut self.is_full, true) {
            report.wrong(error);
        }
        false
    }
}

fn unreadable<S: Subject>(chunk: &Chunk, error: &S::Error, report: &mut Report<'_>) {
    let Chunk { frame, id, span, .. } = *chunk;
    let (kind, message) = (error.kind(), error.to_string());
    report.add(FindingKind::UnreadableChunk { frame, id, span, kind, message });
}
