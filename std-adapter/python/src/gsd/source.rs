//! An open file of either kind, as a source of trajectories.

use super::object::Store;
use std::ops::Range;
use std::path::PathBuf;
use striae::Error;
use striae::gsd::{Chunk, File, Head, NameList};
use striae::striae_hoomd::names::last_of_each;
use striae::striae_hoomd::{self, Fault, Source};

/// A file on a disk, or in a Python object.
#[derive(Debug)]
pub(crate) enum AnyFile {
    Disk(Box<File>),
    Object(Box<striae_hoomd::File<Store>>, PathBuf),
}

impl AnyFile {
    pub(super) fn frames(&self) -> u64 {
        self.head().frames
    }

    /// Finds a chunk of a frame.
    pub(super) fn find(&self, frame: i64, name: &[u8]) -> Result<Option<Chunk>, Error> {
        let Ok(frame) = u64::try_from(frame) else { return Ok(None) };
        match self {
            Self::Disk(file) => file.find(frame, name),
            Self::Object(..) => {
                let Some(id) = self.names()?.id(name) else { return Ok(None) };
                Ok(self.chunks_of(frame)?.into_iter().find(|chunk| chunk.id == id))
            }
        }
    }

    /// The chunks of a frame that readers find.
    pub(super) fn chunks_of(&self, frame: u64) -> Result<Vec<Chunk>, Error> {
        let chunks = self.chunks_of_frames(frame..frame.saturating_add(1))?;
        let mut chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        if !self.head().header.version.is_sorted() {
            last_of_each(&mut chunks, |chunk| chunk.id);
        }
        Ok(chunks)
    }

    /// The chunks of some frames that readers find, frame by frame.
    pub(super) fn chunks_in(&self, frames: Range<u64>) -> Result<Vec<Chunk>, Error> {
        if frames.end.saturating_sub(frames.start) <= 1 {
            return self.chunks_of(frames.start);
        }
        if !self.head().header.version.is_sorted() {
            let mut all = Vec::new();
            for frame in frames {
                all.extend(self.chunks_of(frame)?);
            }
            return Ok(all);
        }
        self.chunks_of_frames(frames)?.collect()
    }

    pub(super) fn file_len(&self) -> u64 {
        self.head().file_len
    }

    /// Reads several chunks, each into a buffer of its length.
    pub(super) fn read_chunks(&self, parts: &mut [(Chunk, &mut [u8])]) -> Result<(), Error> {
        match self {
            Self::Disk(file) => file.read_chunks(parts),
            Self::Object(..) => {
                parts.iter_mut().try_for_each(|(chunk, bytes)| self.read_chunk(chunk, bytes))
            }
        }
    }

    /// The names that start with `prefix`, as texts.
    pub(super) fn names_with(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let names = self.names()?.with_prefix(prefix.as_bytes());
        Ok(names.map(|(_, name)| String::from_utf8_lossy(name.as_bytes()).into_owned()).collect())
    }
}

impl Source for AnyFile {
    type Error = Error;

    fn head(&self) -> &Head {
        match self {
            Self::Disk(file) => file.head(),
            Self::Object(file, _) => file.head(),
        }
    }

    fn names(&self) -> Result<&NameList, Error> {
        match self {
            Self::Disk(file) => file.names(),
            Self::Object(file, path) => file.names().map_err(|error| Error::new(path, error)),
        }
    }

    fn chunks_of_frames(
        &self,
        frames: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Chunk, Error>>, Error> {
        let chunks: Box<dyn Iterator<Item = _>> = match self {
            Self::Disk(file) => Box::new(file.chunks_of_frames(frames)?),
            Self::Object(file, path) => {
                let chunks =
                    file.chunks_of_frames(frames).map_err(|error| Error::new(path, error))?;
                Box::new(chunks.map(|chunk| chunk.map_err(|error| Error::new(path, error))))
            }
        };
        Ok(chunks)
    }

    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::Disk(file) => Source::read_chunk(&**file, chunk, bytes),
            Self::Object(file, path) => {
                file.read_chunk(chunk, bytes).map_err(|error| Error::new(path, error))
            }
        }
    }

    fn error(&self, fault: Fault) -> Error {
        match self {
            Self::Disk(file) => Source::error(&**file, fault),
            Self::Object(_, path) => Error::new(path, fault),
        }
    }
}
