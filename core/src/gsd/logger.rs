//! A logger for devices: fixed memory, every frame committed.

use super::create::Attributes;
use super::kind::ChunkType;
use super::stream::ChunkWriter;
use super::writer::{Slot, WriteError, Writer};
use crate::store::WriteAt;

/// Logs frames of at most `N` chunks to a GSD file; with checksums, of at most `N - 1`.
///
/// It needs no memory but itself, `40 * N` and about 390 bytes, whatever `S` is, and stack. On a Cortex-M3
/// (`tests/run firmware` measures it): 552 bytes with 4 slots and 712 with 8; less than 5 KiB of stack to
/// begin or to go on, of which it is itself a part; 1.6 KiB to end a frame, less than 1 KiB for names and chunks.
///
/// When [`end_frame`](Self::end_frame) returns, the frame survives a power cut; whenever the power goes, all frames before it are there and nothing else is.
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
}

impl<S: WriteAt, const N: usize> Logger<S, N> {
    /// Makes an empty file in `store`. What was in it is lost.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create(store: S, attributes: &Attributes<'_>) -> Result<Self, WriteError<S>> {
        Ok(Self { writer: Writer::create(store, attributes, [Slot::EMPTY; N])? })
    }

    /// Goes on with the file in `store`.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open(store: S) -> Result<Self, WriteError<S>> {
        Ok(Self { writer: Writer::open(store, [Slot::EMPTY; N])? })
    }

    /// Goes on with the file in `store`, or makes one if there is none: what a device does when it
    /// gets power.
    ///
    /// A damaged file is an error and is left alone; only a store that does not begin as a GSD
    /// file is written anew.
    ///
    /// # Errors
    /// As [`Writer::open`] and [`Writer::create`].
    pub fn open_or_create(store: S, attributes: &Attributes<'_>) -> Result<Self, WriteError<S>> {
        Writer::open_or_create(store, attributes, [Slot::EMPTY; N]).map(|writer| Self { writer })
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
    /// # Errors
    /// As [`Writer::end_frame`] and [`Writer::commit`]. [`commit`](Self::commit) tries again.
    pub fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        let frame = self.writer.end_frame()?;
        self.writer.commit()?;
        Ok(frame)
    }

    /// Commits what an [`end_frame`](Self::end_frame) that failed has not.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.writer.commit()
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
