//! Rewriting a file: packed, upgraded, aligned, with or without checksums, or with fewer frames.

mod judge;
pub(super) mod part;
mod target;

use super::NameList;
use super::checked::Sums;
use super::file::File;
use super::write::{Builder, Source, make};
use crate::error::Error;
use crate::lock::changed_meanwhile;
use crate::publish::identity;
use crate::store::existing;
use crate::verb::{Options, Output};
use part::Part;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Record, Version, checksums};
use striae_hoomd::fallback::Need;
use striae_hoomd::names::last_of_each;
use striae_hoomd::room::Room;
use striae_inspect::gsd::{Contents, Stale};
use striae_inspect::size::Demand;
use target::{Counted, Target};

/// How a file is rewritten.
///
/// Without options, the new file keeps everything that a reader sees, and the layer, the alignment
/// and the checksums. If gsd appended to the file, all frames get the alignment and the checksums
/// that the older frames have ([`Stale`]). Old index blocks, old name lists and other unused bytes
/// are left out. Data with checksums are checked.
pub type Convert = Options<How>;

/// The options that only GSD files have.
#[derive(Debug, Clone, Default)]
pub struct How {
    align: Option<u64>,
    checksums: Option<bool>,
    upgrade: bool,
    /// The frames, and the distance from one to the next.
    frames: Option<(Range<u64>, NonZeroU64)>,
}

/// The size of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Frames of the new file, including frames without chunks.
    pub frames: u64,
    /// Bytes of the chunks of the new file, without checksums.
    pub bytes: u64,
}

impl Convert {
    /// Sets the alignment of chunks in bytes: a power of two.
    #[must_use]
    pub const fn align(mut self, bytes: u64) -> Self {
        self.how.align = Some(bytes);
        self
    }

    /// Whether frames get checksums. With `false`, the checksums of the old file are not checked.
    #[must_use]
    pub const fn checksums(mut self, checksums: bool) -> Self {
        self.how.checksums = Some(checksums);
        self
    }

    /// Whether a file of layer 1 becomes a file of layer 2.1.
    #[must_use]
    pub const fn upgrade(mut self, upgrade: bool) -> Self {
        self.how.upgrade = upgrade;
        self
    }

    /// Copies only these frames: the first one and every `step`th after it. They get new numbers.
    ///
    /// Frames of a trajectory ([`hoomd`](super::hoomd)) also get the values that they took from
    /// frame 0, so readers see the same values as before (`spec/gsd-hoomd.md#parts`).
    #[must_use]
    pub fn frames(mut self, frames: Range<u64>, step: NonZeroU64) -> Self {
        self.how.frames = Some((frames, step));
        self
    }

    /// Writes a new version of `file` to `out`, which appears when it is complete: see
    /// [`Publish`](crate::publish::Publish). `progress` gets the length of each copied piece of a
    /// chunk.
    ///
    /// # Errors
    /// After an error, nothing has changed.
    ///
    /// - [`Exists`](crate::error::ErrorKind::Exists) if `out` exists and may not be replaced.
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has the file that is to be
    ///   replaced; of kind [`ResourceBusy`](std::io::ErrorKind::ResourceBusy) if it is `file`, and
    ///   has changed since it was opened.
    /// - [`NoFrame`](striae_core::gsd::Error::NoFrame) if the file does not have all of the frames.
    /// - [`Damaged`](super::ErrorKind::Damaged) if a check of the file finds damage in header,
    ///   names or index, except in frames that are not copied.
    /// - [`Chunk`](super::ErrorKind::Chunk) if a chunk does not match its checksum.
    /// - [`Shared`](striae_core::gsd::Error::Shared) if all chunks together are longer than the
    ///   file.
    /// - [`TooLarge`](crate::error::ErrorKind::TooLarge) if most of the file is holes, or the
    ///   alignment makes them; [`NoRoom`](crate::error::ErrorKind::NoRoom).
    /// - For [some frames](Self::frames) of a trajectory: [`Gap`](super::hoomd::Error::Gap),
    ///   [`Late`](super::hoomd::Error::Late), [`Part`](super::hoomd::Error::Part), and the errors
    ///   of a [`Trajectory`](super::hoomd::Trajectory).
    /// - An error of the operating system.
    pub fn run(&self, file: &File, out: &Path, progress: &dyn Fn(u64)) -> Result<Written, Error> {
        let frames = self.frames_of(file);
        file.check_frames(&frames)?;
        check_count(file, &frames)?;
        file.check_names()?;
        // Frames of a trajectory take values from frame 0.
        let is_taken = |frame: u64| frame == 0 && frames.start > 0 && part::is_trajectory(file);
        let is_wanted = |frame: u64| frames.contains(&frame) && self.is_wanted(&frames, frame);
        judge::check(file, self.how.frames.is_some(), &|frame| {
            is_wanted(frame) || is_taken(frame)
        })?;
        let most = self.admit(file, &frames, out)?;
        make(&self.output, out, file.path(), |hidden| {
            check_unchanged(file, out)?; // another writer may have had it before the lock
            let mut writer = self.builder(file, &frames)?.create(hidden)?;
            let is_checked = self.how.checksums != Some(false);
            let written = self.copy_to(&mut writer, file, &frames, (is_checked, most), progress)?;
            writer.close()?;
            Ok(written)
        })
    }

    /// The frames to copy.
    fn frames_of(&self, file: &File) -> Range<u64> {
        self.how.frames.as_ref().map_or(0..file.frames(), |(frames, _)| frames.clone())
    }

    fn step(&self) -> NonZeroU64 {
        self.how.frames.as_ref().map_or(NonZeroU64::MIN, |(_, step)| *step)
    }

    /// Refuses a new file that is larger than the old one justifies, before it is made. Returns the
    /// most bytes that frames may take from frame 0.
    fn admit(&self, file: &File, frames: &Range<u64>, out: &Path) -> Result<u64, Error> {
        let head = file.head();
        let existing = existing(file.store().file()).map_err(|it| Error::new(file.path(), it))?;
        let most = self.output.limit(&Demand { size: 0, existing, own: 0 });
        // All chunks together are not longer than the file, and have an entry each.
        let mut contents = Contents {
            data: head.file_len,
            chunks: head.entries,
            frames: frames.end.saturating_sub(frames.start),
            names: head.names_len,
            align: self.align_of(file),
        };
        let demand = |contents: &Contents| contents.demand(existing, self.how.align.is_some());
        let cheap = demand(&contents);
        let is_fair = head.file_len <= Demand { size: 0, existing, own: 0 }.limit()
            && cheap.size <= self.output.limit(&cheap);
        if !is_fair || self.how.frames.is_some() {
            let mut counted = Counted::default();
            self.copy_to(&mut counted, file, frames, (false, most), &|_| {})?;
            (contents.data, contents.chunks) = (counted.bytes, counted.chunks);
        }
        let demand = demand(&contents);
        let because = format_args!(
            "N and M in its index make chunks of {} bytes, index and alignment can add the rest, and \
             {existing} bytes of it exist",
            contents.data
        );
        self.output.admit(file.path(), &demand, because)?;
        Output::has_room(out, contents.data)?;
        Ok(most)
    }

    /// Copies the frames; with `is_checked`, their data are compared with their checksums, and they
    /// take at most `most` bytes from frame 0.
    fn copy_to<T: Target>(
        &self,
        writer: &mut T,
        file: &File,
        frames: &Range<u64>,
        (is_checked, most): (bool, u64),
        progress: &dyn Fn(u64),
    ) -> Result<Written, Error> {
        let from = |room| {
            let source = Source::new(file.path(), file.store(), progress, room);
            source.direct(self.output.direct)
        };
        let part = match self.how.frames.is_some() {
            true => Part::of(file, frames.start, most)?,
            false => None,
        };
        let sums = file.names()?.id(checksums::NAME);
        let mut copy = Copy {
            file,
            names: file.names()?,
            source: from(Room::new(file.head().file_len)),
            taken: part.as_ref().map(|part| from(part.room())),
            part,
            sums,
            is_checked,
            start: frames.start,
            step: self.step(),
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
        let is_old = !header.version.is_sorted() && !self.how.upgrade;
        let layer = if is_old { Version { major: 1, minor: 0 } } else { Version::LAYER };
        let stale = Stale::of(file.head());
        let checksums = record.is_some_and(|record| record.checksums)
            || stale.is_some_and(|stale| stale.checksums);
        let checksums = self.how.checksums.unwrap_or(checksums);
        // The index has room for all entries from the start: a move leaves a hole. `create` refuses
        // more slots than a file can have.
        let count = frames.end.saturating_sub(frames.start);
        let most = file.head().entries.min(count.saturating_mul(1 << 16));
        let slots = most.saturating_add(if checksums { count } else { 0 }).max(count);
        // gsd 1 makes a name list for 128 names, and no list longer.
        let names_len = file.head().names_len.max(if is_old { 127 * 64 } else { 64 });
        Ok(Builder::new()
            .application(text(header.application.as_bytes()))
            .schema(text(header.schema.as_bytes()), header.schema_version)
            .layer(layer)
            .align(self.align_of(file))
            .checksums(checksums)
            .index_slots(slots.max(128))
            .names_len(names_len.saturating_add(64))
            .hidden())
    }

    /// The alignment of the new file.
    fn align_of(&self, file: &File) -> u64 {
        let of_record = |record: &Record| 1_u64.checked_shl(record.align.into());
        let align = self.how.align.or_else(|| file.state().record().and_then(of_record));
        align.or_else(|| Stale::of(file.head()).map(|stale| stale.align)).unwrap_or(1)
    }

    /// Whether a frame is a multiple of the step after the first frame.
    fn is_wanted(&self, frames: &Range<u64>, frame: u64) -> bool {
        frame.saturating_sub(frames.start) % self.step() == 0
    }

    fn copy<T: Target>(
        &self,
        copy: &mut Copy<'_>,
        frames: &Range<u64>,
        writer: &mut T,
    ) -> Result<(), Error> {
        let mut present: Vec<Chunk> = Vec::new();
        for chunk in copy.file.chunks_of_frames(frames.clone())? {
            let chunk = chunk?;
            if !self.is_wanted(frames, chunk.frame) {
                continue;
            }
            match present.last() {
                Some(last) if *last == chunk => continue, // these fill up the index
                Some(last) if last.frame != chunk.frame => copy.frame(&mut present, writer)?,
                _ => {}
            }
            present.push(chunk);
        }
        if !present.is_empty() {
            copy.frame(&mut present, writer)?;
        }
        copy.finish(frames.end, writer)
    }
}

/// Refuses more frames than the file has bytes. Frames without chunks need nothing in a file, but
/// time and slots in a new one; so many of them come from a damaged entry.
pub(super) fn check_count(file: &File, frames: &Range<u64>) -> Result<(), Error> {
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

/// The state of a copy of frames.
struct Copy<'a> {
    file: &'a File,
    names: &'a NameList,
    source: Source<'a>,
    /// What frames of a trajectory need from other frames, and the source of those chunks.
    part: Option<Part>,
    taken: Option<Source<'a>>,
    /// The id of the chunks that hold checksums.
    sums: Option<u16>,
    is_checked: bool,
    /// The frame that becomes frame 0, and the distance to the next frame that is copied.
    start: u64,
    step: NonZeroU64,
    /// Frames and bytes written so far.
    frames: u64,
    bytes: u64,
}

impl Copy<'_> {
    /// Writes the frame that these chunks belong to.
    fn frame<T: Target>(&mut self, chunks: &mut Vec<Chunk>, writer: &mut T) -> Result<(), Error> {
        let frame = chunks.first().map_or(0, |first| first.frame);
        while self.next() < frame {
            self.end(&[], false, writer)?; // a frame without chunks
        }
        if !self.file.header().version.is_sorted() {
            last_of_each(chunks, |chunk| chunk.id);
        }
        let sums = self.sums_of(frame, chunks)?;
        if self.sums.is_some() {
            chunks.retain(|chunk| Some(chunk.id) != self.sums);
        }
        for chunk in &*chunks {
            if let Some(sums) = &sums {
                self.file.check_crc_by(sums, chunk, self.source.crc(chunk.span)?)?;
            }
            let name = match self.names.get(chunk.id) {
                Some(name) => name,
                None => self.file.name(chunk)?, // says why
            };
            writer.copy(name.as_bytes(), chunk, &mut self.source)?;
            self.bytes = self.bytes.saturating_add(chunk.span.len());
        }
        self.end(chunks, false, writer)?;
        chunks.clear();
        Ok(())
    }

    /// The checksums of these chunks' frame; `None` if they are not checked.
    fn sums_of(&mut self, frame: u64, chunks: &[Chunk]) -> Result<Option<Sums>, Error> {
        if !self.is_checked || self.sums.is_none() {
            return Ok(None);
        }
        if chunks.iter().all(|chunk| Some(chunk.id) == self.sums) {
            return Ok(None);
        }
        self.source.bring(chunks); // they are behind what they are of
        let own = chunks.iter().rfind(|chunk| Some(chunk.id) == self.sums).copied();
        let sums = self.file.read_sums(frame, own, |span, bytes| {
            self.source.bytes(span).map(|own| bytes.copy_from_slice(own))
        });
        sums.map(Some)
    }

    /// The number that the next frame to write has in the old file.
    const fn next(&self) -> u64 {
        self.start.saturating_add(self.frames.saturating_mul(self.step.get()))
    }

    /// Writes the frames without chunks at the end, up to frame `end`. In a trajectory, they are
    /// valid frames.
    fn finish<T: Target>(&mut self, end: u64, writer: &mut T) -> Result<(), Error> {
        while self.part.is_some() && self.next() < end {
            let is_last = end.saturating_sub(self.next()) <= self.step.get();
            self.end(&[], is_last, writer)?;
        }
        Ok(())
    }

    /// Ends a frame after its chunks `own` are written.
    fn end<T: Target>(
        &mut self,
        own: &[Chunk],
        is_last: bool,
        writer: &mut T,
    ) -> Result<(), Error> {
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
        writer.end()?;
        self.frames = self.frames.saturating_add(1);
        Ok(())
    }

    /// Writes a chunk that a frame needs besides its own chunks.
    fn give<T: Target>(&mut self, need: Need, writer: &mut T) -> Result<(), Error> {
        let bytes = match need {
            Need::Copy(chunk) => {
                self.check(&chunk)?;
                let name = self.file.name(&chunk)?;
                let from = self.taken.as_mut().unwrap_or(&mut self.source);
                writer.copy(name.as_bytes(), &chunk, from)?;
                chunk.span.len()
            }
            Need::Default(field, rows) => writer.add_default(field, rows)?,
            Need::Absence(_) | Need::Lost => 0, // was refused, and cannot be
        };
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Compares a chunk of frame 0 with its checksum, if checksums are checked.
    fn check(&mut self, chunk: &Chunk) -> Result<(), Error> {
        if !self.is_checked || self.sums.is_none() {
            return Ok(());
        }
        let crc = self.taken.as_mut().unwrap_or(&mut self.source).crc(chunk.span)?;
        self.file.check_crc(chunk, crc)
    }
}

/// If `out` is `file`: checks that nobody has changed it since it was opened.
fn check_unchanged(file: &File, out: &Path) -> Result<(), Error> {
    if identity(out) == Some(file.store().file().identity())
        && File::open(out)?.head() != file.head()
    {
        return Err(Error::new(out, changed_meanwhile()));
    }
    Ok(())
}
