//! Reading a file, by many threads at once, also while a writer changes it.

mod find;

use super::checked::{Cache, check_head};
use super::window::FileToken;
use crate::direct::{self, DirectFile};
use crate::error::{Error, ErrorKind};
use crate::store::bulk::Bulk;
use crate::verb::Output;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use striae_core::gsd::{self as core_gsd, Chunk, Head, Header, ReadError, Reader, State, raw};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_hoomd::names::{Name, NameList};
use zerocopy::{FromZeros, IntoBytes};

/// Bytes of one read while opening, mostly names.
const OPEN: usize = 4096;

/// Bytes of the index in one read for the chunks of one frame.
const FRAME: usize = 1 << 13;

/// Bytes of the index in one read for the chunks of several frames.
const LIST: usize = 1 << 16;

/// Bytes of the shortest span that is read directly.
const SHORT: u64 = 4096;

/// How to open a file.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    attempts: u32,
    checked: bool,
    direct: Option<direct::OpenOptions>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { attempts: 8, checked: false, direct: None }
    }
}

impl OpenOptions {
    /// Reads up to eight times before the file counts as damaged.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how often to read, at least once, before the file counts as damaged. A read during a
    /// write can be wrong, and right a moment later.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Whether all data are compared with their checksums, in files that have checksums. Index and
    /// names are compared when the file is opened, which reads all of them; the bytes of chunks
    /// when whole chunks are read. Data without checksums are accepted.
    #[must_use]
    pub const fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// Reads the bytes of chunks past the page cache where possible, if there are options for it.
    /// Header, index, names and chunks of less than 4096 bytes are read through the page cache, as
    /// they are near the bytes of the next reads.
    #[must_use]
    pub const fn direct(mut self, options: Option<direct::OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`core_gsd::Error`] if it is no GSD file or is damaged; an error of the operating system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path.as_ref();
        let store = Bulk::open(path, self.direct)?;
        store.direct()?; // what cannot be is said at once
        let reader = self.look(&store, || {
            let reader = Reader::open(store.clone(), &mut [0; OPEN])?;
            let is_whole = self.is_whole(reader.store(), reader.head())?;
            Ok(is_whole.then_some(reader))
        });
        let reader = reader.map_err(|error| Error::new(path, error))?;
        let (names, look, sums) = (OnceLock::new(), FileToken::new(), Cache::default());
        Ok(File { path: path.into(), reader, names, options: *self, look, sums })
    }

    /// Repeats `read` until it returns a value, at most as often as the options allow. A file that
    /// changes during the last read is not damaged, but busy.
    fn look<T>(
        &self,
        store: &Bulk,
        mut read: impl FnMut() -> Result<Option<T>, ReadError<Bulk>>,
    ) -> Result<T, ErrorKind> {
        for _ in 1..self.attempts {
            match read() {
                Ok(Some(seen)) => return Ok(seen),
                Ok(None) | Err(DriveError::Format(_) | DriveError::Ended { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            std::thread::yield_now(); // whoever writes is a few instructions away from its end
        }
        let before = look_at(store)?;
        match read() {
            Ok(Some(seen)) => return Ok(seen),
            Err(DriveError::Format(_) | DriveError::Ended { .. }) if look_at(store)? != before => {}
            Ok(None) => {}
            Err(error) => return Err(error.into()),
        }
        let busy = "was changed whenever it was looked at";
        Err(io::Error::new(io::ErrorKind::ResourceBusy, busy).into())
    }

    /// Whether the header that was read is from one state of the file. A commit record proves it,
    /// except if commits take one sync: then a shadow may hold a later record, which is overwritten
    /// two commits later. By then the header has changed as well, which a second read of it shows.
    fn is_whole(&self, store: &Bulk, head: &Head) -> Result<bool, ReadError<Bulk>> {
        if head.state.record().is_some() {
            if self.checked {
                check_head(store, head)?;
            }
            if !matches!(head.state, State::Committed(record) if record.one_sync) {
                return Ok(true);
            }
        }
        let mut again = raw::Header::new_zeroed();
        let read = store.read_at(0, again.as_mut_bytes()).map_err(DriveError::Store)?;
        Ok(read == Header::LEN && again.image() == head.image)
    }
}

/// The length of a file, and the bytes of its header: each commit changes one of them.
fn look_at(store: &Bulk) -> Result<(u64, [u8; Header::LEN]), ErrorKind> {
    let mut header = [0; Header::LEN];
    let len = store.size()?;
    store.read_at(0, &mut header)?;
    Ok((len, header))
}

/// A GSD file, open for reading. Many threads may call all methods at once.
///
/// It shows the file as it was when it was opened or [refreshed](Self::refresh), while others write
/// to it. A clone shares the descriptor and is refreshed on its own.
///
/// Index and data stay in the file: opening takes a few reads, whatever the file's length. The
/// names are loaded when a name is needed for the first time, and kept in memory.
#[derive(Debug, Clone)]
pub struct File {
    path: Arc<Path>,
    reader: Reader<Bulk>,
    names: OnceLock<Arc<NameList>>,
    options: OpenOptions,
    look: FileToken,
    sums: Cache,
}

impl File {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`core_gsd::Error`] if it is no GSD file or is damaged; an error of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// Reads the header again, since a writer may have committed more, and returns whether the file
    /// has changed. A longer file counts as changed too: a writer writes data before the commit.
    ///
    /// # Errors
    /// As [`open`](Self::open). Then the old state stays.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let old = *self.reader.head();
        let options = self.options;
        let looked = options.look(self.reader.store(), || {
            let mut reader = self.reader.clone();
            let is_new = reader.refresh(&mut [0; OPEN])?;
            let is_whole = options.is_whole(reader.store(), reader.head())?;
            Ok(is_whole.then_some((reader, is_new)))
        });
        let (reader, is_new) = looked.map_err(|error| self.error(error))?;
        if is_new && !has_same_names(&old, reader.head()) {
            self.names = OnceLock::new();
        }
        (self.reader, self.look) = (reader, FileToken::new());
        Ok(is_new)
    }

    /// The path that the file was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The head of the file: everything known about it that does not grow with the file.
    #[must_use]
    pub const fn head(&self) -> &Head {
        self.reader.head()
    }

    /// The header: versions, application, schema, and the places of the blocks.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.head().header
    }

    /// Whether there is a commit record, and whether it is valid.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.head().state
    }

    /// Number of frames, including frames without chunks.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.reader.frames()
    }

    /// All names, read at the first call.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn names(&self) -> Result<&NameList, Error> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = NameList::read(&self.reader).map_err(|error| self.error(error))?;
        Ok(self.names.get_or_init(|| Arc::new(names)))
    }

    /// Checks that the name list has as many names as the commit record says. If it does not, names
    /// may have the ids of other names.
    ///
    /// # Errors
    /// [`core_gsd::Error::TooLarge`] if the two numbers differ; as [`names`](Self::names).
    pub fn check_names(&self) -> Result<(), Error> {
        let (have, count) = (usize_to_u64(self.names()?.len()), self.head().names.into());
        if have == count {
            return Ok(());
        }
        let field = raw::Commit::names;
        let offset = raw::Commit::OFFSET.saturating_add(field.offset().into());
        Err(self.error(core_gsd::Error::TooLarge { field, offset, value: count, max: have }))
    }

    /// The name of a chunk of this file.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoName`] if the chunk is from another file; as [`names`](Self::names).
    pub fn name(&self, chunk: &Chunk) -> Result<Name<'_>, Error> {
        let (id, names) = (chunk.id, self.names()?);
        let none = || core_gsd::Error::NoName { id, names: self.head().names };
        names.get(id).ok_or_else(|| self.error(none()))
    }

    /// Ids and names of all names that start with `prefix`, in the order of their ids.
    ///
    /// # Errors
    /// As [`names`](Self::names).
    pub fn names_with_prefix<'a>(
        &'a self,
        prefix: impl AsRef<[u8]> + 'a,
    ) -> Result<impl Iterator<Item = (u16, Name<'a>)> + 'a, Error> {
        Ok(self.names()?.with_prefix(prefix))
    }

    /// All chunks in the order of the index. The index is read during the iteration.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks { file: self, chunks: self.reader.chunks(self.window(LIST)).ordered() }
    }

    /// The chunks of a frame. There are none if the file does not have the frame.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn chunks_of(&self, frame: u64) -> Result<Chunks<'_>, Error> {
        self.chunks_of_frames(frame..frame.saturating_add(1))
    }

    /// The chunks of a range of frames.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn chunks_of_frames(&self, frames: Range<u64>) -> Result<Chunks<'_>, Error> {
        let len = if frames.end.saturating_sub(frames.start) > 1 { LIST } else { FRAME };
        let chunks = self.reader.chunks_of(frames, self.window(len));
        let chunks = chunks.map_err(|error| self.error(error))?.ordered();
        Ok(Chunks { file: self, chunks })
    }

    /// Checks that the file has all of these frames.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoFrame`] if it does not, or if the range is reversed.
    pub fn check_frames(&self, frames: &Range<u64>) -> Result<(), Error> {
        let last = frames.end.saturating_sub(1).max(frames.start);
        match frames.start <= frames.end && frames.end <= self.frames() {
            true => Ok(()),
            false => {
                let frames = self.frames();
                Err(self.error(core_gsd::Error::NoFrame { frame: last, frames }))
            }
        }
    }

    /// Memory for a part of the index.
    fn window(&self, len: usize) -> Vec<u8> {
        let all = self.head().index().span().map_or(0, Span::len);
        vec![0; usize::try_from(all).unwrap_or(usize::MAX).clamp(32, len)]
    }

    /// The span of some rows of a chunk.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoRows`] if the chunk does not have all of the rows.
    pub fn rows(&self, chunk: &Chunk, rows: Range<u64>) -> Result<Span, Error> {
        let rows = chunk.rows(rows);
        rows.map_err(|error| self.error(self.in_chunk(chunk.frame, chunk.id, error)))
    }

    /// Refuses to copy this number of bytes out of the file, if most of them are holes, or are
    /// shared by chunks, and `output` does not allow so many.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge); an error of the operating system.
    pub fn admit(&self, output: &Output, size: u64) -> Result<(), Error> {
        let because = format_args!("N and M in its index make chunks of {size} bytes");
        output.admit_copy(&self.path, self.store().file(), size, because)
    }

    /// Reads the start of a span of the file, as many bytes as fit in `buf`, and returns their
    /// number. For a part of a chunk, use the span of [`rows`](Self::rows), or [`Span::part`] of
    /// the chunk's span.
    ///
    /// # Errors
    /// [`ErrorKind::Ended`] if the file has become shorter; an error of the operating system.
    pub fn read_span(&self, span: Span, buf: &mut [u8]) -> Result<usize, Error> {
        let bulk = self.store();
        if !bulk.is_direct() || span.len() < SHORT {
            return self.reader.read(span, buf).map_err(|error| self.error(error));
        }
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX).min(buf.len());
        let read = bulk.read_into(span.offset(), buf.get_mut(..len).unwrap_or_default());
        read.map_err(|error: ReadError<Bulk>| self.error(error))?;
        Ok(len)
    }

    /// Calls `each` with all bytes of a span of the file, piece by piece, until it returns `false`.
    /// Pieces have any length. [Direct](OpenOptions::direct) reading reads ahead.
    ///
    /// # Errors
    /// As [`read_span`](Self::read_span).
    pub fn read_pieces(
        &self,
        span: Span,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let read = self.store().read_pieces([span], &mut Vec::new(), each);
        read.map_err(|error: ReadError<Bulk>| self.error(error))
    }

    /// The file that chunks are read from [directly](OpenOptions::direct), to ask how they are
    /// read; `None` if they are not.
    #[must_use]
    pub fn direct(&self) -> Option<&DirectFile> {
        self.store().direct().ok().flatten()
    }

    /// The options for reading chunks past the page cache; `None` if they are read through it.
    pub(super) const fn direct_options(&self) -> Option<direct::OpenOptions> {
        self.options.direct
    }

    /// Whether chunks are compared with their checksums when they are read.
    pub(super) const fn is_checked(&self) -> bool {
        self.options.checked
    }

    pub(super) const fn sums(&self) -> &Cache {
        &self.sums
    }

    pub(super) const fn look(&self) -> FileToken {
        self.look
    }

    pub(super) fn store(&self) -> &Bulk {
        self.reader.store()
    }

    /// An error of this file.
    pub(super) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }

    /// Adds the frame and the name of the chunk to an error.
    pub(super) fn in_chunk(&self, frame: u64, id: u16, error: core_gsd::Error) -> super::ErrorKind {
        super::ErrorKind::Chunk { frame, name: self.name_of(id), error }
    }

    /// A chunk's name for an error, or a number if the name is unknown.
    pub(super) fn name_of(&self, id: u16) -> Box<[u8]> {
        striae_hoomd::source::name_of(self, id)
    }
}

/// Whether the names are certainly equal in two heads.
fn has_same_names(old: &Head, new: &Head) -> bool {
    let seen = |head: &Head| {
        let record = head.state.record()?;
        Some((head.header.version, record.names, record.names_len, record.names_crc))
    };
    seen(old).is_some_and(|old| seen(new) == Some(old))
}

/// Some chunks of a file in the order of its index.
///
/// A damaged entry is an error in its place, and so is one that is out of order
/// ([`ordered`](core_gsd::Chunks::ordered)); the entries after it follow. After an error of the
/// operating system, the iteration ends.
#[derive(Debug)]
pub struct Chunks<'a> {
    file: &'a File,
    chunks: core_gsd::Chunks<'a, Bulk, Vec<u8>>,
}

impl Chunks<'_> {
    /// Slot of the next chunk's entry in the index, if there is a next chunk.
    #[must_use]
    pub const fn slot(&self) -> u64 {
        self.chunks.slot()
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.chunks.next()?;
        Some(chunk.map_err(|error| self.file.error(error)))
    }
}
