//! Logged quantities over many frames.

use crate::error::{Error, Fault};
use crate::glob::matches;
use crate::schema;
use crate::source::Source;
use crate::trajectory::Trajectory;
use crate::values::{Quantity, Values};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::store::usize_to_u64;

/// The most chunks that are announced to the file at once, before they are read.
const CHUNKS: usize = 256;

/// The most pieces of the file that they are in: as many as a store that reads ahead holds.
const PIECES: u32 = 16;

/// Selects the logged quantities and frames to read.
#[derive(Debug)]
pub struct Logs<'a, F> {
    trajectory: &'a Trajectory<F>,
    /// Patterns, of which a name matches one; all names, if there is none.
    patterns: Vec<String>,
    scalars: bool,
    frames: Range<u64>,
}

impl<F> Clone for Logs<'_, F> {
    fn clone(&self) -> Self {
        let (patterns, frames) = (self.patterns.clone(), self.frames.clone());
        Self { patterns, frames, ..*self }
    }
}

/// A quantity in many frames, with the same rows and columns in each.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name, with `log/`; bytes that are not UTF-8 are shown as `\xc3`.
    pub name: String,
    /// Number of frames.
    pub frames: u64,
    /// Rows and columns of one frame, and all values, frame by frame.
    pub quantity: Quantity,
}

impl<F: Source> Trajectory<F> {
    /// Selects logged quantities over many frames; by default all quantities of all frames.
    #[must_use]
    pub fn logs(&self) -> Logs<'_, F> {
        Logs { trajectory: self, patterns: Vec::new(), scalars: false, frames: 0..self.len() }
    }
}

/// A series that is being read.
struct Wanted {
    series: Series,
    id: u16,
    /// Number of values of one frame.
    stride: usize,
    /// The last frame whose own value was read.
    last: Option<u64>,
}

impl<F: Source> Logs<'_, F> {
    /// Keeps only the quantities whose whole name, such as `log/md/energy`, matches: `*` stands for
    /// any characters, `?` for one character, `[a-z]` for one of a set, `[!a-z]` for one outside a
    /// set. Of several calls, the name matches one of the patterns.
    #[must_use]
    pub fn matching(mut self, pattern: impl Into<String>) -> Self {
        self.patterns.push(pattern.into());
        self
    }

    /// Keeps only the quantities with one value per frame.
    #[must_use]
    pub const fn scalars(mut self) -> Self {
        self.scalars = true;
        self
    }

    /// Keeps only these frames; numbers past the last frame are ignored.
    #[must_use]
    pub fn frames(mut self, frames: Range<u64>) -> Self {
        self.frames = frames.start..frames.end.min(self.trajectory.len());
        self
    }

    /// Reads the series: first `configuration/step`, then all logged quantities of frame 0 in the
    /// order of their ids. A frame without a quantity has the value of frame 0.
    ///
    /// # Errors
    /// [`Error::Varies`] if a quantity changes its type or shape; [`Error::Frames`] or
    /// [`Error::Series`] if the series would be larger than the length of the file allows;
    /// [`Shared`](striae_core::gsd::Error::Shared) if chunks share bytes; the errors of
    /// [`Frame`](super::Frame).
    pub fn read(self) -> Result<Vec<Series>, F::Error> {
        let max = self.trajectory.most();
        if self.len() > max {
            return Err(self.trajectory.error(Error::Frames { frames: self.len(), max }));
        }
        let mut wanted = self.wanted()?;
        let (file, mut room) = (self.trajectory.file(), self.trajectory.room());
        let is_sorted = file.head().header.version.is_sorted();
        let mut next = 0; // frames have their chunks in one order, most often
        let (mut found, mut pieces) = (Vec::<(usize, Chunk)>::new(), 0_u32);
        for chunk in file.chunks_of_frames(self.frames.clone())? {
            let chunk = chunk?;
            let is_next = wanted.get(next).is_some_and(|wanted| wanted.id == chunk.id);
            let search = || wanted.iter().position(|wanted| wanted.id == chunk.id);
            let Some(place) = is_next.then_some(next).or_else(search) else { continue };
            next = place.saturating_add(1);
            let Some(one) = wanted.get_mut(place) else { continue };
            let is_second = one.last.replace(chunk.frame) == Some(chunk.frame);
            if is_second && is_sorted {
                continue; // of a damaged file: readers find the first
            }
            room.take(&chunk).map_err(|error| self.trajectory.error(error))?;
            let follows = |last: &(_, Chunk)| last.1.span.joined(chunk.span).is_some();
            pieces = pieces.saturating_add(u32::from(!found.last().is_some_and(follows)));
            if found.len() >= CHUNKS || pieces > PIECES {
                self.put_all(&mut wanted, &mut found)?;
                pieces = 1;
            }
            found.push((place, chunk));
        }
        self.put_all(&mut wanted, &mut found)?;
        Ok(wanted.into_iter().map(|wanted| wanted.series).collect())
    }

    const fn len(&self) -> u64 {
        self.frames.end.saturating_sub(self.frames.start)
    }

    /// The selected series, with the values of frame 0 only.
    fn wanted(&self) -> Result<Vec<Wanted>, F::Error> {
        let (trajectory, mut wanted) = (self.trajectory, Vec::new());
        if trajectory.is_empty() {
            return Ok(wanted);
        }
        let (file, first) = (trajectory.file(), trajectory.first()?);
        let step = Quantity::rows(vec![trajectory.frame(0)?.step()?], 1);
        let id = file.names()?.id(schema::STEP.name).unwrap_or(u16::MAX); // that of no chunk
        wanted.push(self.filled(schema::STEP.name.into(), id, step)?);
        let (mut logged, names) = (Vec::new(), file.names()?);
        for (id, name) in names.with_prefix("log/") {
            // Of a name that is twice in the list, readers find the chunks of the first one.
            let chunk = first.iter().find(|chunk| chunk.id == id && names.id(name.0) == Some(id));
            let Some(chunk) = chunk.filter(|chunk| !self.scalars || is_scalar(chunk)) else {
                continue;
            };
            let name = name.to_string();
            let is_wanted = |pattern: &String| matches(pattern, &name);
            if self.patterns.is_empty() || self.patterns.iter().any(is_wanted) {
                logged.push((name, chunk));
            }
        }
        self.check_bytes(logged.iter().map(|(_, chunk)| *chunk))?;
        let chunks: Vec<Chunk> = logged.iter().map(|&(_, &chunk)| chunk).collect();
        file.will_read(&chunks);
        for (name, chunk) in logged {
            let values = Values::read(file, chunk)?;
            let quantity = Quantity::of(chunk, values);
            wanted.push(self.filled(name, chunk.id, quantity)?);
        }
        Ok(wanted)
    }

    /// Refuses series of these chunks of frame 0 that would need too much memory.
    fn check_bytes<'a>(&self, chunks: impl Iterator<Item = &'a Chunk>) -> Result<(), F::Error> {
        let row = chunks.fold(0_u64, |sum, chunk| sum.saturating_add(memory_of(chunk)));
        let (frames, max) = (self.len().max(1), self.trajectory.most_of_taken());
        let bytes = row.saturating_mul(frames);
        if bytes <= max {
            return Ok(());
        }
        Err(self.trajectory.error(Error::Series { frames, bytes, max }))
    }

    fn filled(&self, name: String, id: u16, first: Quantity) -> Result<Wanted, F::Error> {
        let stride = first.values.len();
        let frames = usize::try_from(self.len()).ok();
        let values = frames.and_then(|frames| first.values.repeated(frames));
        let memory = || self.trajectory.error(Fault::Memory);
        let quantity = Quantity { values: values.ok_or_else(memory)?, ..first };
        Ok(Wanted { series: Series { name, frames: self.len(), quantity }, id, stride, last: None })
    }

    /// Reads the chunks that were found, each for the series at its place in `wanted`.
    fn put_all(
        &self,
        wanted: &mut [Wanted],
        found: &mut Vec<(usize, Chunk)>,
    ) -> Result<(), F::Error> {
        let chunks: Vec<Chunk> = found.iter().map(|&(_, chunk)| chunk).collect();
        self.trajectory.file().will_read(&chunks);
        for (place, chunk) in found.drain(..) {
            if let Some(wanted) = wanted.get_mut(place) {
                self.put(wanted, &chunk)?;
            }
        }
        Ok(())
    }

    fn put(&self, wanted: &mut Wanted, chunk: &Chunk) -> Result<(), F::Error> {
        let quantity = &mut wanted.series.quantity;
        let is_text = matches!(quantity.values, Values::Text(_));
        let (found, want) = ((chunk.kind, chunk.n, chunk.m), quantity.form());
        if found != want && !(is_text && found.0 == want.0) {
            let (name, frame) = (wanted.series.name.as_bytes().into(), chunk.frame);
            return Err(self.trajectory.error(Error::Varies { name, frame, found, want }));
        }
        let place = chunk.frame.checked_sub(self.frames.start);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let start = place.unwrap_or(0).saturating_mul(wanted.stride);
        let part = start..start.saturating_add(wanted.stride);
        quantity.values.put(self.trajectory.file(), chunk, part)
    }
}

/// Whether the chunk has one value per frame; a text counts as one.
const fn is_scalar(chunk: &Chunk) -> bool {
    matches!(chunk.kind, ChunkType::Character) || (chunk.n == 1 && chunk.m == 1)
}

/// Bytes of memory for the values of one frame.
fn memory_of(chunk: &Chunk) -> u64 {
    let text = match chunk.kind {
        ChunkType::Character => usize_to_u64(size_of::<String>()),
        _ => 0,
    };
    chunk.span.len().saturating_add(text)
}
