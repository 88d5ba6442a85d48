//! Extracting the chunks of each name to NumPy arrays.

mod array;
mod source;

use super::ErrorKind;
use super::convert::check_count;
use super::file::File;
use super::hoomd::{Found as Value, Trajectory};
use crate::address::{Address, Selection};
use crate::error::Error;
use crate::verb::extract::{Chosen, Extracted, Names, refuse_strays};
use crate::verb::{Options, Selected};
use array::Arrays;
use source::Source;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use striae_core::gsd::Chunk;
use striae_core::span::Span;
use striae_hoomd::names::Name;

/// How to extract a file to a folder: one `.npy` file for each name, for NumPy's `load`.
///
/// If all chunks of a name have one type and shape, they become one array, `NAME.npy`, and its
/// first axis is the frames. If some frames lack the name, `NAME@frames.npy` has the numbers of the
/// frames that have it. Otherwise each chunk becomes its own array: `NAME@00012.npy` for frame 12.
/// The next axes are rows and columns, or only rows for chunks of one column. Text has the type
/// `|S1`.
///
/// In `NAME`, `/` becomes `.`, and bytes that a file name should not have become `%2E` and so on. A
/// name of more than 200 bytes is cut, and `~` and the id of the name follow.
///
/// A frame of a [trajectory](Self::hoomd) may also have the values of frame 0, or defaults, as for
/// readers.
///
/// All files are made in a hidden folder in the target, and renamed when all of them are complete.
/// If reading or copying fails, the target is unchanged. A killed process leaves the hidden folder.
pub type Extract = Options<Selected<How>>;

/// The options that only GSD files have.
#[derive(Debug, Clone, Default)]
#[expect(unnameable_types, reason = "the methods of its builder set it")]
pub struct How {
    frames: Option<Range<u64>>,
    names: Vec<Box<[u8]>>,
    /// Whether a frame has what readers of the schema hoomd find for it.
    hoomd: bool,
}

/// What is known about the chunks of a name.
#[derive(Debug, Clone, Copy)]
struct NameChunks {
    /// The last chunk so far.
    chunk: Chunk,
    /// Whether all other chunks have the type and shape of `chunk`.
    is_uniform: bool,
    /// Frames that have the name.
    frames: u64,
}

/// What is to be extracted.
struct Found {
    /// The chunks of each name, by its id.
    names: Vec<Option<NameChunks>>,
    /// The frames of the first axis.
    frames: Range<u64>,
    /// Bytes of all chunks.
    bytes: u64,
}

impl Extract {
    /// Extracts only these frames.
    #[must_use]
    pub fn frames(mut self, frames: Range<u64>) -> Self {
        self.how.how.frames = Some(frames);
        self
    }

    /// Extracts this name. All calls together select the names. If `name` ends in `/`, it selects
    /// all names that start with it.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<[u8]>) -> Self {
        self.how.how.names.push(name.as_ref().into());
        self
    }

    /// Sets whether a frame that lacks a name has the chunk of frame 0, or the default, as readers
    /// of the schema hoomd find them (`spec/gsd-hoomd.md`). The names are those that the file has,
    /// so each array of a name of the schema has all frames. By default, a frame has its own
    /// chunks.
    #[must_use]
    pub const fn hoomd(mut self, hoomd: bool) -> Self {
        self.how.how.hoomd = hoomd;
        self
    }

    /// Bytes of the chunks that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors of the folder.
    pub fn bytes(&self, file: &File) -> Result<u64, Error> {
        let mut sum = 0u64;
        self.each(file, self.chosen(file)?.as_ref(), |chunk, _| {
            sum = sum.saturating_add(chunk.span.len());
            Ok(())
        })?;
        Ok(sum)
    }

    /// Extracts `file` to the folder `dir`, which is made if it does not exist. `progress` gets the
    /// length of each copied piece.
    ///
    /// # Errors
    /// - [`Exists`](crate::error::ErrorKind::Exists) if a file exists already.
    /// - [`Source`](crate::error::ErrorKind::Source) if an array would replace `file`.
    /// - [`ErrorKind::NoName`] if the file lacks a wanted name.
    /// - [`Address`](crate::error::ErrorKind::Address) if an address does not fit the file, or
    ///   selects nothing.
    /// - [`NoFrame`](striae_core::gsd::Error::NoFrame) if the file does not have all of the frames.
    /// - [`Shared`](striae_core::gsd::Error::Shared) if all chunks together are longer than the
    ///   file.
    /// - [`TooLarge`](crate::error::ErrorKind::TooLarge) if most of the file is holes;
    ///   [`NoRoom`](crate::error::ErrorKind::NoRoom).
    /// - An error about damage in the file; an error of the operating system.
    pub fn run(
        &self,
        file: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let selection = self.chosen(file)?;
        let Found { names: found, frames, bytes } = self.find(file, selection.as_ref())?;
        file.admit(&self.output, bytes)?;
        let arrays = Arrays::new(file.names()?, &found, &frames);
        let names = Names::These(arrays.names().map(str::to_owned).collect());
        let sources = vec![file.store().file().identity()];
        let chosen = Chosen { parts: arrays, names, sources, room: bytes };
        self.fill_folder(chosen, dir, progress, |mut arrays, hidden, count| {
            arrays.create(hidden)?;
            let mut source = Source::new(file, self.output.copier(file.direct_options()), count);
            self.each(file, selection.as_ref(), |chunk, row| {
                source.set_default(row);
                arrays.add(hidden, &chunk, &mut source)
            })?;
            arrays.finish(hidden)?;
            // By its name, NAME@frames.npy belongs to NAME.npy, and so do arrays of single frames.
            let made = fs::read_dir(hidden).and_then(|made| {
                made.map(|made| made.map(|made| made.file_name())).collect::<io::Result<Vec<_>>>()
            });
            let made = made.map_err(|error| Error::new(dir, error))?;
            let made: BTreeSet<&str> = made.iter().filter_map(|name| name.to_str()).collect();
            let names: BTreeSet<&str> = made.iter().filter_map(|name| name_of(name)).collect();
            let is_stray = |name: &str| name_of(name).is_some_and(|of| names.contains(of));
            refuse_strays(dir, |name| is_stray(name) && !made.contains(name))
        })
    }

    /// The selection; `None` if everything is selected.
    fn chosen(&self, file: &File) -> Result<Option<Selection>, Error> {
        match self.how.addresses.as_slice() {
            [] => Ok(None),
            addresses => file.selection(addresses).map(Some),
        }
    }

    /// What is to be extracted.
    fn find(&self, file: &File, chosen: Option<&Selection>) -> Result<Found, Error> {
        let mut found: Vec<Option<NameChunks>> = vec![None; file.names()?.len()];
        let (mut frames, mut bytes): (Option<Range<u64>>, u64) = (None, 0);
        self.each(file, chosen, |chunk, _| {
            bytes = bytes.saturating_add(chunk.span.len());
            let start = frames.as_ref().map_or(chunk.frame, |frames| frames.start);
            frames = Some(start..chunk.frame.saturating_add(1));
            let Some(place) = found.get_mut(usize::from(chunk.id)) else { return Ok(()) };
            let shape = |chunk: &Chunk| (chunk.kind, chunk.n, chunk.m);
            *place = Some(match *place {
                None => NameChunks { chunk, is_uniform: true, frames: 1 },
                Some(before) => NameChunks {
                    is_uniform: before.is_uniform && shape(&before.chunk) == shape(&chunk),
                    frames: before.frames.saturating_add(1),
                    chunk,
                },
            });
            Ok(())
        })?;
        let frames = match chosen {
            None => self.range(file)?,
            Some(chosen) => {
                chosen.check().map_err(|error| file.error(error))?;
                frames.unwrap_or(0..0)
            }
        };
        Ok(Found { names: found, frames, bytes })
    }

    /// Calls `each` with all chunks to extract, and with the row of which a chunk consists that no
    /// frame has: the default.
    fn each(
        &self,
        file: &File,
        chosen: Option<&Selection>,
        mut each: impl FnMut(Chunk, Option<&[u8]>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        file.check_names()?;
        let wanted = self.wanted(file)?;
        let is_chosen = |frame: u64, name: Name<'_>| {
            chosen.is_none_or(|chosen| chosen.has(&Address::chunk(frame, name.as_bytes())))
        };
        let frames = self.range(file)?;
        if !self.how.how.hoomd {
            let has = |chunk: &Chunk, name: Name<'_>| {
                wanted.get(usize::from(chunk.id)) == Some(&true) && is_chosen(chunk.frame, name)
            };
            return file.each_selected(frames, has, |chunk| each(chunk, None));
        }
        check_count(file, &frames)?; // a frame without chunks takes time, too
        let trajectory = Trajectory::new(file.clone())?;
        let names: Vec<_> = file.names()?.iter().zip(0..).zip(wanted).collect();
        for frame in frames {
            let found = trajectory.frame(frame)?;
            let of_frame = names.iter().filter(|(_, wanted)| *wanted);
            for ((name, id), _) in of_frame.filter(|((name, _), _)| is_chosen(frame, *name)) {
                match found.find_named(name.as_bytes())? {
                    Some(Value::Chunk(chunk)) => each(Chunk { frame, id: *id, ..chunk }, None)?,
                    Some(Value::Default { kind, m, n, row }) => {
                        let size = kind.size().get().saturating_mul(m.into());
                        // Of too many bytes, which no output may have, as many as can be said.
                        let span = Span::new(0, n.saturating_mul(size)).unwrap_or(Span::ZERO);
                        each(Chunk { frame, id: *id, kind, n, m, span }, Some(&row))?;
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Whether each name is to be extracted, by its id.
    fn wanted(&self, file: &File) -> Result<Vec<bool>, Error> {
        let names = file.names()?;
        if self.how.how.names.is_empty() {
            return Ok(vec![true; names.len()]);
        }
        let is = |wanted: &[u8], name: Name<'_>| match wanted.ends_with(b"/") {
            true => name.as_bytes().starts_with(wanted),
            false => name.as_bytes() == wanted,
        };
        for wanted in &self.how.how.names {
            if !names.iter().any(|name| is(wanted, name)) {
                return Err(file.error(ErrorKind::NoName { name: wanted.clone() }));
            }
        }
        Ok(names
            .iter()
            .map(|name| self.how.how.names.iter().any(|wanted| is(wanted, name)))
            .collect())
    }

    /// The frames to extract, after a check that the file has them.
    fn range(&self, file: &File) -> Result<Range<u64>, Error> {
        let frames = self.how.how.frames.clone().unwrap_or(0..file.frames());
        file.check_frames(&frames)?;
        Ok(frames)
    }
}

/// The name whose array, or list of frames, a file has.
fn name_of(file: &str) -> Option<&str> {
    file.strip_suffix(".npy")?.split('@').next()
}
