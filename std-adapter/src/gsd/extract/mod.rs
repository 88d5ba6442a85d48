//! Every name's chunks into arrays of NumPy.

mod array;
mod npy;
mod source;

use super::ErrorKind;
use super::file::File;
use crate::address::{Address, Pattern, Selection};
use crate::error::Error;
use crate::extract::{Extracted, fill};
use crate::output::Output;
use crate::publish::check_free;
use array::Arrays;
use source::Source;
use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{self as core_gsd, Chunk};
use striae_hoomd::names::Name;
use striae_hoomd::room::Room;

/// How to extract a file into a folder: one `.npy` a name, as NumPy's `load` reads it.
///
/// If a name's chunks are all of one type and shape, they become one array, `NAME.npy`, whose first
/// axis is the frames. If some frames lack it, `NAME@frames.npy` says which ones have it. Otherwise
/// each of its chunks becomes an array of its own, `NAME@00012.npy` that of frame 12. Rows and
/// columns follow, or rows alone of chunks of one column; text is of type `|S1`.
///
/// In `NAME`, `/` becomes `.`, and bytes that a file's name should not have become `%2E`; one that
/// is longer than 200 bytes is cut, and `~` and its id follow.
///
/// All files are made in a hidden folder inside the target, and renamed when all of them are whole.
/// If reading or copying fails, the target is as it was. A kill leaves the hidden folder.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    output: Output,
    frames: Option<Range<u64>>,
    names: Vec<Box<[u8]>>,
    addresses: Vec<Pattern>,
}

/// What is known of a name's chunks.
#[derive(Debug, Clone, Copy)]
struct NameChunks {
    /// One of them.
    chunk: Chunk,
    /// Whether all others are of its type and shape.
    is_uniform: bool,
    /// Frames that have one.
    frames: u64,
}

impl Extract {
    /// Extracts all frames and names, and overwrites nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How the new files are made; unless told, nothing is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Extracts only these frames.
    #[must_use]
    pub fn frames(mut self, frames: Range<u64>) -> Self {
        self.frames = Some(frames);
        self
    }

    /// Extracts this name, and no others but those of further calls; all names that start with it
    /// if it ends in `/`.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<[u8]>) -> Self {
        self.names.push(name.as_ref().into());
        self
    }

    /// Extracts what these addresses stand for, and nothing else but that of further calls. The
    /// first axis of arrays starts at the first frame that has any of it, and ends at the last.
    #[must_use]
    pub fn select(mut self, addresses: impl IntoIterator<Item = Pattern>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// Bytes of the chunks that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), but for those of the folder.
    pub fn bytes(&self, file: &File) -> Result<u64, Error> {
        let mut sum = 0u64;
        self.each(file, self.chosen(file)?.as_ref(), |chunk, _| {
            sum = sum.saturating_add(chunk.span.len());
            Ok(())
        })?;
        Ok(sum)
    }

    /// Extracts `file` into the folder `dir`, which is made if it is not there. `progress` is told
    /// the length of each piece that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already;
    /// [`ErrorKind::NoName`]; [`Address`](crate::error::ErrorKind::Address);
    /// [`core_gsd::Error::NoFrame`]; [`core_gsd::Error::Shared`]; a damaged file; the operating
    /// system's.
    pub fn run(&self, file: &File, dir: &Path, progress: &dyn Fn(u64)) -> Result<Extracted, Error> {
        let chosen = self.chosen(file)?;
        let (found, frames) = self.find(file, chosen.as_ref())?;
        let mut arrays = Arrays::new(file.names()?, &found, &frames);
        let bytes = Cell::new(0u64);
        let count = |n| {
            bytes.set(bytes.get().saturating_add(n));
            progress(n);
        };
        let names: Vec<_> = arrays.names().map(|name| dir.join(name)).collect();
        let check = || match self.output.force {
            true => Ok(()),
            false => names.iter().try_for_each(|name| check_free(name, false)),
        };
        let files = fill(dir, self.output.force, check, |hidden| {
            arrays.create(hidden)?;
            let mut source = Source::new(file, self.output.copier(file.direct_options()), &count);
            self.each(file, chosen.as_ref(), |chunk, again| {
                arrays.add(hidden, &chunk, again, &mut source)
            })?;
            arrays.finish(hidden)
        })?;
        Ok(Extracted { files, bytes: bytes.into_inner() })
    }

    /// What was selected, if that is not all.
    fn chosen(&self, file: &File) -> Result<Option<Selection>, Error> {
        match self.addresses.as_slice() {
            [] => Ok(None),
            addresses => file.selection(addresses).map(Some),
        }
    }

    /// What is to be extracted of each name, by its id, and the frames that are the first axis.
    fn find(
        &self,
        file: &File,
        chosen: Option<&Selection>,
    ) -> Result<(Vec<Option<NameChunks>>, Range<u64>), Error> {
        let mut found: Vec<Option<NameChunks>> = vec![None; file.names()?.len()];
        let mut frames: Option<Range<u64>> = None;
        self.each(file, chosen, |chunk, again| {
            let start = frames.as_ref().map_or(chunk.frame, |frames| frames.start);
            frames = Some(start..chunk.frame.saturating_add(1));
            let Some(place) = found.get_mut(usize::from(chunk.id)) else { return Ok(()) };
            let shape = |chunk: &Chunk| (chunk.kind, chunk.n, chunk.m);
            *place = Some(match *place {
                None => NameChunks { chunk, is_uniform: true, frames: 1 },
                Some(before) => NameChunks {
                    is_uniform: before.is_uniform && shape(&before.chunk) == shape(&chunk),
                    frames: before.frames.saturating_add(u64::from(!again)),
                    chunk,
                },
            });
            Ok(())
        })?;
        match chosen {
            None => Ok((found, self.range(file)?)),
            Some(chosen) => {
                chosen.check().map_err(|error| file.error(error))?;
                Ok((found, frames.unwrap_or(0..0)))
            }
        }
    }

    /// Hands over all chunks that are to be extracted, and whether their frame had this name
    /// before: in layer 1 the last one of several counts, in layer 2 the first, as when it is
    /// looked for.
    fn each(
        &self,
        file: &File,
        chosen: Option<&Selection>,
        mut each: impl FnMut(Chunk, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        file.check_names()?;
        let (wanted, names) = (self.wanted(file)?, file.names()?);
        let is_chosen = |chunk: &Chunk| {
            let name = names.get(chunk.id).map_or(&b""[..], |name| name.as_bytes());
            chosen.is_none_or(|chosen| chosen.has(&Address::chunk(chunk.frame, name)))
        };
        let (mut room, mut same) = (Room::new(file.head().file_len), None);
        let mut last: Vec<Option<u64>> = vec![None; wanted.len()];
        let mut before = 0;
        let mut chunks = file.chunks_of_frames(self.range(file)?)?;
        while let Some(chunk) = chunks.next().transpose()? {
            let Chunk { frame, id, .. } = chunk;
            if frame < before {
                let slot = chunks.slot().saturating_sub(1);
                let at = u64::from(IndexEntry::frame.offset());
                // For the error.
                let offset = file.head().index().offset_of(slot).saturating_add(at);
                return Err(file.error(core_gsd::Error::Order { offset, frame, before }));
            }
            before = frame;
            let id = usize::from(id);
            if wanted.get(id) != Some(&true)
                || !is_chosen(&chunk)
                || same.replace(chunk) == Some(chunk)
            {
                continue; // a copy of the last entry fills the index
            }
            room.take(&chunk).map_err(|error| file.error(error))?;
            let again = last.get(id) == Some(&Some(frame));
            if let Some(last) = last.get_mut(id) {
                *last = Some(frame);
            }
            if !again || !file.header().version.is_sorted() {
                each(chunk, again)?;
            }
        }
        Ok(())
    }

    /// Whether a name is to be extracted, by its id.
    fn wanted(&self, file: &File) -> Result<Vec<bool>, Error> {
        let names = file.names()?;
        if self.names.is_empty() {
            return Ok(vec![true; names.len()]);
        }
        let is = |wanted: &[u8], name: Name<'_>| match wanted.ends_with(b"/") {
            true => name.as_bytes().starts_with(wanted),
            false => name.as_bytes() == wanted,
        };
        for wanted in &self.names {
            if !names.iter().any(|name| is(wanted, name)) {
                return Err(file.error(ErrorKind::NoName { name: wanted.clone() }));
            }
        }
        Ok(names.iter().map(|name| self.names.iter().any(|wanted| is(wanted, name))).collect())
    }

    /// The frames that are to be extracted, which the file has.
    fn range(&self, file: &File) -> Result<Range<u64>, Error> {
        let frames = self.frames.clone().unwrap_or(0..file.frames());
        file.check_frames(&frames)?;
        Ok(frames)
    }
}
