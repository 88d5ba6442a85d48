//! Writing a file.

use super::Reopen;
use super::names::NameIds;
use super::stream::ChunkWriter;
use crate::error::{Error, ErrorKind};
use crate::lock::Locked;
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

/// The most chunks of a frame and their checksums: a file has no more names.
const SLOTS: usize = 1 << 20;

/// Values that are converted together on a big-endian host.
const PIECE: usize = 1 << 14;

/// A GSD file that is written. Frames consist of chunks, and a commit makes the ended frames part
/// of the file.
///
/// Until [`commit`](Self::commit), the file is in the state of the last commit for all readers,
/// whatever happens. During a commit, it is in the old state or the new one. Uncommitted data are
/// gathered in memory and written to places that no reader uses.
///
/// An error of the disk loses nothing: the failed call has changed nothing and can be repeated, and
/// accepted data stay for the next commit. To write an unfinished frame again from its start, call
/// [`discard_frame`](Self::discard_frame) first. After an error of [`commit`](Self::commit) or
/// [`close`](Self::close), repeat only that call, since its frames have ended.
///
/// There is one writer at a time ([`ErrorKind::Locked`]). Readers, including gsd's, may read during
/// writes; they [refresh](crate::gsd::File::refresh) to see new commits.
///
/// A writer that is dropped without a close leaves the file in the state of the last commit. If
/// data are lost, a warning of the crate `log` says so.
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
    /// Frames and layer after the close.
    last: (u64, Version),
    stale: Option<Stale>,
}

/// Core's writer, which does the work.
type CoreWriter = Writer<Gathered, Vec<Slot>>;

/// The store of core's writer.
pub(super) type Gathered = Gatherer<Locked>;

fn gathered(file: Locked, path: &Path, buffer: usize) -> Result<Gathered, Error> {
    Gatherer::new(file, buffer).map_err(|error| Error::new(path, error))
}

/// Memory for the slots of the largest frame. The operating system allocates it at the first use.
fn memory(path: &Path) -> Result<Vec<Slot>, Error> {
    Slot::new_vec_zeroed(SLOTS)
        .map_err(|_| Error::new(path, io::Error::from(io::ErrorKind::OutOfMemory)))
}

impl FileWriter {
    /// Opens the file at `path` to append to it: see [`Reopen`].
    ///
    /// # Errors
    /// As [`Reopen::open`].
    pub fn reopen(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reopen::new().open(path)
    }

    /// Makes the empty `file` a GSD file, which may be hidden until it is closed; errors name
    /// `path`.
    pub(super) fn make(
        file: Locked,
        path: &Path,
        (attributes, is_hidden): (&Attributes<'_>, bool),
        buffer: usize,
    ) -> Result<Self, Error> {
        let gathered = gathered(file, path, buffer)?;
        let checksum = crc32c::crc32c_append;
        let writer = Writer::create_with(gathered, attributes, memory(path)?, checksum);
        let mut writer = writer.map_err(|error| Error::new(path, error))?;
        writer.set_names_in_place(is_hidden);
        Ok(Self::new(path, writer, NameIds::default(), None))
    }

    /// Opens `file` at `path` to append to it.
    pub(super) fn go_on(
        file: Locked,
        path: &Path,
        one_sync: Option<bool>,
        buffer: usize,
    ) -> Result<Self, Error> {
        let at = |error: core_gsd::ReadError<&PosixFile>| Error::new(path, error);
        let mut window = [0; Open::WINDOW];
        let reader = Reader::open(&*file, &mut window).map_err(at)?;
        let mut names = NameIds::default();
        let stale = Stale::of(reader.head());
        let list = NameList::read(&reader).map_err(at)?;
        for (name, id) in list.iter().zip(0..) {
            names.insert(name.as_bytes(), id);
        }
        let gathered = gathered(file, path, buffer)?;
        let checksum = crc32c::crc32c_append;
        let writer = Writer::open_with(gathered, memory(path)?, checksum, &mut window);
        let mut writer = writer.map_err(|error| Error::new(path, error))?;
        if let Some(one_sync) = one_sync {
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

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of ended frames, including frames that are not committed.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.writer.as_ref().map_or(self.last.0, Writer::frames)
    }

    /// Layer of the file.
    #[must_use]
    pub fn version(&self) -> Version {
        self.writer.as_ref().map_or(self.last.1, Writer::version)
    }

    /// The properties that frames had before gsd appended to the file and that new frames do not
    /// get; `None` if there are none. A warning of the crate `log` says so as well.
    #[must_use]
    pub const fn stale(&self) -> Option<Stale> {
        self.stale
    }

    /// Whether this process is a fork of the one that opened the file. Then it may only be dropped:
    /// the other process goes on writing, and keeps its lock.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.store().locked().is_forked())
    }

    /// Adds a chunk of rows of `m` values to the open frame.
    ///
    /// The values are written to the file or copied to the buffer at once.
    ///
    /// # Errors
    /// The chunk is not in the frame after an error.
    ///
    /// - [`Chunk`](crate::gsd::ErrorKind::Chunk) for a chunk that no file can have: with
    ///   [`BadName`](core_gsd::Error::BadName) if the name is empty or has a NUL,
    ///   [`Duplicate`](core_gsd::Error::Duplicate) if the frame has the name already,
    ///   [`NamesFull`](core_gsd::Error::NamesFull) for the 65536th name,
    ///   [`NoColumns`](core_gsd::Error::NoColumns) if `m` is 0, and [`Rows`](core_gsd::Error::Rows)
    ///   if the values are not whole rows.
    /// - [`ErrorKind::SyncFailed`] if an earlier sync failed; [`ErrorKind::Closed`] after a close.
    /// - An error of the operating system.
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

    /// Adds a chunk of bytes as they will be in the file: rows of `m` values of type `kind`,
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
        match writer.write_chunk(id, kind, m, bytes) {
            Ok(chunk) => Ok(chunk),
            Err(error) => Err(chunk_error(path, writer.frames(), name, error)),
        }
    }

    /// Begins a chunk whose number of rows is not known yet. Write its bytes to the result, which
    /// adds the chunk when it is [finished](ChunkWriter::finish).
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

    /// Ends the frame and returns its number. The next commit makes it part of the file.
    ///
    /// A frame may have no chunks. Such frames are only visible if a frame with chunks follows.
    ///
    /// # Errors
    /// [`ErrorKind::SyncFailed`] if an earlier sync failed; [`ErrorKind::Closed`] after a close; an
    /// error of the operating system. The frame has not ended then.
    pub fn end_frame(&mut self) -> Result<u64, Error> {
        let writer = self.writer.as_mut().filter(|writer| !writer.store().file().has_failed());
        let Some(writer) = writer else { return Err(self.unusable()) };
        match writer.end_frame() {
            Ok(frame) => {
                self.names.end_frame();
                Ok(frame)
            }
            Err(error) => Err(unended(&self.path, error)),
        }
    }

    /// Discards the chunks of the open frame: the file is as after the last successful
    /// [`end_frame`](Self::end_frame), and the discarded chunks take no room. After an error in the
    /// middle of a frame, call it before writing the whole frame again.
    ///
    /// Ended frames stay, committed or not, and names stay too.
    pub fn discard_frame(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.discard_frame_with(Gathered::forget);
            self.names.end_frame();
        }
    }

    /// Removes the chunk `name` from the open frame, and returns whether the frame had it. The
    /// frame may then get another chunk of this name. The bytes of the removed one stay in the file
    /// unused.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.gsd");
    /// let mut file = striae::gsd::Builder::new().create(&path)?;
    /// file.write("step", &[1_u64], 1)?;
    /// assert!(file.discard_chunk("step") && !file.discard_chunk("step"));
    /// file.write("step", &[2_u64], 1)?;
    /// file.end_frame()?;
    /// file.close()?;
    /// let file = striae::gsd::File::open(&path)?;
    /// assert_eq!(file.read::<u64>(&file.chunk(0, "step")?)?, [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn discard_chunk(&mut self, name: impl AsRef<[u8]>) -> bool {
        let id = self.names.find(name.as_ref());
        match (id, &mut self.writer) {
            (Some(id), Some(writer)) => writer.discard_chunk(id),
            _ => false,
        }
    }

    /// Sets the bytes that are gathered before a write, from the next write on: as
    /// [`Builder::buffer`](super::Builder::buffer), for a file that is open.
    pub fn set_buffer(&mut self, bytes: usize) {
        if let Some(writer) = &self.writer {
            writer.store().set_capacity(bytes);
        }
    }

    /// Makes all ended frames part of the file, as durable as the options say.
    ///
    /// The open frame stays open. If nothing is new, nothing is done, except that the first commit
    /// after opening a file makes its found state durable.
    ///
    /// # Errors
    /// An error of the operating system, or that the file was removed during the writes. The file
    /// is then in the state of the last commit or of this one, and the next commit tries again,
    /// unless the disk failed to make something durable ([`ErrorKind::SyncFailed`]).
    /// [`ErrorKind::Closed`] after a close.
    pub fn commit(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open_named()?;
        writer.commit().map_err(|error| Error::new(path, error))
    }

    /// Commits for the last time, and cuts off unused bytes at the end of the file.
    ///
    /// After an error, it may be called again; after success, another call does nothing.
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
        let last = (writer.frames(), writer.version());
        let store = writer.store();
        let ended = store.trim().and_then(|()| store.file().arrive());
        ended.map_err(|error| Error::new(path, error))?;
        (self.last, self.writer) = (last, None);
        Ok(())
    }

    /// Commits, and turns a file of an older layer into a file of layer 2.1, with names of any
    /// length, text and a sorted index. A file of layer 2.1 is only committed.
    ///
    /// The file has one of the two layers at any time. Data are not moved.
    ///
    /// # Errors
    /// [`OpenFrame`](core_gsd::Error::OpenFrame) if the last frame has chunks and was not ended;
    /// that of a chunk that cannot be read; as [`commit`](Self::commit).
    pub fn upgrade(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open_named()?;
        writer.upgrade().map_err(|error| Error::new(path, error))
    }

    /// Removes all frames and names, including uncommitted ones, and frees their room,
    /// unless the file is shorter than a new one.
    ///
    /// At any time, the file has all of its frames, or none.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn truncate(&mut self) -> Result<(), Error> {
        let (writer, path) = self.open_named()?;
        let truncated = writer.truncate().map_err(|error| Error::new(path, error));
        if writer.names() == 0 {
            self.names.clear();
        }
        truncated
    }

    /// The writer, if it is neither closed nor has a failed sync.
    fn open(&mut self) -> Result<(&mut CoreWriter, &Path), Error> {
        match &mut self.writer {
            None => Err(Error::new(&self.path, ErrorKind::Closed)),
            Some(writer) => match writer.store().file().check_syncs() {
                Ok(()) => Ok((writer, &self.path)),
                Err(error) => Err(Error::new(&self.path, error)),
            },
        }
    }

    /// The writer, if the file still has a name by which readers find it.
    fn open_named(&mut self) -> Result<(&mut CoreWriter, &Path), Error> {
        let (writer, path) = self.open()?;
        writer.store().file().check_name().map_err(|error| Error::new(path, error))?;
        Ok((writer, path))
    }

    /// The error of a writer that is closed or has a failed sync.
    #[cold]
    fn unusable(&mut self) -> Error {
        self.open().err().unwrap_or_else(|| Error::new(&self.path, ErrorKind::Closed))
    }

    #[cold]
    fn closed(&self) -> Error {
        Error::new(&self.path, ErrorKind::Closed)
    }

    /// The id of a name, which is added to the file if it is new.
    #[inline]
    fn id(&mut self, name: &[u8]) -> Result<u16, Error> {
        let store = self.writer.as_ref().map(CoreWriter::store);
        if store.is_some_and(|store| !store.file().has_failed())
            && let Some(id) = self.names.next_id(name)
        {
            return Ok(id);
        }
        self.other_id(name)
    }

    /// The id of a name that is not at this position in the frame before.
    #[inline(never)]
    fn other_id(&mut self, name: &[u8]) -> Result<u16, Error> {
        self.open()?;
        if let Some(id) = self.names.look_up(name) {
            return Ok(id);
        }
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

#[cold]
fn unended(path: &Path, error: WriteError<Gathered>) -> Error {
    Error::new(path, error)
}

/// Adds the frame and the name of a chunk to an error that is about the chunk.
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

/// Leaves out the long memory.
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
        if self.writer.as_ref().is_some_and(|writer| !writer.is_committed()) && !self.is_forked() {
            log::warn!(
                "{}: dropped without a close: what was written since the last commit is lost",
                shown::path(&self.path)
            );
        }
    }
}

#[cfg(test)]
mod tests;
