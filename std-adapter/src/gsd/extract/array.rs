//! Array files that grow chunk by chunk.

use super::NameChunks;
use super::source::{LONG, Source};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::store::Run;
use crate::verb::extract::final_path;
use crate::verb::npy::{file_name, header, shape};
use std::ops::Range;
use std::path::{Path, PathBuf};
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_hoomd::NameList;

/// The most bytes that wait to be written, for all arrays together.
const GATHERED: usize = 1 << 26;

/// The arrays of all names, by the ids of the names.
pub(super) struct Arrays {
    names: Vec<Option<Array>>,
    /// The most bytes of one array that wait to be written.
    limit: usize,
    /// Digits of a frame number in a file name.
    digits: usize,
}

/// The array or arrays of one name.
enum Array {
    /// One array for all frames.
    Whole {
        data: Output,
        /// The numbers of the frames in the array, if other frames lack the name.
        frames: Option<Output>,
        chunk: Chunk,
        /// Frames that the finished array has.
        total: u64,
        /// Frames in the array so far.
        have: u64,
    },
    /// One array for each frame; their file names start with this text.
    Each(String),
}

impl Arrays {
    pub(super) fn new(names: &NameList, found: &[Option<NameChunks>], frames: &Range<u64>) -> Self {
        let all = frames.end.saturating_sub(frames.start);
        let digits = frames.end.saturating_sub(1).to_string().len().max(5);
        let arrays = names.iter().zip(0..).zip(found).map(|((name, id), found)| {
            let found = (*found)?;
            let mut file = file_name(name, id);
            if names.id(name.as_bytes()) != Some(id) {
                file = format!("{file}~{id}"); // of a damaged file: there is another of this name
            }
            Some(match found.is_uniform {
                true => Array::Whole {
                    data: Output::new(format!("{file}.npy")),
                    frames: match found.frames == all {
                        true => None,
                        false => Some(Output::new(format!("{file}@frames.npy"))),
                    },
                    chunk: found.chunk,
                    total: found.frames,
                    have: 0,
                },
                false => Array::Each(file),
            })
        });
        let names: Vec<_> = arrays.collect();
        let limit = GATHERED.checked_div(names.len()).unwrap_or(GATHERED).clamp(1 << 9, 1 << 20);
        Self { names, limit, digits }
    }

    /// Names of the files to make, except the files of single frames.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names
            .iter()
            .flatten()
            .flat_map(|array| match array {
                Array::Whole { data, frames, .. } => {
                    [Some(data.name.as_str()), frames.as_ref().map(|frames| frames.name.as_str())]
                }
                Array::Each(_) => [None, None],
            })
            .flatten()
    }

    /// Makes the files of all frames, with their headers.
    pub(super) fn create(&mut self, hidden: &Path) -> Result<(), Error> {
        for array in self.names.iter_mut().flatten() {
            if let Array::Whole { data, frames, chunk, total, .. } = array {
                let all = [&[*total], &shape(chunk)[..]].concat();
                data.create(hidden, &header(chunk.kind, &all))?;
                if let Some(frames) = frames {
                    frames.create(hidden, &header(ChunkType::U64, &[*total]))?;
                }
            }
        }
        Ok(())
    }

    /// Adds a chunk.
    pub(super) fn add(
        &mut self,
        hidden: &Path,
        chunk: &Chunk,
        source: &mut Source<'_>,
    ) -> Result<(), Error> {
        let (limit, digits) = (self.limit, self.digits);
        match self.names.get_mut(usize::from(chunk.id)) {
            Some(Some(Array::Whole { data, frames, have, .. })) => {
                let place = *have;
                *have = place.saturating_add(1);
                if let Some(frames) = frames {
                    frames.put(hidden, place, &chunk.frame.to_le_bytes(), limit)?;
                }
                data.put_chunk(hidden, place, chunk, source, limit)
            }
            Some(Some(Array::Each(name))) => {
                let name = format!("{name}@{:0digits$}.npy", chunk.frame);
                let mut alone = Output::new(name);
                alone.create(hidden, &header(chunk.kind, &shape(chunk)))?;
                alone.put_chunk(hidden, 0, chunk, source, limit)?;
                alone.finish(hidden, 1, chunk.span.len())
            }
            _ => Ok(()),
        }
    }

    /// Writes all waiting bytes and sets the final lengths.
    pub(super) fn finish(&mut self, hidden: &Path) -> Result<(), Error> {
        for array in self.names.iter_mut().flatten() {
            if let Array::Whole { data, frames, chunk, total, .. } = array {
                data.finish(hidden, *total, chunk.span.len())?;
                if let Some(frames) = frames {
                    frames.finish(hidden, *total, 8)?;
                }
            }
        }
        Ok(())
    }
}

/// An output file. It is open only during writes, since there may be thousands.
struct Output {
    name: String,
    header_len: u64,
    waiting: Run,
}

impl Output {
    const fn new(name: String) -> Self {
        Self { name, header_len: 0, waiting: Run::at(0) }
    }

    /// The path of the file for errors.
    fn path(&self, hidden: &Path) -> PathBuf {
        final_path(&hidden.join(&self.name))
    }

    fn error(&self, hidden: &Path) -> impl Fn(std::io::Error) -> Error {
        let path = self.path(hidden);
        move |error| Error::new(&path, error)
    }

    fn create(&mut self, hidden: &Path, header: &[u8]) -> Result<(), Error> {
        let file = PosixFile::create(&hidden.join(&self.name), false);
        let written = file.and_then(|file| file.write_all_at(0, header));
        self.header_len = usize_to_u64(header.len());
        written.map_err(self.error(hidden))
    }

    fn open(&self, hidden: &Path) -> Result<PosixFile, Error> {
        PosixFile::open_rw(&hidden.join(&self.name)).map_err(self.error(hidden))
    }

    /// The end of `count` items of `len` bytes after the header.
    fn end(&self, hidden: &Path, count: u64, len: u64) -> Result<u64, Error> {
        let items = Span::of_table(self.header_len, count, len);
        let too_long = || self.error(hidden)(std::io::ErrorKind::FileTooLarge.into());
        Ok(items.ok_or_else(too_long)?.end())
    }

    /// Puts a chunk after `before` chunks of the same length.
    fn put_chunk(
        &mut self,
        hidden: &Path,
        before: u64,
        chunk: &Chunk,
        source: &mut Source<'_>,
        limit: usize,
    ) -> Result<(), Error> {
        if chunk.span.len() < LONG {
            return self.put(hidden, before, source.bytes(chunk.span)?, limit);
        }
        self.write(hidden)?;
        let (file, path) = (self.open(hidden)?, self.path(hidden));
        source.copy(chunk.span, &file, self.end(hidden, before, chunk.span.len())?, &path)
    }

    /// Puts bytes after `before` items of the same length; they may wait in memory.
    fn put(&mut self, hidden: &Path, before: u64, bytes: &[u8], limit: usize) -> Result<(), Error> {
        let offset = self.end(hidden, before, usize_to_u64(bytes.len()))?;
        if offset != self.waiting.end() {
            self.write(hidden)?;
            self.waiting.go_to(offset);
        }
        self.waiting.push(bytes);
        if self.waiting.len() < limit { Ok(()) } else { self.write(hidden) }
    }

    /// Writes the waiting bytes.
    fn write(&mut self, hidden: &Path) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let file = self.open(hidden)?;
        self.waiting.write(&file).map_err(self.error(hidden))
    }

    /// Writes the waiting bytes and sets the file's length: the file is too short if its last bytes
    /// are a hole.
    fn finish(&mut self, hidden: &Path, count: u64, len: u64) -> Result<(), Error> {
        self.write(hidden)?;
        self.waiting = Run::at(0);
        let (file, len) = (self.open(hidden)?, self.end(hidden, count, len)?);
        let sized = file.size().and_then(|size| match size == len {
            true => Ok(()),
            false => file.set_size(len),
        });
        sized.map_err(self.error(hidden))
    }
}
