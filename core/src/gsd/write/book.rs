//! A writer's state of a GSD file: the places of new bytes, and what is committed.
//!
//! A [`Book`] is a value without a store. It gives places to chunks ([`Book::place`]), adds chunks
//! whose bytes are in the store ([`Book::add`]), and works in a store that it is lent: it ends
//! frames, adds names, commits. [`Writer`](crate::gsd::Writer) is a store, memory and a `Book`. A
//! program whose threads or ranks write one chunk together uses the `Book` itself.

mod adopt;
mod again;
mod begin;
mod commit;
mod desk;
mod facts;
mod frame;
mod index;
mod names;
mod sums;
mod tail;
mod truncate;
mod upgrade;
mod waiting;

pub use waiting::Slot;

use super::medium::Medium;
use crate::exact::Exact;
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::disk::header::Version;
use crate::gsd::disk::names::FindName;
use crate::gsd::error::Error;
#[twin(WriteError = AsyncError)]
use crate::gsd::error::WriteError;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::{MAX_FRAME, MAX_PADDING, row_len};
use crate::gsd::raw::IndexEntry;
use crate::gsd::verdict::Head;
use crate::integrity::Checksum;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
pub(in crate::gsd) use begin::Start;
use core::num::NonZeroU64;
use desk::{Desk, Kept};
use striae_twin::twin;
pub(in crate::gsd) use sums::Sums;
use tail::{Found, Tail};
use waiting::{Counts, Waiting};
use zerocopy::IntoBytes;

/// Of a memory that no frame can fill, this much of its end is for copies: an index of millions of
/// entries is copied in pieces of this length.
const WINDOW: usize = 1 << 16;

/// The memory for a chunk of each name, of which there are less than 2^16, and for their checksums.
const FULL: usize = size_of::<Slot>() << 16;

/// A writer's state of a file. See the [module](self).
///
/// Its memory needs a slot for each chunk of the largest frame, and one more with checksums.
///
/// The order of calls is: [`make_ready`](Self::make_ready), unless it [is ready](Self::is_ready);
/// [`place`](Self::place); the caller writes the bytes to the place; [`add`](Self::add);
/// [`end_frame`](Self::end_frame); [`commit`](Self::commit). A call that failed, or whose future
/// was dropped, can be repeated; then it starts again.
///
/// ```
/// use striae_core::gsd::book::Book;
/// use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Writer};
/// use striae_core::integrity::crc32c;
/// use striae_core::store::WriteAt;
/// # use striae_core::store::{FixedSize, ReadAt};
/// # let mut card = vec![0; 16384];
/// # let mut store = card.as_mut_slice();
/// # let about = Attributes::default();
/// # let mut writer = Writer::create(store, &about, [Slot::EMPTY; 4])?;
/// # writer.name(b"position")?;
/// # writer.commit()?;
/// # let mut store = writer.into_store();
/// let head = *Reader::open(&*store, &mut [0; 256])?.head(); // a file with the name 0
/// let mut book = Book::new(&head, [Slot::EMPTY; 4], crc32c)?;
/// book.begin(&mut store)?;
/// book.make_ready(&mut store)?;
/// let chunk = book.place(0, ChunkType::F32, 4, 3)?; // for 4 rows of 3, whoever has them
/// for row in 0..4 {
///     store.write_all_at(chunk.rows(row..row + 1)?.offset(), &[row as u8; 12])?;
/// }
/// book.add(chunk, 0)?;
/// book.end_frame(&mut store)?;
/// book.commit(&mut store)?;
/// # assert_eq!(Reader::open(&*store, &mut [0; 256])?.frames(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Book<B> {
    tail: Tail,
    counts: Counts,
    memory: B,
    checksum: Checksum,
}

impl<B: AsMut<[Slot]>> Book<B> {
    /// Makes the book of the file that was opened as `head`. [`begin`](Self::begin) must come
    /// first.
    ///
    /// # Errors
    /// [`Error::Memory`] if `memory` is too small; [`Error::Outside`] and [`Error::Overlap`] if the
    /// blocks of the file are wrong, so that it cannot be written.
    pub fn new(head: &Head, memory: B, checksum: Checksum) -> Result<Self, Error> {
        let mut book = Self::unopened(memory, checksum);
        book.tail.set(&Found {
            image: &head.image,
            kind: head.state.kind(),
            is_torn: head.is_torn,
            counted: &head.counted(),
            ident_crc: head.header.ident_crc(checksum),
            file_len: head.file_len,
        })?;
        book.open_memory()?;
        Ok(book)
    }

    /// Sets the memory up for the file.
    pub(in crate::gsd) fn open_memory(&mut self) -> Result<(), Error> {
        self.counts = Counts::new(memory_len(self.memory.as_mut()), self.tail.checksums)?;
        Ok(())
    }

    /// Whether a chunk can be placed: the file has a durable commit record, and the memory has
    /// room.
    #[must_use]
    #[inline]
    pub const fn is_ready(&self) -> bool {
        self.tail.is_writable() && self.counts.has_room()
    }

    /// Reserves a place for a chunk of the current frame: `n` rows of `m` values. No other chunk
    /// gets it.
    ///
    /// A place whose chunk is not added stays a hole in the file, unless the frame is
    /// [discarded](Self::discard_frame).
    ///
    /// # Errors
    /// [`Error::NoName`] if no name has this id; [`Error::NoColumns`] if `m` is 0; [`Error::Layer`]
    /// for a type that the file layer does not have; [`Error::Duplicate`] if the frame has a chunk
    /// of this name; [`Error::FrameFull`] if the memory has no slot; [`Error::FileFull`] if the
    /// chunk has no place in the file; [`Error::NotReady`] if [`make_ready`](Self::make_ready) must
    /// come first.
    pub fn place(&mut self, id: u16, kind: ChunkType, n: u64, m: u32) -> Result<Chunk, Error> {
        let chunk = self.next_place(id, kind, n, m)?;
        self.give(&chunk);
        Ok(chunk)
    }

    /// Gives the [next place](Self::next_place) away.
    pub(in crate::gsd) fn give(&mut self, chunk: &Chunk) {
        if self.tail.placed_from.is_none() {
            self.tail.placed_from = NonZeroU64::new(self.tail.data_end);
        }
        self.tail.data_end = chunk.span.end();
        self.counts.place();
        self.tail.sums.lose(); // nobody sees the bytes
    }

    /// The place of the next chunk.
    #[inline]
    pub(in crate::gsd) fn next_place(
        &mut self,
        id: u16,
        kind: ChunkType,
        n: u64,
        m: u32,
    ) -> Result<Chunk, Error> {
        self.check_chunk(id, kind)?;
        if m == 0 {
            return Err(Error::NoColumns);
        }
        self.tail.place(id, kind, n, m)
    }

    /// Refuses a chunk that the current frame cannot have.
    #[inline]
    fn check_chunk(&mut self, id: u16, kind: ChunkType) -> Result<(), Error> {
        self.check_name(id, kind)?;
        self.check_frame()?;
        match self.counts.has_room() {
            true => Ok(()),
            false => {
                let chunks = usize_to_u64(self.counts.open_len());
                Err(Error::FrameFull { frame: self.tail.frame, chunks })
            }
        }
    }

    /// Refuses a chunk with a name or type that the current frame cannot have.
    #[inline]
    fn check_name(&mut self, id: u16, kind: ChunkType) -> Result<(), Error> {
        let is_new = self.counts.is_last(id) || self.waiting().position(id).is_ok();
        let tail = &self.tail;
        if !tail.is_writable() {
            Err(Error::NotReady)
        } else if u32::from(id) >= tail.names_count {
            Err(Error::NoName { id, names: tail.names_count })
        } else if kind == ChunkType::Character && tail.version < Version::LAYER {
            Err(Error::Layer { gsd_version: tail.version.number(), kind: Some(kind) })
        } else if !is_new || tail.checksums_id == id {
            Err(Error::Duplicate { id, frame: tail.frame })
        } else {
            Ok(())
        }
    }

    /// Refuses a frame that needs too much padding of the index, or that has no number.
    #[inline]
    fn check_frame(&self) -> Result<(), Error> {
        let entries = self.tail.entries.exact_add(self.counts.ended_len());
        let max = entries.exact_add(MAX_PADDING).min(MAX_FRAME);
        match self.tail.frame <= max {
            true => Ok(()),
            false => {
                let (field, value) = (IndexEntry::frame, self.tail.frame);
                Err(Error::OutOfRange { field, value, min: 0, max })
            }
        }
    }

    /// Adds a chunk that was placed in the current frame and whose bytes, with the CRC-32C `crc`,
    /// are in the store. In a file without checksums `crc` is ignored.
    ///
    /// # Errors
    /// [`Error::Duplicate`] and [`Error::NoName`] as for [`place`](Self::place); [`Error::Outside`]
    /// if the chunk was not placed in the current frame.
    pub fn add(&mut self, chunk: Chunk, crc: u32) -> Result<(), Error> {
        self.check_name(chunk.id, chunk.kind)?;
        let from = self.tail.placed_from.map_or(self.tail.data_end, NonZeroU64::get);
        let (span, tail) = (chunk.span, &self.tail);
        let is_within = span.offset() >= from && span.end() <= tail.data_end;
        if chunk.frame != tail.frame || !is_within || !self.counts.has_come() {
            let (start, len, file_len) = (span.offset(), span.len(), tail.data_end);
            return Err(Error::Outside { field: IndexEntry::location, start, len, file_len });
        }
        self.tail.sums.lose(); // also if a commit has come since the chunk was placed
        self.insert(&chunk, crc);
        Ok(())
    }

    /// Adds a chunk at the next place, whose `bytes` are in the store.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    #[cfg_attr(not(target_os = "none"), inline)]
    pub(in crate::gsd) fn add_bytes(&mut self, chunk: &Chunk, bytes: &[u8]) {
        let crc = if self.tail.checksums { (self.checksum)(0, bytes) } else { 0 };
        self.tail.sums.add_chunk(chunk.span.offset(), bytes, self.checksum);
        self.insert(chunk, crc);
    }

    #[inline]
    pub(in crate::gsd) fn insert(&mut self, chunk: &Chunk, crc: u32) {
        let crc = match self.tail.checksums {
            true => chunk.to_raw().sealed_crc(crc, self.checksum),
            false => 0,
        };
        self.waiting().insert(chunk, crc);
        self.tail.use_up_to(chunk.span.end());
    }

    /// Ends the current frame, if this takes no work, and returns whether it did.
    #[inline]
    pub(in crate::gsd) fn has_ended_frame(&mut self) -> bool {
        let needs_sums = self.tail.checksums && self.counts.open_len() > 0;
        let may = !needs_sums && !self.counts.is_half_full();
        if may {
            frame::end_now(&mut self.tail, &mut self.counts);
        }
        may
    }

    /// Discards the chunks of the current frame, also those that were placed, which must not be
    /// added any more. The book is as after the end of the previous frame.
    pub fn discard_frame(&mut self) {
        let start = self.waiting().discard_open();
        let start =
            start.into_iter().chain(self.tail.placed_from.take().map(NonZeroU64::get)).min();
        if let Some(start) = start {
            self.tail.data_end = start.max(self.tail.blocks_end());
            self.tail.sums.lose(); // they have the bytes that were given up
        }
    }

    /// Removes the chunk of name `id` from the current frame; returns whether the frame had it. Its
    /// bytes stay in the file unused.
    pub fn discard_chunk(&mut self, id: u16) -> bool {
        let had = self.waiting().remove(id);
        if had {
            self.tail.sums.lose(); // they have its bytes
        }
        had
    }

    /// Sets the length of the store, whatever the book has assumed.
    pub(in crate::gsd) const fn set_store_len(&mut self, len: u64) {
        self.tail.store_len = len;
    }

    /// The machine that finds a name. Pass its output to [`found_name`](Self::found_name).
    #[must_use]
    pub fn find_name<'n>(&self, name: &'n [u8]) -> FindName<'n> {
        FindName::new(name, self.tail.name_list(), self.tail.version)
    }

    /// Checks the id that [`find_name`](Self::find_name) found for `name`, and returns it if the
    /// file has it.
    pub fn found_name(&mut self, name: &[u8], id: Option<u16>) -> Option<u16> {
        self.tail.found_name(name, id)
    }

    pub(in crate::gsd) const fn check_no_open_frame(&self) -> Result<(), Error> {
        match self.counts.open_len() {
            0 => Ok(()),
            _ => Err(Error::OpenFrame { frame: self.tail.frame }),
        }
    }

    #[inline]
    fn waiting(&mut self) -> Waiting<'_> {
        Waiting::new(self.memory.as_mut().as_mut_bytes(), &mut self.counts)
    }

    /// This book at work in a store.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    #[cfg_attr(not(target_os = "none"), inline)]
    fn desk<'w, S, E>(&'w mut self, store: &'w mut S) -> Desk<'w, S, E> {
        self.counts.set_checked(false);
        let memory = self.memory.as_mut().as_mut_bytes();
        let memory = memory.split_at_mut_checked(self.counts.memory_len());
        let (front, window) = memory.unwrap_or_default();
        Desk {
            disk: Medium { store, errors: Kept(Ok(())) },
            tail: &mut self.tail,
            waiting: Waiting::new(front, &mut self.counts),
            checksum: self.checksum,
            window,
        }
    }
}

/// Work in a store. After an error, or if a future is dropped, the same call can be repeated.
#[twin(WriteAt, WriteError = AsyncError)]
impl<B: AsMut<[Slot]>> Book<B> {
    /// Opens or makes the file in a store of `store_len` bytes.
    #[inline(never)]
    pub(in crate::gsd) async fn start<S: WriteAt>(
        &mut self,
        start: Start<'_>,
        store_len: u64,
        store: &mut S,
        window: &mut [u8],
    ) -> Result<(), WriteError<S>> {
        self.tail.store_len = store_len;
        let memory_len = memory_len(self.memory.as_mut());
        let mut desk = self.desk(store);
        let done = desk.start(start, memory_len, window).await;
        desk.result(done)?;
        Ok(self.open_memory()?)
    }

    /// Completes an interrupted commit.
    ///
    /// If the file [has checksums](Self::has_checksums), [find](Self::find_name) their
    /// [`NAME`](crate::gsd::checksums::NAME) next, as [`Writer`](crate::gsd::Writer) does: the end
    /// of a frame adds the name if nobody found it, and a file must not have a name twice.
    ///
    /// # Errors
    /// The store's own error.
    #[inline(never)]
    pub async fn begin<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        if !self.tail.is_adopted {
            return Ok(());
        }
        let mut desk = self.desk(store);
        let done = desk.settle().await;
        desk.result(done)
    }

    /// Makes the file ready for chunks, and makes room in the memory if possible.
    ///
    /// # Errors
    /// [`Error::FileFull`] if a block has no place in the file; the store's own error.
    #[inline(never)]
    pub async fn make_ready<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.make_ready().await;
        desk.result(done)
    }

    /// Ends the current frame, also if it has no chunks. The next commit includes it.
    ///
    /// # Errors
    /// See [`make_ready`](Self::make_ready). The frame has not ended then.
    #[inline(never)]
    pub async fn end_frame<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.end_frame().await;
        desk.result(done)
    }

    /// Makes all ended frames and all names durable and visible. The current frame stays open.
    ///
    /// # Errors
    /// See [`make_ready`](Self::make_ready). The file is as the last commit left it then, or as
    /// this one leaves it; the next commit tries again.
    #[inline(never)]
    pub async fn commit<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.commit().await;
        desk.result(done)
    }

    /// Cuts a store of `store_len` bytes at the end of the file. Call it after a commit.
    ///
    /// # Errors
    /// The store's own error.
    #[inline(never)]
    pub async fn cut<S: WriteAt>(
        &mut self,
        store_len: u64,
        store: &mut S,
    ) -> Result<(), WriteError<S>> {
        self.tail.store_len = store_len;
        let mut desk = self.desk(store);
        let done = desk.cut().await;
        desk.result(done)
    }

    /// Adds a name that the file does not have. Its id is the value of [`names`](Self::names)
    /// before.
    ///
    /// # Errors
    /// [`Error::BadName`] if no file can have the name; [`Error::NamesFull`]; else see
    /// [`make_ready`](Self::make_ready). The file does not have the name then.
    #[inline(never)]
    pub async fn add_name<S: WriteAt>(
        &mut self,
        name: &[u8],
        store: &mut S,
    ) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.add_name(name).await;
        desk.result(done)
    }

    /// Upgrades a file of an older layer to layer 2.1.
    ///
    /// # Errors
    /// [`Error::OpenFrame`] if the current frame has chunks; [`Error::FrameFull`] if a frame has
    /// more chunks than there is memory for; [`Error::BadName`] if the file has an empty name;
    /// those of [`Chunk::parse`](crate::gsd::Chunk::parse) if a chunk cannot be read; else see
    /// [`make_ready`](Self::make_ready). The file keeps its layer then.
    #[inline(never)]
    pub async fn upgrade<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.upgrade().await;
        desk.result(done)
    }

    /// Removes all frames and names, also those that are not committed, and frees their space,
    /// unless the file is shorter than a new one.
    ///
    /// # Errors
    /// See [`make_ready`](Self::make_ready). The file has all of its frames then, or none.
    #[inline(never)]
    pub async fn truncate<S: WriteAt>(&mut self, store: &mut S) -> Result<(), WriteError<S>> {
        let mut desk = self.desk(store);
        let done = desk.truncate().await;
        desk.result(done)
    }
}

/// Bytes of the memory that waiting entries and rows may use.
fn memory_len(memory: &mut [Slot]) -> usize {
    let len = memory.as_mut_bytes().len();
    len.saturating_sub(if len >= FULL + WINDOW { WINDOW } else { 0 })
}

/// The number of rows of `m` values in `len` bytes.
///
/// # Errors
/// [`Error::NoColumns`] if `m` is 0; [`Error::Rows`] if the rows are not whole.
#[inline]
pub(in crate::gsd) fn count_rows(kind: ChunkType, m: u32, len: u64) -> Result<u64, Error> {
    let want = NonZeroU64::new(row_len(m, kind)).ok_or(Error::NoColumns)?;
    let n = len / want; // one division: it takes as long as the rest of a short chunk
    match n.exact_mul(want.get()) == len {
        true => Ok(n),
        false => Err(Error::Rows { len, want: want.get() }),
    }
}
