//! [`Logger`] is a writer for devices: it has fixed memory and commits every frame.

use super::book::Start;
use super::create::Attributes;
use super::stream::ChunkWriter;
use super::writer::{Slot, Writer};
use crate::gsd::element::{Element, TOGETHER, is_file_order, to_file};
use crate::gsd::error::Error;
#[twin(WriteError = AsyncError)]
use crate::gsd::error::WriteError;
use crate::gsd::kind::ChunkType;
use crate::gsd::read::open::Open;
use crate::integrity::crc32c;
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// Logs frames of at most `N` chunks to a GSD file; with checksums, of at most `N - 1`.
///
/// It needs `40 * N` and about 420 bytes of memory, for any `S`, and stack. On a Cortex-M3
/// (measured by `tests/run firmware`): 576 bytes with 4 slots and 736 with 8; 3.5 KiB of stack to
/// create or open a file, including the logger itself, or 1.4 KiB to open one
/// [in the caller's memory](Self::open_or_create_in); 1.1 KiB to end a frame; 0.5 KiB for names
/// and chunks. An [`OwnLogger`](crate::gsd::OwnLogger) needs half of that, and a
/// [`FixedLogger`](crate::gsd::FixedLogger) less still.
///
/// When [`end_frame`](Self::end_frame) returns, the frame survives a power cut. After a power cut
/// at any time, the file has all frames before it and nothing else.
///
/// # Media
///
/// **Not for flash without a translation layer**: the header is rewritten in place at each commit,
/// so a NOR or NAND chip must be used through a driver that maps sectors. An adapter that reads,
/// erases and rewrites a page destroys committed frames when the power goes. `core/README.md` has a
/// table of media, what a power cut does to them, and what is promised on each.
///
/// A medium that erases a sector before it writes it, as cards do, may lose other bytes of that
/// sector. For such a medium set [`align`](Attributes::align) to 512, and leave
/// [`one_sync`](Attributes::one_sync) off. Then a power cut may erase any sectors of 512 bytes that
/// are being written, and no frame is lost.
///
/// If a write to such a medium fails and the power stays, as when a card is pulled and put back, a
/// repeated call writes only its own bytes again. A [`BlockStore`](crate::store::BlockStore) has
/// the rest of the sector; without one, what else was in it may be gone, also of the header, and
/// then the file is refused when it is opened again.
///
/// # Wear
///
/// On a card, put a [`BlockStore`](crate::store::BlockStore) with a cache of one sector under it. A
/// committed frame of three small chunks then costs 4.2 sector writes, if the first index
/// ([`index_slots`](Attributes::index_slots)) has a slot for each chunk that will ever be logged;
/// 4.7 if it starts small and moves; and no sector is written twice. Exactly 4 if no frame crosses
/// a sector: with 1, 2, 4 or 8 chunks whose bytes together divide 512. Without a cache it is 7.2
/// writes, and one more for each piece of a chunk. With `align` 512 each chunk has sectors of its
/// own: 6.0. If only every eighth frame is committed ([`writer`](Self::writer)`.end_frame()` for
/// the others), a frame costs 0.9 with such an index, with a cache of two sectors or with 28 slots.
/// In general, a commit of `k` such frames, by a logger with `5 * k` slots, costs at most `2 + 2/k`
/// for each of them: they share a shadow, a header, and the sectors of their entries and bytes.
/// `cargo test -p striae-core --test all wear -- --nocapture` counts them.
///
/// A medium without wear levelling whose sectors last 100,000 writes is worn out after 100,000
/// commits, because each writes the sector of the header: 27 hours of one commit a second, 13
/// months of one in 6 minutes. On a card with wear
/// levelling the sum counts: 8 GB that can be written 1000 times, by a card that makes 16 writes
/// of one, last for 230 million committed frames: 7 years of one a second.
///
/// This writes a frame again after an error; the frame is never in the file twice:
///
/// ```
/// # use striae_core::gsd::{Logger, writer::WriteError};
/// # use striae_core::store::WriteAt;
/// fn log<S: WriteAt>(log: &mut Logger<S, 4>, id: u16, value: f32) -> Result<(), WriteError<S>> {
///     log.write(id, &[[value]])?;
///     log.end_frame().map(drop)
/// }
/// # fn again<S: WriteAt>(logger: &mut Logger<S, 4>, id: u16) -> Result<(), WriteError<S>> {
/// let frames = logger.frames();
/// if log(logger, id, 21.5).is_err() {
///     if logger.frames() > frames {
///         logger.commit()?; // it has ended, and is not safe yet
///     } else {
///         logger.discard_frame();
///         log(logger, id, 21.5)?;
///     }
/// }
/// # Ok(()) }
/// ```
///
/// A store is anything that can be read and written by offset: the sectors of a card
/// ([`BlockStore`](crate::store::BlockStore)), a file on it
/// ([`SeekStore`](crate::store::SeekStore)), or memory. It may have a fixed size.
///
/// ```
/// use striae_core::gsd::{Attributes, Logger};
/// use striae_core::store::{BlockStore, Cached};
/// # let mut card = vec![0xFF_u8; 1 << 20];
/// # let card = striae_core::store::StoreBlocks(card.as_mut_slice());
/// let store = BlockStore::<_, _>::new(card, [Cached::EMPTY; 1])?;
/// let about = Attributes {
///     application: "probe 1.0",
///     schema: "probe",
///     align: 512,
///     index_slots: 4096, // with `align`, a commit takes at least 16
///     ..Attributes::default()
/// };
/// let mut log = Logger::<_, 4>::open_or_create(store, &about)?;
/// let temperature = log.name("temperature")?;
/// log.write(temperature, &[[21.5_f32]])?;
/// log.end_frame()?; // it is safe
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Asynchronous firmware
///
/// With the feature `async`, each function that works in the store has a form for an asynchronous
/// one, whose name ends in `_async`. Dropping a future counts as a failed call (see "Dropping a
/// future" in [`Writer`]). A task for an executor such as Embassy's:
///
#[cfg_attr(feature = "async", doc = "```")]
#[cfg_attr(not(feature = "async"), doc = "```ignore")]
/// use striae_core::gsd::{AsyncError, Attributes, Logger};
/// use striae_core::store::AsyncWriteAt;
///
/// async fn log_temperature<S: AsyncWriteAt>(
///     card: S,
///     mut sensor: impl AsyncFnMut() -> f32,
/// ) -> Result<(), AsyncError<S>> {
///     let (application, schema) = ("probe 1.0", "probe");
///     let about = Attributes { application, schema, ..Attributes::default() };
///     let mut log = Logger::<_, 4>::open_or_create_async(card, &about).await?;
///     let temperature = log.name_async("temperature").await?;
///     for _ in 0..10 {
///         let value = sensor().await;
///         log.write_async(temperature, &[[value]]).await?;
///         log.end_frame_async().await?; // it is safe
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Logger<S, const N: usize> {
    writer: Writer<S, [Slot; N]>,
    /// Whether a frame has ended and its commit failed.
    last: Last,
}

/// Whether a frame has ended and its commit failed. It is as wide as a word of 64 bits, in which
/// the result of opening a logger says whether it failed: a result with a narrow one is copied once
/// more on a device's stack.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
enum Last {
    Finished,
    Unfinished,
}

impl<S, const N: usize> Logger<S, N> {
    /// A logger of no file yet.
    #[inline]
    fn unopened(store: S) -> Self {
        let writer = Writer::unopened(store, [Slot::EMPTY; N], crc32c);
        Self { writer, last: Last::Finished }
    }

    // A separate function, so that nothing of it is on the stack later.
    #[inline(never)]
    fn unopened_apart(store: S) -> Self {
        Self::unopened(store)
    }

    /// Whether a frame has ended and is not committed, or that is not known, and the next one is
    /// empty.
    fn has_ended(&self) -> bool {
        matches!(self.last, Last::Unfinished)
            && (self.writer.is_doubted() || !self.writer.is_committed())
            && self.writer.is_frame_empty()
    }

    /// The number of ended frames.
    pub const fn frames(&self) -> u64 {
        self.writer.frames()
    }

    /// The writer.
    pub const fn writer(&mut self) -> &mut Writer<S, [Slot; N]> {
        &mut self.writer
    }

    /// Returns the store. After an error of its medium, a store that keeps blocks in memory may
    /// still have some that it could not write: to begin a log on another card, make a new store of
    /// its device ([`BlockStore::into_inner`](crate::store::BlockStore::into_inner)).
    pub fn into_store(self) -> S {
        self.writer.into_store()
    }
}

#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt, const N: usize> Logger<S, N> {
    /// Creates an empty file in `store`. The old content of the store is lost.
    ///
    /// # Errors
    /// See [`Writer::create`].
    pub async fn create(store: S, attributes: &Attributes<'_>) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Create(attributes)).await
    }

    /// Opens the file in `store` to append to it.
    ///
    /// # Errors
    /// See [`Writer::open`].
    pub async fn open(store: S) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Open).await
    }

    async fn start(store: S, start: Start<'_>) -> Result<Self, WriteError<S>> {
        // In the place of the result: it is large for a device's stack.
        let mut logger = Ok(Self::unopened_apart(store));
        if let Ok(Self { writer, .. }) = &mut logger
            && let Err(error) = writer.start(start, &mut [0; Open::WINDOW]).await
        {
            logger = Err(error);
        }
        logger
    }

    /// Opens the file in `store` to append to it, or creates one if the store is blank. A device
    /// calls this when it starts.
    ///
    /// This never writes over anything that it finds; only [`create`](Self::create) does. A store
    /// is *blank* if its sectors are all zeros or all ones in the first MiB, or as far as a new
    /// file of `attributes` reaches, in the last 2 MiB, and at powers of two between, also if a
    /// power cut interrupted the creation of a file there. File systems, partition tables and RAIDs
    /// have their signatures there (`spec/gsd.md#blank-stores`). The rest is not read. The check
    /// takes 6159 reads of a sector of a card of 32 GB, before a file is made.
    ///
    /// An existing file is opened if its application, schema and schema version are those of
    /// `attributes`; the other attributes are only for a new file. A header that was erased while
    /// it was written is restored if possible (`spec/gsd.md#erased-sectors`). Any other content is
    /// an error and stays unchanged.
    ///
    /// # Errors
    /// [`Error::NotBlank`] if the store is neither blank nor a file that
    /// can be opened; [`Error::Another`] if application, schema or schema
    /// version differ; else see [`Writer::open`] and [`Writer::create`].
    pub async fn open_or_create(
        store: S,
        attributes: &Attributes<'_>,
    ) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Log(attributes)).await
    }

    /// The id of a name. A new name is added. Call it once for each name when the device starts.
    ///
    /// # Errors
    /// See [`Writer::name`].
    pub async fn name(&mut self, name: &str) -> Result<u16, WriteError<S>> {
        self.writer.name(name.as_bytes()).await
    }

    /// Adds a chunk to the current frame; see [`Writer::write_chunk`].
    ///
    /// # Errors
    /// See [`Writer::write_chunk`].
    pub async fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), WriteError<S>> {
        self.writer.write_chunk(id, kind, m, bytes).await.map(drop)
    }

    /// Adds rows of numbers to the current frame as a chunk; their type and length say what it is.
    ///
    /// ```
    /// # use striae_core::gsd::{Logger, writer::WriteError};
    /// # use striae_core::store::WriteAt;
    /// # fn log<S: WriteAt>(log: &mut Logger<S, 4>, id: u16) -> Result<(), WriteError<S>> {
    /// log.write(id, &[[0.5_f32, 1.5, 2.5], [3.5, 4.5, 5.5]])?; // two rows of three
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`Writer::write_chunk`].
    pub async fn write<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), WriteError<S>> {
        let m = u32::try_from(M).unwrap_or(u32::MAX);
        if is_file_order::<T>() {
            return self.chunk(id, T::KIND, m, rows.as_bytes()).await;
        }
        let mut chunk = self.begin_chunk(id, T::KIND, m).await?;
        for values in rows.as_flattened().chunks(TOGETHER) {
            chunk.write(to_file(values, &mut [T::new_zeroed(); TOGETHER])).await?;
        }
        chunk.finish().await.map(drop)
    }

    /// Begins a chunk that is written in pieces; see [`Writer::begin_chunk`].
    ///
    /// # Errors
    /// See [`Writer::begin_chunk`].
    pub async fn begin_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, [Slot; N]>, WriteError<S>> {
        self.writer.begin_chunk(id, kind, m).await
    }

    /// Ends the current frame and commits it; returns its number.
    ///
    /// After an error it may be called again: if the frame has ended already, it is only committed,
    /// as by [`commit`](Self::commit).
    ///
    /// # Errors
    /// See [`Writer::end_frame`]: then the frame has not ended. See [`Writer::commit`]: then the
    /// frame has ended, and [`frames`](Self::frames) counts it.
    pub async fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        if !self.has_ended() {
            self.writer.end_frame().await?;
            self.last = Last::Unfinished;
        }
        self.commit().await?;
        Ok(self.writer.frames().saturating_sub(1))
    }

    /// Commits the ended frames after an [`end_frame`](Self::end_frame) that failed.
    ///
    /// # Errors
    /// See [`Writer::commit`].
    pub async fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.writer.commit().await?;
        self.last = Last::Finished;
        Ok(())
    }

    /// The number of frames of `chunks` chunks, which have `bytes` bytes each, that can be logged
    /// before the store is full, if its length is fixed, or the index must grow, which takes as
    /// many bytes again as the entries have. Each frame is committed.
    ///
    /// ```
    /// # use striae_core::gsd::{Attributes, Logger};
    /// # let mut card = vec![0xFF_u8; 1 << 16];
    /// # let about =
    /// #     Attributes { align: 512, index_slots: 320, shown_slots: 16, ..Attributes::DEFAULT };
    /// let mut log = Logger::<_, 4>::open_or_create(card.as_mut_slice(), &about)?;
    /// let id = log.name("t")?;
    /// if log.frames_left(1, 4)? == 0 {
    ///     // begin another file
    /// }
    /// # log.write(id, &[[0_u32]])?;
    /// # log.end_frame()?;
    /// # assert_eq!(log.frames_left(1, 4)?, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store's own error.
    pub async fn frames_left(&self, chunks: u16, bytes: u64) -> Result<u64, WriteError<S>> {
        self.writer.frames_left(chunks, bytes).await
    }

    /// Discards the chunks of the current frame; see [`Writer::discard_frame`]. Ended frames stay.
    pub async fn discard_frame(&mut self) {
        self.writer.discard_frame().await;
    }
}

impl<S: WriteAt, const N: usize> Logger<S, N> {
    /// [`open_or_create`](Self::open_or_create) in the caller's memory, such as a static. The
    /// logger is not on the stack while the file is opened. After an error `place` is `None`.
    ///
    /// ```
    /// # use striae_core::gsd::{Attributes, Logger, writer::WriteError};
    /// # use striae_core::store::WriteAt;
    /// # fn log<S: WriteAt>(card: S) -> Result<(), WriteError<S>> {
    /// let mut place = None; // or in a static, for example by the crate `static_cell`
    /// let log = Logger::<_, 4>::open_or_create_in(&mut place, card, &Attributes::DEFAULT)?;
    /// let id = log.name("temperature")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`open_or_create`](Self::open_or_create).
    pub fn open_or_create_in<'l>(
        place: &'l mut Option<Self>,
        store: S,
        attributes: &Attributes<'_>,
    ) -> Result<&'l mut Self, WriteError<S>> {
        let writer = &mut Self::unopened_in(place, store).writer;
        let opened = writer.start(Start::Log(attributes), &mut [0; Open::WINDOW]);
        if opened.is_err() {
            *place = None;
        }
        opened?;
        Ok(place.as_mut().ok_or(Error::NotReady)?) // it is there
    }

    // A separate function, so that nothing of it is on the stack later.
    #[inline(never)]
    fn unopened_in(place: &mut Option<Self>, store: S) -> &mut Self {
        place.insert(Self::unopened(store))
    }
}
