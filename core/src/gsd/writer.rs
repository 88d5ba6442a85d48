//! A GSD file, for people who just want to write.
//!
//! Nothing allocates: what waits for the end of a frame is in memory that the caller lends, a slot of
//! 40 bytes a chunk. Bytes of chunks go to the store at once.

mod adopt;
mod begin;
mod buffer;
mod commit;
mod discard;
mod index;
mod names;
mod sums;
mod tail;
mod truncate;
mod upgrade;

pub use buffer::Slot;

use super::checksums;
use super::chunk::Chunk;
use super::create::Attributes;
use super::error::Error;
use super::header::Version;
use super::kind::ChunkType;
use super::layout::{MAX_FRAME, MAX_PADDING, chunk_len, row_len};
use super::open::Open;
use super::raw::IndexEntry;
use super::stream::ChunkWriter;
use crate::integrity::{Checksum, crc32c};
use crate::span::{Span, round_up};
use crate::step::DriveError;
use crate::store::{WriteAt, usize_to_u64};
use buffer::Buffer;
use core::num::NonZeroU64;
pub(in crate::gsd) use sums::Sums;
use tail::{MAX_LEN, Stands, Tail};
use zerocopy::IntoBytes;

/// Why writing to a store `S` failed.
pub type WriteError<S> = super::ReadError<S>;

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
    buffer: Buffer<B>,
    tail: Tail,
    checksum: Checksum,
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
        mut store: S,
        attributes: &Attributes<'_>,
        memory: B,
        checksum: Checksum,
    ) -> Result<Self, WriteError<S>> {
        let buffer = Buffer::new(memory, attributes.checksums).map_err(DriveError::Format)?;
        begin::make(&mut store, attributes, checksum)?;
        let mut window = [0; Open::WINDOW];
        let mut writer = Self::open_with(store, buffer.into_memory(), checksum, &mut window)?;
        writer.tail.stands = Stands::Durable;
        Ok(writer)
    }

    /// Opens the file in `store` to append to it. Leftovers of a commit that was cut off are cleared
    /// first; the committed frames, and the frames of files that gsd wrote, are kept as they are.
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
        let tail = begin::read_tail(&store, checksum, window, None)?;
        Self::begin(store, memory, checksum, &tail)
    }

    /// Begins to write to a file of which `tail` is known.
    #[inline(never)]
    fn begin(store: S, memory: B, checksum: Checksum, tail: &Tail) -> Result<Self, WriteError<S>> {
        let buffer = Buffer::new(memory, tail.checksums).map_err(DriveError::Format)?;
        let mut writer = Self { store, buffer, tail: *tail, checksum };
        if writer.tail.is_adopted {
            writer.settle()?;
        }
        if writer.tail.checksums {
            writer.find_name(checksums::NAME)?; // so that no other chunk takes it
        }
        Ok(writer)
    }

    /// Whether the present frame has no chunks.
    pub(super) const fn is_frame_empty(&self) -> bool {
        self.buffer.open_len() == 0
    }

    /// Frames that are ended, with those that are not committed.
    pub const fn frames(&self) -> u64 {
        self.tail.frame
    }

    /// Names that the file has, with those that are not committed.
    pub const fn names(&self) -> u32 {
        self.tail.names_count
    }

    /// Whether the commits that follow take one sync where that is possible, and not two; see
    /// [`Attributes::one_sync`]. The first one of them takes two, and says so to readers.
    pub const fn set_one_sync(&mut self, one_sync: bool) {
        if self.tail.one_sync != one_sync {
            (self.tail.one_sync, self.tail.sums) = (one_sync, Sums::NONE);
        }
    }

    /// Layer of the file.
    pub const fn version(&self) -> Version {
        self.tail.version
    }

    /// The byte behind all that was written.
    pub const fn data_end(&self) -> u64 {
        self.tail.data_end
    }

    /// The store; what is not committed has no meaning to anybody else.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The store, given back without a commit.
    pub fn into_store(self) -> S {
        self.store
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
        let n = self.count_rows(kind, m, usize_to_u64(bytes.len())).map_err(DriveError::Format)?;
        self.check_chunk(id, kind)?;
        let chunk = self.place(id, kind, n, m).map_err(DriveError::Format)?;
        self.store.write_all_at(chunk.span.offset(), bytes).map_err(DriveError::Store)?;
        let crc = if self.tail.checksums { (self.checksum)(0, bytes) } else { 0 };
        self.tail.sums.add_chunk(chunk.span.offset(), bytes, self.checksum);
        self.add(chunk, crc);
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
        self.count_rows(kind, m, 0).map_err(DriveError::Format)?;
        self.check_chunk(id, kind)?;
        let chunk = self.place(id, kind, 1, m).map_err(DriveError::Format)?;
        Ok(ChunkWriter::new(self, chunk))
    }

    /// Ends the present frame, also one without chunks, and returns its number.
    ///
    /// It is in the file with the next commit. A frame without chunks is only seen if one with
    /// chunks follows.
    ///
    /// # Errors
    /// The store's own; the frame has not ended then.
    pub fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        if self.buffer.is_half_full() {
            self.spill()?; // nobody looks where the entries go; if it fails, they stay here
        }
        if self.tail.checksums && self.buffer.open_len() > 0 {
            self.write_checksums()?;
        }
        self.buffer.end_frame();
        let frame = self.tail.frame;
        self.tail.frame = frame.saturating_add(1);
        Ok(frame)
    }

    /// Commits, and cuts off what stands behind the end of the file, if the store is longer.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); the store's own. [`Error::OpenFrame`] if chunks wait for the end
    /// of their frame: end it, or leave it by [`into_store`](Self::into_store).
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        if self.buffer.open_len() > 0 {
            return Err(DriveError::Format(Error::OpenFrame { frame: self.tail.frame }));
        }
        self.commit()?;
        // A chunk that failed or was given up may have left more than was ever in use.
        let store_len = self.store.size().map_err(DriveError::Store)?;
        let is_longer = self.tail.is_adopted && store_len > self.tail.data_end;
        if is_longer || self.tail.stands == Stands::Written {
            self.make_durable()?; // an older header may speak of what is cut off
        }
        if is_longer {
            self.store.set_size(self.tail.data_end).map_err(DriveError::Store)?;
            self.tail.store_len = self.tail.data_end;
            self.store.sync().map_err(DriveError::Store)?;
        }
        Ok(())
    }

    /// Rows of `len` bytes.
    #[inline]
    fn count_rows(&self, kind: ChunkType, m: u32, len: u64) -> Result<u64, Error> {
        let want = NonZeroU64::new(row_len(m, kind)).ok_or(Error::NoColumns)?;
        let n = len / want; // one division: it takes as long as the rest of a short chunk
        match n.saturating_mul(want.get()) == len {
            true => Ok(n),
            false => Err(Error::Rows { len, want: want.get() }),
        }
    }

    /// Refuses a chunk that the present frame cannot have.
    #[inline]
    fn check_chunk(&mut self, id: u16, kind: ChunkType) -> Result<(), WriteError<S>> {
        self.adopt()?;
        let tail = &self.tail;
        let error = if u32::from(id) >= tail.names_count {
            Error::NoName { id, names: tail.names_count }
        } else if kind == ChunkType::Character && tail.version < Version::LAYER {
            Error::Layer { gsd_version: tail.version.number(), kind: Some(kind) }
        } else if self.buffer.position(id).is_err() || tail.checksums_id == Some(id) {
            Error::Duplicate { id, frame: tail.frame }
        } else if let Err(error) = self.check_frame() {
            error
        } else if !self.buffer.has_room() && !self.make_room()? {
            let chunks = usize_to_u64(self.buffer.open_len());
            Error::FrameFull { frame: self.tail.frame, chunks }
        } else {
            return Ok(());
        };
        Err(DriveError::Format(error))
    }

    /// Refuses a frame that the index would have to be padded too much for, or that has no number.
    fn check_frame(&self) -> Result<(), Error> {
        let entries = self.tail.entries.saturating_add(self.buffer.ended_len());
        let max = entries.saturating_add(MAX_PADDING).min(MAX_FRAME);
        match self.tail.frame <= max {
            true => Ok(()),
            false => {
                let (field, value) = (IndexEntry::frame, self.tail.frame);
                Err(Error::OutOfRange { field, value, min: 0, max })
            }
        }
    }

    /// Makes room for the present frame by putting ended ones where they belong.
    #[cold]
    fn make_room(&mut self) -> Result<bool, WriteError<S>> {
        self.spill()?;
        Ok(self.buffer.has_room())
    }

    /// A chunk at the end of the file.
    #[inline]
    fn place(&self, id: u16, kind: ChunkType, n: u64, m: u32) -> Result<Chunk, Error> {
        let tail = &self.tail;
        let full = |len| Error::FileFull { data_end: tail.data_end, len };
        let len = chunk_len(n, m, kind).ok_or(full(u64::MAX))?;
        let start = match (len, tail.align) {
            (0, _) | (_, 0) => Some(tail.data_end),
            _ => round_up(tail.data_end, tail.align()),
        };
        let span = start.and_then(|start| Span::new(start, len));
        let span = span.filter(|span| span.end() <= MAX_LEN).ok_or(full(len))?;
        Ok(Chunk { frame: tail.frame, id, kind, n, m, span })
    }

    /// Adds a chunk whose bytes, of checksum `crc`, are in the store.
    #[inline]
    fn add(&mut self, chunk: Chunk, crc: u32) {
        let sealed = |crc| chunk.to_raw().sealed_crc(crc, self.checksum);
        let crc = if self.tail.checksums { sealed(crc) } else { 0 };
        self.buffer.insert(chunk, crc);
        self.tail.data_end = chunk.span.end();
        self.tail.store_len = self.tail.store_len.max(chunk.span.end());
    }

    /// Adds the chunk of checksums to the present frame.
    fn write_checksums(&mut self) -> Result<(), WriteError<S>> {
        let id = match self.tail.checksums_id {
            Some(id) => id,
            None => self.name(checksums::NAME)?,
        };
        if self.buffer.position(id).is_err() {
            let frame = self.tail.frame;
            return Err(DriveError::Format(Error::Duplicate { id, frame }));
        }
        // There is room: it was kept for this.
        let rows = usize_to_u64(self.buffer.open_len()).saturating_add(1);
        let chunk = self.place(id, ChunkType::U32, rows, 2).map_err(DriveError::Format)?;
        let entry = chunk.to_raw();
        let rows = self.buffer.rows();
        let crc = entry.sealed_crc((self.checksum)(0, rows), self.checksum);
        let own = super::raw::ChecksumRow { id: u32::from(id).into(), crc: crc.into() };
        let offset = chunk.span.offset();
        self.store.write_all_at(offset, rows).map_err(DriveError::Store)?;
        let mut sums = self.tail.sums;
        sums.add_chunk(offset, rows, self.checksum);
        let offset = offset.saturating_add(usize_to_u64(rows.len()));
        self.store.write_all_at(offset, own.as_bytes()).map_err(DriveError::Store)?;
        sums.add_chunk(offset, own.as_bytes(), self.checksum);
        self.tail.sums = sums;
        self.buffer.insert(chunk, crc);
        self.tail.data_end = chunk.span.end();
        self.tail.store_len = self.tail.store_len.max(chunk.span.end());
        Ok(())
    }
}

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Writes bytes of a chunk that is being streamed.
    pub(super) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteError<S>> {
        self.put_at(offset, usize_to_u64(bytes.len()), |store| store.write_all_at(offset, bytes))
    }

    /// Lets `put` write `len` bytes of such a chunk.
    pub(super) fn put_at<T>(
        &mut self,
        offset: u64,
        len: u64,
        put: impl FnOnce(&mut S) -> Result<T, S::Error>,
    ) -> Result<T, WriteError<S>> {
        if offset.checked_add(len).is_none_or(|end| end > MAX_LEN) {
            let data_end = self.tail.data_end;
            return Err(DriveError::Format(Error::FileFull { data_end, len }));
        }
        put(&mut self.store).map_err(DriveError::Store)
    }

    pub(super) const fn has_checksums(&self) -> bool {
        self.tail.checksums
    }

    pub(super) const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Checksums of what the next commit adds.
    pub(super) const fn sums(&self) -> Sums {
        self.tail.sums
    }

    /// Ends a chunk that was streamed: `len` bytes of checksum `crc`.
    pub(super) fn finish_chunk(
        &mut self,
        chunk: Chunk,
        len: u64,
        crc: u32,
        sums: Sums,
    ) -> Result<Chunk, WriteError<S>> {
        let n = self.count_rows(chunk.kind, chunk.m, len).map_err(DriveError::Format)?;
        let start = if len == 0 { self.tail.data_end } else { chunk.span.offset() };
        let full = Error::FileFull { data_end: self.tail.data_end, len };
        let span = Span::new(start, len).ok_or(DriveError::Format(full))?;
        let chunk = Chunk { n, span, ..chunk };
        self.tail.sums = sums;
        self.add(chunk, crc);
        Ok(chunk)
    }
}
