//! A logger for devices: fixed memory, every frame committed.

#[cfg(feature = "async")]
mod asynch;

use super::book::Start;
use super::create::Attributes;
use super::kind::ChunkType;
use super::open::Open;
use super::stream::ChunkWriter;
use super::writer::{Slot, WriteError, Writer};
use crate::integrity::crc32c;
use crate::store::WriteAt;

/// Logs frames of at most `N` chunks to a GSD file; with checksums, of at most `N - 1`.
///
/// It needs no memory but itself, `40 * N` and about 420 bytes, whatever `S` is, and stack. On a
/// Cortex-M3 (`tests/run firmware` measures it): 576 bytes with 4 slots and 736 with 8; less than
/// 4.5 KiB of stack to begin or to go on, of which it is itself a part; 1.6 KiB to end a frame, 1
/// KiB for names and chunks.
///
/// When [`end_frame`](Self::end_frame) returns, the frame survives a power cut; whenever the power
/// goes, all frames before it are there and nothing else is.
///
/// A medium that erases a sector before it writes it, as cards and flash do, may lose what shares
/// that sector: for such a one set [`align`](Attributes::align) to 512, and leave
/// [`one_sync`](Attributes::one_sync) off. Then any sectors of 512 bytes that are under way may be
/// erased by a power cut, and no frame is lost.
///
/// After an error, a frame is written again like this; it is never there twice:
///
/// ```
/// # use striae_core::gsd::{Attributes, ChunkType, Logger, writer::WriteError};
/// # use striae_core::store::WriteAt;
/// fn log<S: WriteAt>(log: &mut Logger<S, 4>, id: u16, value: f32) -> Result<(), WriteError<S>> {
///     log.chunk(id, ChunkType::F32, 1, &value.to_le_bytes())?;
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
/// A store is anything that can be read and written by offset: a file on a card by
/// [`SeekStore`](crate::store::SeekStore), a part of a flash chip. It may be of a fixed size.
///
/// ```
/// use striae_core::gsd::{Attributes, ChunkType, Logger};
/// # let mut flash = vec![0xFF_u8; 65536];
/// # let flash = flash.as_mut_slice();
/// let about = Attributes { application: "probe 1.0", schema: "probe", ..Attributes::default() };
/// let mut log = Logger::<_, 4>::open_or_create(flash, &about)?;
/// let temperature = log.name("temperature")?;
/// log.chunk(temperature, ChunkType::F32, 1, &21.5_f32.to_le_bytes())?;
/// log.end_frame()?; // it is safe
/// # Ok::<(), striae_core::step::DriveError<_, striae_core::gsd::Error>>(())
/// ```
#[derive(Debug)]
pub struct Logger<S, const N: usize> {
    writer: Writer<S, [Slot; N]>,
    /// Whether a frame has ended and its commit failed.
    is_unfinished: bool,
}

impl<S, const N: usize> Logger<S, N> {
    /// Logs to no file yet. It is put together in place: it is large for a device's stack.
    #[inline]
    fn unopened(store: S) -> Self {
        let writer = Writer::unopened(store, [Slot::EMPTY; N], crc32c);
        Self { writer, is_unfinished: false }
    }

    /// Whether a frame has ended and waits for its commit, and none has begun since.
    const fn has_ended(&self) -> bool {
        self.is_unfinished && !self.writer.is_committed() && self.writer.is_frame_empty()
    }

    /// Frames that are ended.
    pub const fn frames(&self) -> u64 {
        self.writer.frames()
    }

    /// The writer.
    pub const fn writer(&mut self) -> &mut Writer<S, [Slot; N]> {
        &mut self.writer
    }

    /// The store, given back.
    pub fn into_store(self) -> S {
        self.writer.into_store()
    }
}

impl<S: WriteAt, const N: usize> Logger<S, N> {
    /// Makes an empty file in `store`. What was in it is lost.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create(store: S, attributes: &Attributes<'_>) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Create(attributes))
    }

    /// Goes on with the file in `store`.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open(store: S) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Open)
    }

    fn start(store: S, start: Start<'_>) -> Result<Self, WriteError<S>> {
        let mut logger = Self::unopened(store);
        logger.writer.start(start, &mut [0; Open::WINDOW])?;
        Ok(logger)
    }

    /// Goes on with the file in `store`, or makes one if the store is blank: what a device does
    /// when it gets power.
    ///
    /// What is in the store is lost only to [`create`](Self::create). *Blank* is a store whose
    /// sectors are all zeros or all ones as far as a new file of `attributes` reaches, also where a
    /// power cut has left a part of one that was being made. A file is continued if application,
    /// schema and schema version are those of `attributes`; what else these say is for a new file
    /// only. A header that was erased while it was written is brought back if that can be done
    /// (`spec/gsd.md#erased-sectors`). Whatever else is there is an error, and left alone.
    ///
    /// # Errors
    /// [`Error::NotBlank`](super::Error::NotBlank), [`Error::Another`](super::Error::Another); as
    /// [`Writer::open`] and [`Writer::create`].
    pub fn open_or_create(store: S, attributes: &Attributes<'_>) -> Result<Self, WriteError<S>> {
        Self::start(store, Start::Log(attributes))
    }

    /// The id of a name, which is added if it is new. Ask once when the device starts.
    ///
    /// # Errors
    /// As [`Writer::name`].
    pub fn name(&mut self, name: &str) -> Result<u16, WriteError<S>> {
        self.writer.name(name.as_bytes())
    }

    /// Adds a chunk to the present frame, as [`Writer::write_chunk`].
    ///
    /// # Errors
    /// As [`Writer::write_chunk`].
    pub fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), WriteError<S>> {
        self.writer.write_chunk(id, kind, m, bytes).map(drop)
    }

    /// Begins a chunk that comes piece by piece, as [`Writer::begin_chunk`].
    ///
    /// # Errors
    /// As [`Writer::begin_chunk`].
    pub fn begin_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, [Slot; N]>, WriteError<S>> {
        self.writer.begin_chunk(id, kind, m)
    }

    /// Ends the present frame and commits it; returns its number.
    ///
    /// After an error it may be called again: a frame that had ended is not ended twice, but
    /// committed, as by [`commit`](Self::commit).
    ///
    /// # Errors
    /// As [`Writer::end_frame`]: the frame has not ended. As [`Writer::commit`]: it has, and
    /// [`frames`](Self::frames) counts it.
    pub fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        if !self.has_ended() {
            self.writer.end_frame()?;
            self.is_unfinished = true;
        }
        self.commit()?;
        Ok(self.writer.frames().saturating_sub(1))
    }

    /// Commits what an [`end_frame`](Self::end_frame) that failed has not.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.writer.commit()?;
        self.is_unfinished = false;
        Ok(())
    }

    /// Gives up the chunks of the present frame, as [`Writer::discard_frame`]. One that has ended
    /// stays.
    pub fn discard_frame(&mut self) {
        self.writer.discard_frame();
    }
}
