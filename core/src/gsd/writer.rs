//! A GSD file, for people who just want to write.
//!
//! Nothing allocates: what waits for the end of a frame is in memory that the caller lends, a slot
//! of 40 bytes a chunk. Bytes of chunks go to the store at once.

#[cfg(feature = "async")]
mod asynch;

use super::book::{self, Before, Book, Start};
use super::checksums;
use super::chunk::Chunk;
use super::create::Attributes;
use super::error::Error;
use super::header::Version;
use super::kind::ChunkType;
use super::open::Open;
use super::stream::ChunkWriter;
use crate::integrity::{Checksum, crc32c};
use crate::step::{DriveError, drive, drive_read};
use crate::store::{ReadAt, WriteAt, usize_to_u64};

pub use super::book::Slot;

/// Why writing to a store `S` failed.
pub type WriteError<S> = DriveError<<S as ReadAt>::Error, Error>;

/// Writes a GSD file: chunks, frames, commits.
///
/// [`commit`](Self::commit) makes all ended frames durable and visible, to everybody and in one
/// step: before it and whatever happens in it, the file is as the last commit left it. What is
/// written to the store in between is where nobody looks. Dropped without a commit, what came since
/// the last one is not in the file.
///
/// An error of the store costs nothing: what failed is not in the file, what was there before it
/// still is, and the call can be made again. To write a whole frame again that has not ended, call
/// [`discard_frame`](Self::discard_frame) first: otherwise its chunks that did not fail are there
/// already. After a failed commit the frames are still there for the next one, and must not be
/// written again.
///
/// There must be one writer at a time. Readers of any kind may look while it writes.
///
/// ```
/// use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Writer};
/// # use striae_core::store::{FixedSize, ReadAt, WriteAt};
/// # #[derive(Default)]
/// # struct Card(Vec<u8>);
/// # impl ReadAt for Card {
/// #     type Error = FixedSize;
/// #     fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
/// #         self.0.as_slice().read_at(offset, buf)
/// #     }
/// #     fn size(&self) -> Result<u64, FixedSize> { self.0.as_slice().size() }
/// # }
/// # impl WriteAt for Card {
/// #     fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
/// #         let end = offset as usize + bytes.len();
/// #         self.0.resize(self.0.len().max(end), 0);
/// #         self.0[offset as usize..end].copy_from_slice(bytes);
/// #         Ok(())
/// #     }
/// #     fn set_size(&mut self, n: u64) -> Result<(), FixedSize> { Ok(self.0.resize(n as usize, 0)) }
/// #     fn sync(&mut self) -> Result<(), FixedSize> { Ok(()) }
/// # }
/// # let card = Card::default();
/// let about = Attributes { application: "logger 1.0", schema: "probe", ..Attributes::default() };
/// let mut file = Writer::create(card, &about, [Slot::EMPTY; 8])?;
/// let position = file.name(b"position")?;
/// let points = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let bytes: Vec<u8> = points.iter().flat_map(|x| x.to_le_bytes()).collect();
/// file.write_chunk(position, ChunkType::F32, 3, &bytes)?; // 2 rows of 3
/// file.end_frame()?;
/// file.commit()?; // from here on, whatever happens, the frame can be read
///
/// let mut window = [0; 4096];
/// let file = Reader::open(file.into_store(), &mut window)?;
/// let chunk = file.find(0, position, &mut window)?.expect("it was committed");
/// assert_eq!((chunk.n, chunk.m), (2, 3));
/// # Ok::<(), striae_core::step::DriveError<FixedSize, striae_core::gsd::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<S, B> {
    store: S,
    book: Book<B>,
}

impl<S, B> Writer<S, B> {
    /// Writes to no file yet: [`start`](Self::start) is next.
    #[inline]
    pub(super) fn unopened(store: S, memory: B, checksum: Checksum) -> Self {
        Self { store, book: Book::unopened(memory, checksum) }
    }

    /// Whether the present frame has no chunks.
    pub(super) const fn is_frame_empty(&self) -> bool {
        self.book.is_frame_empty()
    }

    /// Frames that are ended, with those that are not committed.
    pub const fn frames(&self) -> u64 {
        self.book.frames()
    }

    /// Names that the file has, with those that are not committed.
    pub const fn names(&self) -> u32 {
        self.book.names()
    }

    /// Whether the commits that follow take one sync where that is possible, and not two; see
    /// [`Attributes::one_sync`]. The first one of them takes two, and says so to readers.
    pub const fn set_one_sync(&mut self, one_sync: bool) {
        self.book.set_one_sync(one_sync);
    }

    /// Whether names go to the list that the header shows while it has room, and not to another.
    /// Only for a file that nobody reads before it is closed, nor if it never is: names would be
    /// seen that are not committed.
    pub const fn set_names_in_place(&mut self, in_place: bool) {
        self.book.set_names_in_place(in_place);
    }

    /// Layer of the file.
    pub const fn version(&self) -> Version {
        self.book.version()
    }

    /// The byte behind all that was written.
    pub const fn data_end(&self) -> u64 {
        self.book.data_end()
    }

    /// Whether all chunks and names that were written are committed.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        self.book.is_committed()
    }

    /// The store; what is not committed has no meaning to anybody else.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The store, given back without a commit.
    pub fn into_store(self) -> S {
        self.store
    }
}

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Makes an empty file in `store` and writes to it. What was in the store is lost.
    ///
    /// `memory` has a slot for each chunk of the largest frame, and one more with checksums.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Layer`], [`Error::Memory`]; the store's own.
    pub fn create(store: S, attributes: &Attributes<'_>, memory: B) -> Result<Self, WriteError<S>> {
        Self::create_with(store, attributes, memory, crc32c)
    }

    /// As [`create`](Self::create), with a faster CRC-32C than core's.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_with(
        store: S,
        attributes: &Attributes<'_>,
        memory: B,
        checksum: Checksum,
    ) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, checksum);
        writer.start(Start::Create(attributes), &mut [0; Open::WINDOW])?;
        Ok(writer)
    }

    /// Opens the file in `store` to append to it. Leftovers of a commit that was cut off are
    /// cleared first; the committed frames, and the frames of files that gsd wrote, are kept as
    /// they are.
    ///
    /// # Errors
    /// As [`Reader::open`](super::Reader::open); [`Error::Memory`].
    pub fn open(store: S, memory: B) -> Result<Self, WriteError<S>> {
        Self::open_with(store, memory, crc32c, &mut [0; Open::WINDOW])
    }

    /// As [`open`](Self::open), with a faster CRC-32C than core's and a window of at least
    /// [`Open::WINDOW`] bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        store: S,
        memory: B,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, checksum);
        writer.start(Start::Open, window)?;
        Ok(writer)
    }

    /// Finds the file, or makes it.
    #[inline(never)]
    pub(super) fn start(
        &mut self,
        start: Start<'_>,
        window: &mut [u8],
    ) -> Result<(), WriteError<S>> {
        self.begin(start, window)?;
        self.book.open_memory().map_err(DriveError::Format)?;
        self.settle()
    }

    /// A function of its own: what it needs of the stack is free again before anything else needs
    /// it.
    #[inline(never)]
    fn begin(&mut self, start: Start<'_>, window: &mut [u8]) -> Result<(), WriteError<S>> {
        let store_len = self.store.size().map_err(DriveError::Store)?;
        let mut begin = self.book.start(start, store_len);
        run(&mut begin, &mut self.store, window)
    }

    #[inline(never)]
    fn settle(&mut self) -> Result<(), WriteError<S>> {
        self.book.begin().run(&mut self.store)?;
        if self.book.has_checksums() {
            self.find_name(checksums::NAME)?; // so that no other chunk takes it
        }
        Ok(())
    }

    /// The id of a name, which is added to the file if it is new. It is committed with the next
    /// commit.
    ///
    /// Reads the name list: ask once a name and keep the id.
    ///
    /// # Errors
    /// [`Error::BadName`]; [`Error::NamesFull`]; [`Error::FileFull`]; the store's own.
    pub fn name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        match self.find_name(name)? {
            Some(id) => Ok(id),
            None => self.add_name(name),
        }
    }

    /// The id of a name that the file has already.
    ///
    /// # Errors
    /// The store's own.
    pub fn find_name(&mut self, name: &[u8]) -> Result<Option<u16>, WriteError<S>> {
        let mut find = self.book.find_name(name);
        let id = drive_read(&mut find, &self.store, &mut [0; 64])?;
        Ok(self.book.found_name(name, id))
    }

    /// Adds a name that the file does not have; the caller has looked. For callers with a table of
    /// names of their own.
    ///
    /// # Errors
    /// As [`name`](Self::name).
    #[inline(never)]
    pub fn add_name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        let id = self.book.next_id();
        self.book.add_name(name).run(&mut self.store)?;
        Ok(id)
    }

    /// Adds a chunk to the present frame: rows of `m` values in row-major order, little-endian.
    ///
    /// # Errors
    /// [`Error::NoColumns`]; [`Error::Rows`] if the bytes are not whole rows; [`Error::NoName`];
    /// [`Error::Duplicate`]; [`Error::Layer`]; [`Error::FrameFull`]; [`Error::FileFull`]; the
    /// store's own.
    #[inline]
    pub fn write_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<Chunk, WriteError<S>> {
        let n = book::count_rows(kind, m, usize_to_u64(bytes.len())).map_err(DriveError::Format)?;
        let chunk = self.place(id, kind, n, m)?;
        self.store.write_all_at(chunk.span.offset(), bytes).map_err(DriveError::Store)?;
        self.book.add_bytes(chunk, bytes);
        Ok(chunk)
    }

    /// Begins a chunk whose number of rows is not known; until it is finished, nothing else can be
    /// written, and if it is dropped, there is no chunk.
    ///
    /// # Errors
    /// As [`write_chunk`](Self::write_chunk).
    pub fn begin_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, B>, WriteError<S>> {
        book::count_rows(kind, m, 0).map_err(DriveError::Format)?;
        let chunk = self.place(id, kind, 1, m)?;
        Ok(ChunkWriter::new(&mut self.store, &mut self.book, chunk))
    }

    /// The place of the next chunk.
    #[inline]
    fn place(&mut self, id: u16, kind: ChunkType, n: u64, m: u32) -> Result<Chunk, WriteError<S>> {
        match self.book.place_at_once(id, kind, n, m) {
            Some(placed) => placed.map_err(DriveError::Format),
            None => self.place_when_ready(id, kind, n, m),
        }
    }

    #[cold]
    #[inline(never)]
    fn place_when_ready(
        &mut self,
        id: u16,
        kind: ChunkType,
        n: u64,
        m: u32,
    ) -> Result<Chunk, WriteError<S>> {
        self.book.make_ready().run(&mut self.store)?;
        self.book.next_place(id, kind, n, m).map_err(DriveError::Format)
    }

    /// Ends the present frame, also one without chunks, and returns its number.
    ///
    /// It is in the file with the next commit. A frame without chunks is only seen if one with
    /// chunks follows.
    ///
    /// # Errors
    /// The store's own; the frame has not ended then.
    pub fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        let frame = self.book.frames();
        if !self.book.has_ended_frame() {
            self.book.end_frame().run(&mut self.store)?;
        }
        Ok(frame)
    }

    /// Gives up the chunks of the present frame: the writer is as after the last
    /// [`end_frame`](Self::end_frame) that succeeded.
    ///
    /// Frames that have ended stay, committed or not, and so do names that were added. What comes
    /// is written over the bytes of the chunks, unless a commit has made their place part of the
    /// file. Nothing is done to the store, so this cannot fail.
    pub fn discard_frame(&mut self) {
        self.discard_frame_with(|_, _| ());
    }

    /// As [`discard_frame`](Self::discard_frame); `forget` is told the offset from which on nothing
    /// in the store is needed any more. A store that keeps what it could not write may drop that,
    /// and its size may become less.
    pub fn discard_frame_with(&mut self, forget: impl FnOnce(&mut S, u64)) {
        self.book.discard_frame();
        forget(&mut self.store, self.book.data_end());
        if let Ok(len) = self.store.size() {
            self.book.set_store_len(len);
        }
    }

    /// Makes all ended frames durable and visible. Costs two syncs, or one
    /// ([`Attributes::one_sync`]), and none if there is nothing new, but the first one syncs what
    /// was found in any case.
    ///
    /// The present frame goes on. Nothing is visible before all of it is.
    ///
    /// # Errors
    /// The store's own: the file is as the last commit left it, or as this one would, and says
    /// which; the next commit tries again. [`Error::FileFull`].
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.book.commit().run(&mut self.store)
    }

    /// Commits, and cuts off what stands behind the end of the file, if the store is longer.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); the store's own. [`Error::OpenFrame`] if chunks wait for the
    /// end of their frame: end it, or leave it by [`into_store`](Self::into_store).
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        self.book.check_no_open_frame().map_err(DriveError::Format)?;
        self.commit()?;
        let store_len = self.store.size().map_err(DriveError::Store)?;
        self.book.cut(store_len).run(&mut self.store)
    }

    /// Makes a file of an older layer one of layer 2.1; commits first.
    ///
    /// Old index and names stay where they are until the new ones are whole, so the file can be
    /// read at any time. Of chunks of a frame that have the same name the last one is kept, which
    /// is the one that readers of layer 1 find.
    ///
    /// # Errors
    /// [`Error::OpenFrame`]; [`Error::FrameFull`] if a frame has more chunks than there is memory
    /// for; [`Error::BadName`] if the file has an empty name; [`Error::FileFull`]; the store's own.
    /// The file is of layer 1 then, and nothing is lost.
    pub fn upgrade(&mut self) -> Result<(), WriteError<S>> {
        let mut before = Before::NONE;
        self.book.upgrade(&mut before).run(&mut self.store)
    }

    /// Removes all frames and names, and gives back their room. What waits for a commit is gone,
    /// too.
    ///
    /// Whatever happens, the file has all that it had, or nothing.
    ///
    /// # Errors
    /// [`Error::FileFull`]; the store's own, also if it cannot be cut: the file is empty then, and
    /// as long as before.
    pub fn truncate(&mut self) -> Result<(), WriteError<S>> {
        let mut before = Before::NONE;
        self.book.truncate(&mut before).run(&mut self.store)
    }
}

#[inline(never)]
fn run<S: WriteAt>(
    begin: &mut book::Begin<'_>,
    store: &mut S,
    window: &mut [u8],
) -> Result<(), WriteError<S>> {
    drive(begin, store, window)?.map_err(DriveError::Format)
}
