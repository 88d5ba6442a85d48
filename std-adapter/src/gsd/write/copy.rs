//! A chunk that comes from another file.

use super::FileWriter;
use super::file::chunk_error;
use crate::copy::{Copier, CopyError, Place};
use crate::direct::OpenOptions;
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::io;
use std::path::Path;
use striae_core::gsd::Chunk;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_hoomd::room::Room;

/// Shorter chunks are gathered with others instead of being copied by the kernel.
const LONG: u64 = 1 << 18;

/// A file that chunks are copied from.
pub(in crate::gsd) struct Source<'a> {
    path: &'a Path,
    store: &'a PosixFile,
    copier: Copier,
    buf: Vec<u8>,
    progress: &'a dyn Fn(u64),
    room: Room,
}

impl<'a> Source<'a> {
    /// Errors name `path`; `progress` is told the length of each piece that was copied. More chunks
    /// than there is `room` for are refused.
    pub(in crate::gsd) const fn new(
        path: &'a Path,
        store: &'a PosixFile,
        progress: &'a dyn Fn(u64),
        room: Room,
    ) -> Self {
        Self { path, store, copier: Copier::new(), buf: Vec::new(), progress, room }
    }

    /// With long chunks copied past the page cache, if there are options for that.
    pub(in crate::gsd) fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.copier = self.copier.direct(options);
        self
    }

    /// All bytes of a short chunk.
    fn read(&mut self, chunk: &Chunk) -> Result<&[u8], Error> {
        let at = |kind: ErrorKind| Error::new(self.path, kind);
        let offset = chunk.span.offset();
        self.buf.resize(usize::try_from(chunk.span.len()).unwrap_or(0), 0);
        self.store.read_exact_at(offset, &mut self.buf).map_err(|error| match error {
            embedded_io::ReadExactError::UnexpectedEof => at(ErrorKind::Ended { offset }),
            embedded_io::ReadExactError::Other(error) => at(error.into()),
        })?;
        (self.progress)(chunk.span.len());
        Ok(&self.buf)
    }
}

impl FileWriter {
    /// Adds a copy of a chunk of another file to the frame that is being written, under this name.
    pub(in crate::gsd) fn copy_chunk(
        &mut self,
        name: &[u8],
        chunk: &Chunk,
        from: &mut Source<'_>,
    ) -> Result<(), Error> {
        let Chunk { kind, m, span, .. } = *chunk;
        from.room.take(chunk).map_err(|error| Error::new(from.path, error))?;
        if span.len() < LONG {
            self.write_bytes(name, kind, m, from.read(chunk)?)?;
            return Ok(());
        }
        let (path, frame) = (self.path().to_owned(), self.frames());
        let mut to = self.begin_chunk(name, kind, m)?;
        let mut unread = None;
        let Source { store, copier, progress, .. } = from;
        let put = to.core().put(span.len(), |target, offset, crc| {
            let mut sum = crc.unwrap_or(0);
            let copied = target.put(offset, span.len(), |file| {
                let place = Place { file, offset, zeros: false };
                let copied = match crc {
                    None => copier.copy(store, span, &place, *progress),
                    Some(_) => copier.copy_seen(store, span, &place, *progress, &mut |bytes| {
                        sum = crc32c::crc32c_append(sum, bytes);
                    }),
                };
                match copied {
                    Ok(()) => Ok(()),
                    Err(CopyError::Write(error)) => Err(error),
                    Err(error) => {
                        unread = Some(error);
                        Err(io::Error::other("the other file cannot be read"))
                    }
                }
            });
            copied.map(|()| sum)
        });
        if let Some(error) = unread {
            return Err(error.of_files(from.path, &path));
        }
        put.map_err(|error: DriveError<_, _>| chunk_error(&path, frame, name, error))?;
        to.finish()?;
        Ok(())
    }
}
