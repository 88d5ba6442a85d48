//! Copying a chunk from another file.

use super::FileWriter;
use super::file::chunk_error;
use crate::copy::{Copier, CopyError, Place};
use crate::direct::OpenOptions;
use crate::error::Error;
use crate::store::bulk::{Ahead, Bulk};
use std::io;
use std::path::Path;
use striae_core::gsd::{Chunk, ReadError};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_hoomd::room::Room;
use striae_inspect::gsd::together;

/// The length in bytes from which the kernel copies a chunk. Shorter chunks are gathered with
/// others.
const LONG: u64 = 1 << 18;

const _: () = assert!(LONG <= Ahead::SHORT);

/// A file whose chunks are copied.
pub(in crate::gsd) struct Source<'a> {
    path: &'a Path,
    bulk: &'a Bulk,
    copier: Copier,
    ahead: Ahead,
    progress: &'a dyn Fn(u64),
    room: Room,
}

impl<'a> Source<'a> {
    /// Errors name `path`. `progress` gets the length of each copied piece. Chunks that exceed
    /// `room` are refused.
    pub(in crate::gsd) fn new(
        path: &'a Path,
        bulk: &'a Bulk,
        progress: &'a dyn Fn(u64),
        room: Room,
    ) -> Self {
        let (copier, ahead) = (Copier::new(), Ahead::default());
        Self { path, bulk, copier, ahead, progress, room }
    }

    /// Copies long chunks past the page cache, if there are options for it.
    pub(in crate::gsd) fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.copier = self.copier.direct(options);
        self
    }

    /// Reads the chunks of a frame ahead, if they are next to each other; they may then be used in
    /// any order.
    pub(in crate::gsd) fn bring(&mut self, chunks: &[Chunk]) {
        let Some(whole) = together(chunks) else { return };
        // The later read of a chunk reports an error.
        let _: Result<(), ReadError<Bulk>> = self.ahead.bring(self.bulk, whole);
    }

    /// Counts a chunk that is copied.
    pub(in crate::gsd) fn take(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.room.take(chunk).map_err(|error| Error::new(self.path, error))
    }

    /// The CRC-32C of the bytes of a span.
    pub(in crate::gsd) fn crc(&mut self, span: Span) -> Result<u32, Error> {
        let mut crc = 0;
        let read = self.ahead.read_pieces(self.bulk, span, &mut |bytes| {
            crc = crc32c::crc32c_append(crc, bytes);
            true
        });
        read.map_err(|error: ReadError<Bulk>| Error::new(self.path, error))?;
        Ok(crc)
    }

    /// All bytes of a span, which is at most as long as a chunk of checksums can be.
    pub(in crate::gsd) fn bytes(&mut self, span: Span) -> Result<&[u8], Error> {
        let Self { path, bulk, ahead, .. } = self;
        let bytes = ahead.bytes(bulk, span);
        bytes.map_err(|error: ReadError<Bulk>| Error::new(path, error))
    }
}

impl FileWriter {
    /// Adds a copy of a chunk of another file to the open frame, under this name.
    pub(in crate::gsd) fn copy_chunk(
        &mut self,
        name: &[u8],
        chunk: &Chunk,
        from: &mut Source<'_>,
    ) -> Result<(), Error> {
        let Chunk { kind, m, span, .. } = *chunk;
        from.take(chunk)?;
        if span.len() < LONG {
            self.write_bytes(name, kind, m, from.bytes(span)?)?;
            (from.progress)(span.len());
            return Ok(());
        }
        let (path, frame) = (self.path().to_owned(), self.frames());
        let mut to = self.begin_chunk(name, kind, m)?;
        let mut unread = None;
        let Source { bulk, copier, progress, .. } = from;
        let store = &**bulk.file();
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
