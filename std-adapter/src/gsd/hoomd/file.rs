//! Files as the sources and targets of trajectories: implementations of `striae_hoomd`'s traits
//! with the methods of [`File`] and [`FileWriter`].

use crate::error::{Error, ErrorKind};
use crate::gsd::{self, File, FileWriter, NameList};
use std::io;
use std::ops::Range;
use std::path::Path;
use striae_core::gsd::{Chunk, ChunkType, Head, Version};
use striae_hoomd::{Fault, Open, Refresh, Sink, Source};

impl<P: AsRef<Path>> Open<P> for File {
    fn open(path: P) -> Result<Self, Error> {
        Self::open(path)
    }
}

impl Source for File {
    type Error = Error;

    fn head(&self) -> &Head {
        self.head()
    }

    fn names(&self) -> Result<&NameList, Error> {
        self.names()
    }

    fn chunks_of_frames(
        &self,
        frames: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Chunk, Error>>, Error> {
        self.chunks_of_frames(frames)
    }

    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Error> {
        self.fill(chunk, chunk.span, bytes)
    }

    fn error(&self, fault: Fault) -> Error {
        self.error(fault)
    }
}

impl Refresh for File {
    fn refresh(&mut self) -> Result<bool, Error> {
        self.refresh()
    }
}

impl Sink for FileWriter {
    type Error = Error;

    fn version(&self) -> Version {
        self.version()
    }

    fn frames(&self) -> u64 {
        self.frames()
    }

    fn write_chunk(
        &mut self,
        name: &[u8],
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.write_bytes(name, kind, m, bytes).map(drop)
    }

    fn end_frame(&mut self) -> Result<u64, Error> {
        self.end_frame()
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.commit()
    }

    fn close(&mut self) -> Result<(), Error> {
        self.close()
    }

    fn truncate(&mut self) -> Result<(), Error> {
        self.truncate()
    }

    fn error(&self, fault: Fault) -> Error {
        Error::new(self.path(), fault)
    }
}

impl From<Fault> for ErrorKind {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Hoomd(error) => error.into(),
            Fault::Gsd(error) => error.into(),
            Fault::Chunk { frame, name, error } => {
                gsd::ErrorKind::Chunk { frame, name, error }.into()
            }
            Fault::NotText { frame, name, at } => {
                gsd::ErrorKind::NotText { frame, name, at }.into()
            }
            Fault::Memory => io::Error::from(io::ErrorKind::OutOfMemory).into(),
        }
    }
}
