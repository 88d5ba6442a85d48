//! A file that is written.

use super::lock::Locked;
use super::names::NameIds;
use super::stream::ChunkWriter;
use super::{Reopen, Settings};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::shown;
use crate::store::Gatherer;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::gsd::checksums;
use striae_core::gsd::open::Open;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{
    self as core_gsd, Attributes, Chunk, ChunkType, Reader, Slot, Version, Writer,
};
use striae_core::step::DriveError;
use striae_hoomd::element::little_endian;
use striae_hoomd::{Element, NameList};
use striae_inspect::gsd::Stale;
use zerocopy::{FromZeros, IntoBytes};

/// Chunks of the largest frame, and its checksums: a file has no more names.
const SLOTS: usize = 1 << 20;

/// Values that are converted at once on a big-endian host.
const PIECE: usize = 1 << 14;

/// A GSD file that is written: chunks, which frames end, which commits make part of the file.
///
/// Before [`commit`](Self::commit) the file is as the last commit left it, for all readers and
/// whatever happens; and it is that, or what this one makes it, while a commit is under way. What
/// is written in between is gathered in memory and goes to places where nobody looks.
///
/// An error of the disk costs nothing: what failed is not in the file and can be tried again. What
/// was accepted before stays for the next commit: to write a whole frame again that has not ended,
/// call [`discard_frame`](Self::discard_frame) first, and after an error of
/// [`commit`](Self::commit) or [`close`](Self::close), only that again, as its frames have ended.
///
/// There is one writer at a time ([`ErrorKind::Locked`]). Readers may look while it writes, those
/// of gsd too, and [refresh](crate::gsd::File::refresh) to see what was committed.
///
/// Dropped without a close, the file is as the last commit left it; a warning of the crate `log`
/// says so if anything is lost.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.gsd");
/// let mut file = striae::gsd::Builder::new().application("probe 1.0").create(&path)?;
/// for step in 0..10_u64 {
///     let points = [[0.0_f32, 1.0, 2.0], [3.0, 4.0, 5.0]];
///     file.write("step", &[step], 1)?;
///     file.write("points", points.as_flattened(), 3)?; // 2 rows of 3
///     file.end_frame()?;
/// }
/// file.commit()?; // whatever happens now, these frames are in the file
/// file.close()?;
/// assert_eq!(striae::gsd::File::open(&path)?.frames(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileWriter {
    path: PathBuf,
    /// `None` after the close.
    writer: Option<CoreWriter>,
    names: NameIds,
    /// Frames and layer, after the close.
    last: (u64, Version),
    stale: Option<Stale>,
}

/// What does the work.
type CoreWriter = Writer<Gathered, Vec<Slot>>;

/// What a file is written with.
pub(super) type Gathered = Gatherer<Locked>;

fn gathered(file: Locked, path: &Path, settings: Settings) -> Result<Gathered, Error> {
    Gatherer::new(file, settings.buffer).map_err(|error| Error::new(path, error))
}

/// Memory for all that a frame can have. The operating system gives it when it is touched.
fn memory(path: &Path) -> Result<Vec<Slot>, Error> {
    Slot::new_vec_zeroed(SLOTS)
        .map_err(|_| Error::new(path, io::Error::from(io::ErrorKind::OutOfMemory)))
}

impl FileWriter {
    /// Goes on with the file at `path`: see [`Reopen`].
    ///
    /// # Errors
    /// As [`Reopen::open`].
    pub fn reopen(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reopen::new().open(path)
    }

    /// Makes `file`, which is empty, a GSD file; errors name `path`.
    pub(super) fn make(
        file: Locked,
        path: &Path,
        attributes: &Attributes<'_>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let gathered = gathered(file, path, settings)?;
        let checksum = crc32c::crc32c_append;
        let writer = Writer::create_with(gathered, attributes, memory(path)?, checksum);
        let mut writer = writer.map_err(|error| Error::new(path, error))?;
        writer.set_names_in_place(settings.hidden);
        Ok(Self::new(path, writer, NameIds::default(), None))
    }

    /// Goes on with `file`, whose name is `path`.
    pub(super) fn go_on(file: Locked, path: &Path, settings: Settings) -> Result<Self, Error> {
        let at = |error: core_gsd::ReadError<&PosixFile>| Error::new(path, error);
        let mut window = [0; Open::WINDOW];
        let reader = Reader::open(&*file, &mut window).map_err(at)?;
        let mut names = NameIds::default();
        let stale = Stale::of(reader.head());
        let list = NameList::read(&reader).map_err(at)?;
        for (name, id) in list.iter().zip(0..) {
            names.insert(name.as_bytes(), id);
        }
        let gathered = gathered(file, path, settings)?;
        let checksum = crc32c::crc32c_append;
        let writer = Writer::open_with(gathered, memory(path)?, checksum, &mut window);
        let mut writer = writer.map_err(|error| Error::new(path, error))?;
        if let Some(one_sync) = settings.one_sync {
            writer.set_one_sync(one_sync);
        }
        if let Some(stale) = stale {
            let path = shown::path(path);
            log::warn!("{path}: gsd has appended: what is written now is without {stale}");
        }
        Ok(Self::new(path, writer, names, stale))
    }

    fn new(path: &Path, writer: CoreWriter, names: NameIds, stale: Option<Stale>) -> Self {
        let last = (writer.frames(), writer.version());
        let (path, writer) = (path.to_owned(), Some(writer));
        Self { path, writer, names, last, stale }
    }

    /// The name of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Frames that have ended, also such that are not committed.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.writer.as_ref().map_or(self.last.0, Writer::frames)
    }

    /// Layer of the file.
    #[must_use]
    pub fn version(&self) -> Version {
        self.writer.as_ref().map_or(self.last.1, Writer::version)
    }

    /// What the file gave its frames before gsd appended to it, and those that are written now do
    /// not get: `None` if nothing is lost. A warning of the crate `log` says the same.
    #[must_use]
    pub const fn stale(&self) -> Option<Stale> {
        self.stale
    }

    /// Adds a chunk of rows of `m` values to the frame that is being written.
    ///
    /// The values go to the file, or to the buffer, at once; they are not needed afterwards.
    ///
    /// # Errors
    /// [`Chunk`](crate::gsd::ErrorKind::Chunk) with what no file can have: a name of no bytes or
    /// with a NUL ([`BadName`](core_gsd::Error::BadName)), one that the frame has already
    /// ([`Duplicate`](core_gsd::Error::Duplicate)), the 65536th
    /// ([`NamesFull`](core_gsd::Error::NamesFull)); no columns
    /// ([`NoColumns`](core_gsd::Error::NoColumns)), or values that are not whole rows
    /// ([`Rows`](core_gsd::Error::Rows)). [`ErrorKind::SyncFailed`], [`ErrorKind::Closed`]; the
    /// operating system's. The chunk is not in the frame then.
    #[inline]
    pub fn write<T: Element>(
        &mut self,
        name: impl AsRef<[u8]>,
        values: &[T],
        m: u32,
    ) -> Result<Chunk, Error> {
        let name = name.as_ref();
        if cfg!(target_endian = "little") || size_of::<T>() == 1 {
            return self.write_bytes(name, T::KIND, m, values.as_bytes());
        }
        let mut chunk = self.begin_chunk(name, T::KIND, m)?;
        for values in values.chunks(PIECE) {
            chunk.write_raw(&little_endian(values))?;
        }
        chunk.finish()
    }

    /// Adds a chunk of text: one column of type [`ChunkType::Character`].
    ///
    /// # Errors
    /// [`Layer`](core_gsd::Error::Layer) in a file of layer 1; as [`write`](Self::write).
    pub fn write_text(&mut self, name: impl AsRef<[u8]>, text: &str) -> Result<Chunk, Error> {
        self.write_bytes(name, ChunkType::Character, 1, text.as_bytes())
    }

    /// Adds a chunk of bytes as they are to stand in the file: rows of `m` values of type `kind`,
    /// little-endian.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[inline]
    pub fn write_bytes(
        &mut self,
        name: impl AsRef<[u8]>,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<Chunk, Error> {
        let name = name.as_ref();
        let id = self.id(name)?;
        let Self { path, writer: Some(writer), .. } = self else { return Err(self.closed()) };
        let frame = writer.frames();
        let written = writer.write_chunk(id, kind, m, bytes);
        written.map_err(|error| chunk_error(path, frame, name, error))
    }

    /// Begins a chunk whose number of rows is not known; its bytes are written to what this
    /// returns, which adds the chunk when it is [finished](ChunkWriter::finish).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn begin_chunk(
        &mut self,
        name: impl AsRef<[u8]>,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_>, Error> {
        let name = name.as_ref();
        let id = self.id(name)?;
        let Self { path, writer: Some(writer), .. } = self else { return Err(self.closed()) };
        let frame = writer.frames();
        let begun = writer.begin_chunk(id, kind, m);
        let chunk = begun.map_err(|error| chunk_error(path, frame, name, error))?;
        Ok(ChunkWriter::new(chunk, path, frame, name))
    }

    /// Ends the frame and returns its number. It is in the file with the next commit.
    ///
    /// A frame may be without chunks. Such frames are only seen if one with chunks follows.
    ///
    /// # Errors
    /// [`ErrorKind::SyncFailed`], [`ErrorKind::Closed`]; the operating system's. The frame has not
    /// ended then.
    pub fn end_frame(&mut self) -> Result<u64, Error> {
        let (writer, path) = self.open()?;
        let frame = writer.end_frame().map_err(|error| Error::new(path, error))?;
        self.names.end_frame();
        Ok(frame)
    }

    /// Gives up the chunks of the frame that is being written: the file is as after the last
    /// [`end_frame`](Self::end_frame) that succeeded, and what was given up takes no room. After an
    /// error in the middle of a frame, that is how to write all of it again.
    ///
    /// Frames that have ended stay, committed or not, and so do names.
    pub fn discard_frame(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.discard_frame_with(Gathered::forget);
            self.names.end_frame();
        }
    }

    /// Makes all frames that have ended part of the file, as durable as was asked for.
    ///
    /// The frame that is being written goes on. Nothing is done if there is nothing new, but
    /// the first commit behind opening a file makes durable what was found.
    ///
    /// # Errors
    /// The operating system's, or that the file was removed while it was written: the file is as
    /// the last commit left it, or as this one would, and the next one tries again, unless the disk
    /// failed to make something durable ([`ErrorKind::SyncFailed`]). [`ErrorKind::Closed`].
    pub fn commit(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open_named()?;
        writer.commit().map_err(|error| Error::new(path, error))
    }

    /// Commits for the last time, and ends the file where the last chunk does.
    ///
    /// After an error it may be called again; after success, it does nothing.
    ///
    /// # Errors
    /// [`OpenFrame`](core_gsd::Error::OpenFrame) if the last frame has chunks and was not ended; as
    /// [`commit`](Self::commit).
    pub fn close(&mut self) -> Result<(), Error> {
        if self.writer.is_none() {
            return Ok(());
        }
        let (writer, path) = self.open_named()?;
        writer.close().map_err(|error| Error::new(path, error))?;
        self.last = (writer.frames(), writer.version());
        let store = self.writer.take().map(Writer::into_store);
        let trimmed = store.map_or(Ok(()), |mut store| store.trim());
        trimmed.map_err(|error| Error::new(&self.path, error))
    }

    /// Commits, and makes a file of layer 1 one of layer 2.1, with names of any length, text and a
    /// sorted index. Nothing else happens to one of layer 2.
    ///
    /// It is one or the other at any time. Data are not moved.
    ///
    /// # Errors
    /// [`OpenFrame`](core_gsd::Error::OpenFrame) if the last frame has chunks and was not ended; as
    /// [`commit`](Self::commit).
    pub fn upgrade(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open_named()?;
        writer.upgrade().map_err(|error| Error::new(path, error))
    }

    /// Removes all frames and names, also those that are not committed, and gives back their room.
    ///
    /// The file has all that it had, or nothing, at any time.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn truncate(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open()?;
        let truncated = writer.truncate().map_err(|error| Error::new(path, error));
        if writer.names() == 0 {
            self.names.clear();
        }
        truncated
    }

    /// The writer, if it can be written with.
    fn open(&mut self) -> Result<(&mut CoreWriter, &Path), Error> {
        match &mut self.writer {
            None => Err(Error::new(&self.path, ErrorKind::Closed)),
            Some(writer) => match writer.store().file().check_syncs() {
                Ok(()) => Ok((writer, &self.path)),
                Err(error) => Err(Error::new(&self.path, error)),
            },
        }
    }

    /// The open file, if those who want to read it can find it by its name.
    fn open_named(&mut self) -> Result<(&mut CoreWriter, &Path), Error> {
        let (writer, path) = self.open()?;
        if writer.store().file().is_removed().map_err(|error| Error::new(path, error))? {
            let removed =
                io::Error::new(io::ErrorKind::NotFound, "was removed while it was written");
            return Err(Error::new(path, removed));
        }
        Ok((writer, path))
    }

    fn closed(&self) -> Error {
        Error::new(&self.path, ErrorKind::Closed)
    }

    /// The id of a name, which is added to the file if it is new.
    #[inline]
    fn id(&mut self, name: &[u8]) -> Result<u16, Error> {
        let store = self.writer.as_ref().map(CoreWriter::store);
        let is_usable = store.is_some_and(|store| store.file().check_syncs().is_ok());
        match self.names.id(name).filter(|_| is_usable) {
            Some(id) => Ok(id),
            None => self.new_id(name),
        }
    }

    #[cold]
    fn new_id(&mut self, name: &[u8]) -> Result<u16, Error> {
        let (writer, path) = self.open()?;
        let frame = writer.frames();
        let id = match name == checksums::NAME {
            true => writer.name(name), // which the writer itself may have added
            false => writer.add_name(name),
        };
        let id = id.map_err(|error| chunk_error(path, frame, name, error))?;
        self.names.insert(name, id);
        Ok(id)
    }
}

/// What went wrong with a chunk, if that is what went wrong.
#[cold]
pub(super) fn chunk_error(
    path: &Path,
    frame: u64,
    name: &[u8],
    error: WriteError<Gathered>,
) -> Error {
    match error {
        DriveError::Format(error) if error.blames_caller() => {
            Error::new(path, crate::gsd::ErrorKind::Chunk { frame, name: name.into(), error })
        }
        error => Error::new(path, error),
    }
}

/// Without the memory, which is long.
impl fmt::Debug for FileWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_closed = self.writer.is_none();
        let mut all = f.debug_struct("FileWriter");
        all.field("path", &self.path).field("frames", &self.frames());
        all.field("is_closed", &is_closed).finish_non_exhaustive()
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.writer.as_ref().is_some_and(|writer| !writer.is_committed()) {
            log::warn!(
                "{}: dropped without a close: what was written since the last commit is lost",
                shown::path(&self.path)
            );
        }
    }
}

#[cfg(test)]
mod tests;
