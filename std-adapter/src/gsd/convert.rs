//! Writing files anew: packed, upgraded, aligned, with checksums or without, or fewer frames.

mod judge;
pub(super) mod part;

use super::checked::Sums;
use super::file::File;
use super::write::{Builder, FileWriter, Source, make};
use crate::error::Error;
use crate::output::Output;
use part::{Part, write_default};
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Version, checksums};
use striae_hoomd::fallback::Need;
use striae_hoomd::names::last_of_each;
use striae_hoomd::room::Room;
use striae_inspect::gsd::Stale;

/// How a file is written anew.
///
/// Without options it keeps all that a reader of it sees, its layer, alignment and checksums, for
/// all frames those that the ones from before an append by gsd had ([`Stale`]); what is left out
/// are index blocks and name lists of before, and other bytes that nothing uses. Data with
/// checksums are checked.
#[derive(Debug, Clone)]
pub struct Convert {
    align: Option<u64>,
    checksums: Option<bool>,
    upgrade: bool,
    frames: Option<Range<u64>>,
    step: NonZeroU64,
    output: Output,
}

impl Default for Convert {
    fn default() -> Self {
        let (align, checksums, frames, step) = (None, None, None, NonZeroU64::MIN);
        Self { align, checksums, upgrade: false, frames, step, output: Output::new() }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Frames of the new file, also such that have no chunks.
    pub frames: u64,
    /// Bytes of its chunks, without checksums.
    pub bytes: u64,
}

impl Convert {
    /// All frames, as they are; overwrites nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Chunks start at multiples of so many bytes: a power of two.
    #[must_use]
    pub const fn align(mut self, bytes: u64) -> Self {
        self.align = Some(bytes);
        self
    }

    /// Whether frames have checksums. Without them, those that the old file has are not checked.
    #[must_use]
    pub const fn checksums(mut self, checksums: bool) -> Self {
        self.checksums = Some(checksums);
        self
    }

    /// Makes a file of layer 2.1 of one of layer 1.
    #[must_use]
    pub const fn upgrade(mut self, upgrade: bool) -> Self {
        self.upgrade = upgrade;
        self
    }

    /// Only these frames, and of them the first and every `step`th after it. They are numbered
    /// anew.
    ///
    /// Frames of a trajectory ([`hoomd`](super::hoomd)) get what they took from frame 0, so that
    /// they are read as they were (`spec/gsd-hoomd.md#parts`).
    #[must_use]
    pub const fn frames(mut self, frames: Range<u64>, step: NonZeroU64) -> Self {
        self.frames = Some(frames);
        self.step = step;
        self
    }

    /// How the new files are made; unless told, nothing is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Writes `file` anew as `out`, which appears when it is whole: see
    /// [`Publish`](crate::publish::Publish). `progress` is told the length of each piece of a chunk
    /// that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists); [`Locked`](crate::error::ErrorKind::Locked) if
    /// the file that is to be replaced is being written;
    /// [`NoFrame`](striae_core::gsd::Error::NoFrame); [`Damaged`](super::ErrorKind::Damaged) if
    /// verifying would find damage in header, names or index, unless it is in frames that are not
    /// copied; [`Chunk`](super::ErrorKind::Chunk) for a chunk that is not as its checksum says;
    /// [`Shared`](striae_core::gsd::Error::Shared); for [some frames](Self::frames) of a trajectory
    /// [`Gap`](super::hoomd::Error::Gap), [`Late`](super::hoomd::Error::Late),
    /// [`Part`](super::hoomd::Error::Part), and those of a
    /// [`Trajectory`](super::hoomd::Trajectory); the operating system's. Nothing has changed then.
    pub fn run(&self, file: &File, out: &Path, progress: &dyn Fn(u64)) -> Result<Written, Error> {
        let frames = self.frames.clone().unwrap_or(0..file.frames());
        file.check_frames(&frames)?;
        check_count(file, &frames)?;
        file.check_names()?;
        // Frames of a trajectory take values from frame 0.
        let is_taken = |frame: u64| frame == 0 && frames.start > 0 && part::is_trajectory(file);
        let is_wanted = |frame: u64| frames.contains(&frame) && self.is_wanted(&frames, frame);
        judge::check(file, self.frames.is_some(), &|frame| is_wanted(frame) || is_taken(frame))?;
        make(&self.output, out, file.path(), |hidden| {
            let mut writer = self.builder(file, &frames)?.create(hidden)?;
            let written = self.copy_to(&mut writer, file, &frames, progress)?;
            writer.close()?;
            Ok(written)
        })
    }

    /// Copies the frames.
    fn copy_to(
        &self,
        writer: &mut FileWriter,
        file: &File,
        frames: &Range<u64>,
        progress: &dyn Fn(u64),
    ) -> Result<Written, Error> {
        let from = |room| {
            let source = Source::new(file.path(), file.store(), progress, room);
            source.direct(self.output.direct)
        };
        let part = match self.frames.is_some() {
            true => Part::of(file, frames.start)?,
            false => None,
        };
        let sums = file.names()?.id(checksums::NAME);
        let mut copy = Copy {
            file,
            source: from(Room::new(file.head().file_len)),
            taken: part.as_ref().map(|part| from(part.room())),
            part,
            sums,
            is_checked: self.checksums != Some(false),
            start: frames.start,
            step: self.step,
            frames: 0,
            bytes: 0,
        };
        self.copy(&mut copy, frames, writer)?;
        Ok(Written { frames: copy.frames, bytes: copy.bytes })
    }

    fn builder(&self, file: &File, frames: &Range<u64>) -> Result<Builder, Error> {
        let (header, record) = (file.header(), file.state().record());
        let text = |label: &[u8]| {
            let mut text = String::from_utf8_lossy(label).into_owned();
            while text.len() > 63 {
                text.pop(); // such a label had no NUL
            }
            text
        };
        let is_old = !header.version.is_sorted() && !self.upgrade;
        let layer = if is_old { Version { major: 1, minor: 0 } } else { Version::LAYER };
        let stale = Stale::of(file.head());
        let align = record.and_then(|record| 1_u64.checked_shl(record.align.into()));
        let align = align.or(stale.map(|stale| stale.align));
        let checksums = record.is_some_and(|record| record.checksums)
            || stale.is_some_and(|stale| stale.checksums);
        let checksums = self.checksums.unwrap_or(checksums);
        // As much room as is needed: what is moved leaves a hole. More than a file can have is
        // refused.
        let count = frames.end.saturating_sub(frames.start);
        let most = file.head().entries.min(count.saturating_mul(1 << 16));
        let slots = most.saturating_add(if checksums { count } else { 0 }).max(count);
        let names_len = file.head().names_len.max(64);
        Ok(Builder::new()
            .application(text(header.application.as_bytes()))
            .schema(text(header.schema.as_bytes()), header.schema_version)
            .layer(layer)
            .align(self.align.or(align).unwrap_or(1))
            .checksums(checksums)
            .index_slots(slots.max(128))
            .names_len(names_len.saturating_add(64))
            .hidden())
    }

    /// Whether a frame is a step away from the first one, or several.
    fn is_wanted(&self, frames: &Range<u64>, frame: u64) -> bool {
        frame.saturating_sub(frames.start) % self.step == 0
    }

    fn copy(
        &self,
        copy: &mut Copy<'_>,
        frames: &Range<u64>,
        writer: &mut FileWriter,
    ) -> Result<(), Error> {
        let mut present: Vec<Chunk> = Vec::new();
        for chunk in copy.file.chunks_of_frames(frames.clone())? {
            let chunk = chunk?;
            if !self.is_wanted(frames, chunk.frame) {
                continue;
            }
            if present.first().is_some_and(|first| first.frame != chunk.frame) {
                copy.frame(&mut present, writer)?;
            }
            // A copy of the last entry fills the index.
            if present.last() != Some(&chunk) {
                present.push(chunk);
            }
        }
        if !present.is_empty() {
            copy.frame(&mut present, writer)?;
        }
        copy.finish(frames.end, writer)
    }
}

/// Frames without chunks cost nothing in a file, but time and slots in a new one. Of more of them
/// than the file has bytes an entry that is damaged is the reason.
fn check_count(file: &File, frames: &Range<u64>) -> Result<(), Error> {
    let head = file.head();
    if frames.end.saturating_sub(frames.start) <= head.file_len.max(head.header.index.slots) {
        return Ok(());
    }
    let last = head.index().offset_of(head.entries.saturating_sub(1));
    let error = striae_core::gsd::Error::TooLarge {
        field: IndexEntry::frame,
        offset: last.saturating_add(IndexEntry::frame.offset().into()),
        value: head.frames.saturating_sub(1),
        max: head.file_len.saturating_sub(1),
    };
    Err(Error::new(file.path(), error))
}

/// Frames on their way.
struct Copy<'a> {
    file: &'a File,
    source: Source<'a>,
    /// What frames need of others, if they are some of a trajectory; and the file to take it from.
    part: Option<Part>,
    taken: Option<Source<'a>>,
    /// The id of the chunks that hold checksums.
    sums: Option<u16>,
    is_checked: bool,
    /// The frame that becomes the first, and how many are from one to the next.
    start: u64,
    step: NonZeroU64,
    /// Frames and bytes that were written.
    frames: u64,
    bytes: u64,
}

impl Copy<'_> {
    /// Writes the frame of these chunks.
    fn frame(&mut self, chunks: &mut Vec<Chunk>, writer: &mut FileWriter) -> Result<(), Error> {
        let frame = chunks.first().map_or(0, |first| first.frame);
        while self.next() < frame {
            self.end(&[], false, writer)?; // a frame without chunks
        }
        if !self.file.header().version.is_sorted() {
            last_of_each(chunks, |chunk| chunk.id);
        }
        let sums = self.sums_of(frame, chunks)?;
        chunks.retain(|chunk| Some(chunk.id) != self.sums);
        for chunk in &*chunks {
            if let Some(sums) = &sums {
                self.file.check_crc_by(sums, chunk, self.source.crc(chunk.span)?)?;
            }
            let name = self.file.name(chunk)?;
            writer.copy_chunk(name.as_bytes(), chunk, &mut self.source)?;
            self.bytes = self.bytes.saturating_add(chunk.span.len());
        }
        self.end(chunks, false, writer)?;
        chunks.clear();
        Ok(())
    }

    /// The checksums of the frame of these chunks, if there are such that count.
    fn sums_of(&mut self, frame: u64, chunks: &[Chunk]) -> Result<Option<Sums>, Error> {
        let has_data = chunks.iter().any(|chunk| Some(chunk.id) != self.sums);
        if !self.is_checked || self.sums.is_none() || !has_data {
            return Ok(None);
        }
        self.source.bring(chunks); // they are behind what they are of
        let own = chunks.iter().rfind(|chunk| Some(chunk.id) == self.sums).copied();
        let sums = self.file.read_sums(frame, own, |span, bytes| {
            self.source.bytes(span).map(|own| bytes.copy_from_slice(own))
        });
        sums.map(Some)
    }

    /// The number that the frame to be written had.
    const fn next(&self) -> u64 {
        self.start.saturating_add(self.frames.saturating_mul(self.step.get()))
    }

    /// Frames without chunks before the one of number `end`: those of a trajectory are as good as
    /// others.
    fn finish(&mut self, end: u64, writer: &mut FileWriter) -> Result<(), Error> {
        while self.part.is_some() && self.next() < end {
            let is_last = end.saturating_sub(self.next()) <= self.step.get();
            self.end(&[], is_last, writer)?;
        }
        Ok(())
    }

    /// Ends a frame of these chunks, which are written.
    fn end(&mut self, own: &[Chunk], is_last: bool, writer: &mut FileWriter) -> Result<(), Error> {
        let frame = self.next();
        if let Some(part) = &mut self.part {
            let mut needs = part.needs(frame, own)?;
            if is_last && needs.is_empty() {
                needs.push(part.step()?); // without a chunk it would be lost
            }
            for need in needs {
                self.give(need, writer)?;
            }
        }
        writer.end_frame()?;
        self.frames = self.frames.saturating_add(1);
        Ok(())
    }

    /// Writes what a frame needs besides its own chunks.
    fn give(&mut self, need: Need, writer: &mut FileWriter) -> Result<(), Error> {
        let bytes = match need {
            Need::Copy(chunk) => {
                self.check(&chunk)?;
                let name = self.file.name(&chunk)?;
                let from = self.taken.as_mut().unwrap_or(&mut self.source);
                writer.copy_chunk(name.as_bytes(), &chunk, from)?;
                chunk.span.len()
            }
            Need::Default(field, rows) => write_default(writer, field, rows)?,
            Need::Absence(_) | Need::Lost => 0, // was refused, and cannot be
        };
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Compares a chunk of frame 0 with its checksum, if it has one that counts.
    fn check(&mut self, chunk: &Chunk) -> Result<(), Error> {
        if !self.is_checked || self.sums.is_none() {
            return Ok(());
        }
        let crc = self.taken.as_mut().unwrap_or(&mut self.source).crc(chunk.span)?;
        self.file.check_crc(chunk, crc)
    }
}
