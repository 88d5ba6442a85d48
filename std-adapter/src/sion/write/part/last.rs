//! The end of a task's stream, as the last commit states it.

use super::{Part, WINDOW, lock};
use crate::error::{Error, ErrorKind};
use crate::sion::write::stream::Stream;
use std::cmp::Ordering;
use std::sync::{Arc, Mutex};
use striae_core::endian::{I64, U32};
use striae_core::sion::cursor::Cursor;
use striae_core::sion::locate::{check_blockcount, check_blocksize};
use striae_core::sion::meta2::entry;
use striae_core::sion::pen::Finished;
use striae_core::sion::raw::ChunkCrcEntry;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{Chunks, Error as SionError, Pen, Varheader};
use striae_core::span::Span;
use striae_core::store::ReadAt;

impl Part {
    /// The stream of task `local`, in the state of the last commit or the last writer.
    pub(in crate::sion::write) fn stream(&self, local: u32) -> Result<Arc<Mutex<Stream>>, Error> {
        if self.is_closed() {
            return Err(Error::new(&self.path, ErrorKind::Closed));
        }
        let mut streams = lock(&self.streams);
        if let Some(stream) = streams.get(&local) {
            return Ok(Arc::clone(stream));
        }
        self.check_disk()?;
        let pen = self.end_of(local)?;
        self.enter(pen.chunk())?;
        let stream = Arc::new(Mutex::new(Stream::new(pen)));
        streams.insert(local, Arc::clone(&stream));
        Ok(stream)
    }

    /// Treats all committed chunks of task `local` as new, so that the next commit seals them. With
    /// `end`, an index of a chunk and its used bytes, the next commit also ends the stream there.
    /// Reads the chunks whose checksums are not known, if the next commit seals the file.
    pub(in crate::sion::write) fn renew(
        &self,
        local: u32,
        end: Option<(u32, u64)>,
    ) -> Result<(), Error> {
        let chunks = self.chunks(local)?;
        let committed = *self.end_of(local)?.cursor();
        let cursor = match end {
            Some((chunk, used)) => Cursor::resume(chunks, chunk.into(), used),
            None => Ok(committed),
        };
        let cursor = cursor.map_err(|error| self.error(error))?;
        let published = lock(&self.book).published().copied();
        let mut window = vec![0; WINDOW];
        let mut checksum = |chunk: u32, used| {
            let place = chunks.chunk(chunk.into()).and_then(|place| place.part(0, used));
            let place = place.unwrap_or(Span::ZERO); // `used_of` and `resume` checked it
            checksum_of(&*self.file, place, 0, crc32c::crc32c_append, &mut window)
                .map_err(|error| Error::new(&self.path, error))
        };
        let (mut finished, mut last) = (Vec::new(), Finished::EMPTY);
        for chunk in 0..=committed.chunk() {
            let used = match (&published, chunk.cmp(&cursor.chunk())) {
                (Some(old), Ordering::Less) => self.used_of(old, local, chunk, &chunks)?,
                (Some(_), Ordering::Equal) => cursor.used(),
                _ => 0,
            };
            let crc = match published.filter(Varheader::is_sealed) {
                _ if !self.is_sealed() => 0,
                // Or what is damaged would be sealed.
                Some(old) if chunk < cursor.chunk() => self.crc_of(&old, local, chunk)?,
                Some(old) if chunk == cursor.chunk() => {
                    let all = self.used_of(&old, local, chunk, &chunks)?;
                    let stored = self.crc_of(&old, local, chunk)?;
                    let computed = checksum(chunk, all)?;
                    if stored != computed {
                        let offset = old.crc(local, chunk.into()).map_or(0, |crc| crc.offset());
                        let field = ChunkCrcEntry::crc;
                        let error = SionError::Checksum { field, offset, stored, computed };
                        return Err(self.error(error));
                    }
                    checksum(chunk, used)?
                }
                _ => checksum(chunk, used)?,
            };
            let done = Finished { local, chunk, used, crc };
            if chunk == cursor.chunk() { last = done } else { finished.push(done) }
        }
        self.enter(cursor.chunk())?;
        let crc = self.is_sealed().then_some(last.crc);
        let mut stream = Stream::new(Pen::resume(local, cursor, crc));
        stream.renew(finished);
        lock(&self.streams).insert(local, Arc::new(Mutex::new(stream)));
        Ok(())
    }

    /// The end of task `local`, as the last commit states it.
    fn end_of(&self, local: u32) -> Result<Pen, Error> {
        let chunks = self.chunks(local)?;
        let book = lock(&self.book); // META2 stays where it is until all is read
        let sealed = book.is_sealed();
        let Some(old) = book.published() else { return Ok(Pen::new(local, chunks, sealed)) };
        let (count, at) = self.entry(entry(old.blockcounts(), local))?;
        let count = check_blockcount(count, at, old.maxchunks());
        let last = count.map_err(|error| self.error(error))?.saturating_sub(1);
        let last = u32::try_from(last).unwrap_or(u32::MAX); // below maxchunks
        let used = self.used_of(old, local, last, &chunks)?;
        let cursor = Cursor::resume(chunks, last.into(), used);
        let cursor = cursor.map_err(|error| self.error(error))?;
        let crc = if sealed { Some(self.crc_of(old, local, last)?) } else { None };
        Ok(Pen::resume(local, cursor, crc))
    }

    /// Number of used bytes of a chunk, as the last commit states it.
    fn used_of(
        &self,
        old: &Varheader,
        local: u32,
        chunk: u32,
        chunks: &Chunks,
    ) -> Result<u64, Error> {
        let (used, at) = self.entry(old.blocksize(local, chunk.into()))?;
        let size = self.file.size().map_err(|error| Error::new(&self.path, error))?;
        let used = check_blocksize(used, at, chunks.chunk(chunk.into()), size);
        used.map_err(|error| self.error(error))
    }

    fn crc_of(&self, old: &Varheader, local: u32, chunk: u32) -> Result<u32, Error> {
        let Some(place) = old.crc(local, chunk.into()) else { return Ok(0) };
        let mut bytes = [0; 4];
        self.read(place.offset(), &mut bytes)?;
        Ok(U32::from(bytes).get(self.meta1.order()))
    }

    /// An entry of a table of META2, and its offset.
    fn entry(&self, place: Option<Span>) -> Result<(i64, u64), Error> {
        let at = place.map_or(0, Span::offset); // it is one of the file's own counts
        let mut bytes = [0; 8];
        self.read(at, &mut bytes)?;
        Ok((I64::from(bytes).get(self.meta1.order()), at))
    }

    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact_at(offset, buf).map_err(|error| match error {
            embedded_io::ReadExactError::UnexpectedEof => {
                Error::new(&self.path, ErrorKind::Ended { offset })
            }
            embedded_io::ReadExactError::Other(error) => Error::new(&self.path, error),
        })
    }
}
