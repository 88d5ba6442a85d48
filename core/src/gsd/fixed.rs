//! [`FixedLogger`] logs frames of names that are known when a program is compiled, with less
//! code than a [`Logger`](super::Logger).

#[cfg(feature = "async")]
mod asynch;
mod begin;
mod commit;
mod fault;
mod log;
mod shape;

#[cfg(feature = "async")]
pub use asynch::AsyncFixedError;
pub use fault::Fault;
pub use shape::Shape;

use super::book::count_rows;
use super::create::Create;
use super::element::Element;
use super::kind::ChunkType;
use super::open::Open;
use super::publish::Publish;
use super::raw::Header;
use crate::step::{DriveError, drive, drive_read};
use crate::store::{ReadAt, WriteAt, usize_to_u64};
use begin::{Find, Found, Make};
use commit::Commit;
use log::{Log, Place};
use zerocopy::{FromZeros, IntoBytes};

/// Bytes that are read at once to see if a store is blank.
const PIECE: usize = 64;

/// Why logging to a store `S` failed.
pub type FixedError<S> = DriveError<<S as ReadAt>::Error, Fault>;

/// Logs frames of at most `N` chunks, one for each name of a [`Shape`], and commits each frame.
///
/// When [`end_frame`](Self::end_frame) returns, the frame survives a power cut, on the same media
/// as with a [`Logger`](super::Logger); what that type says of media and wear holds for this one.
/// The files are ordinary GSD files: a `Logger` can open them, and gsd reads them.
///
/// It needs `32 * N` and about 100 bytes of memory, for any `S`, and stack. On a Cortex-M3, by
/// `tests/run firmware`: 200 bytes with 3 names; 1.6 KiB of stack to create or open a file,
/// including the logger itself; 0.9 KiB to end a frame.
///
/// It needs less code and stack than a `Logger` because less can be asked of it. The names and
/// attributes are those of its shape, the index has the length that it was made with, and there
/// are no checksums. It opens only files of its own shape, whole or torn by a power cut. A file to
/// which another program has appended is refused and stays unchanged: a `Logger` can go on with it.
///
/// ```
/// use striae_core::gsd::{Attributes, FixedLogger, Shape};
/// use striae_core::store::{BlockStore, Cached};
/// # let mut card = vec![0xFF_u8; 1 << 20];
/// # let card = striae_core::store::StoreBlocks(card.as_mut_slice());
///
/// const ABOUT: Attributes<'static> =
///     Attributes { application: "probe 1.0", align: 512, ..Attributes::DEFAULT };
/// static SHAPE: Shape<'static, 2> = match Shape::new(&ABOUT, ["temperature", "position"]) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have this shape"), // then it does not compile
/// };
///
/// let store = BlockStore::<_, _>::new(card, [Cached::EMPTY; 1])?;
/// let mut log = FixedLogger::open_or_create(store, &SHAPE)?;
/// log.write(0, &[[21.5_f32]])?;
/// log.write(1, &[[0.5_f64, 1.5, 2.5]])?; // one row of three
/// log.end_frame()?; // it is safe
/// # assert_eq!(log.frames(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedLogger<'s, S, const N: usize> {
    store: S,
    log: Log<'s, N>,
}

impl<S, const N: usize> FixedLogger<'_, S, N> {
    /// The number of ended frames.
    pub const fn frames(&self) -> u64 {
        self.log.frames()
    }

    /// The number of frames of `chunks` chunks for which the index has room. When it is 0,
    /// [`end_frame`](Self::end_frame) returns [`Fault::Full`]: begin another file.
    #[must_use]
    pub fn frames_left(&self, chunks: u16) -> u64 {
        self.log.frames_left(chunks.into())
    }

    /// Discards the chunks of the current frame. Ended frames stay.
    pub const fn discard_frame(&mut self) {
        self.log.discard();
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store. Chunks of a frame that has not ended are lost.
    pub fn into_store(self) -> S {
        self.store
    }
}

impl<'s, S: WriteAt, const N: usize> FixedLogger<'s, S, N> {
    /// Opens the file in `store` to append to it, or creates one if the store is blank. A device
    /// calls this when it starts.
    ///
    /// This never destroys the content of a store. A store is *blank* if its sectors are all zeros
    /// or all ones as far as a new file reaches, also if a power cut interrupted the creation of
    /// this file there.
    ///
    /// # Errors
    /// [`Fault::NotBlank`] if the store is neither blank nor a GSD file; [`Fault::Another`] for a
    /// file that another program made or changed, or of another shape; [`Fault::Damaged`]; the
    /// store's own error.
    pub fn open_or_create(store: S, shape: &'s Shape<'s, N>) -> Result<Self, FixedError<S>> {
        let mut logger = Self { store, log: Log::new(shape) };
        logger.begin()?;
        Ok(logger)
    }

    fn begin(&mut self) -> Result<(), FixedError<S>> {
        let store_len = self.store.size().map_err(DriveError::Store)?;
        match self.find(store_len)? {
            Found::None => self.make(store_len),
            Found::Whole => self.store.sync().map_err(DriveError::Store),
            Found::Torn => self.commit(),
            Found::Erased => self.restore(),
        }
    }

    // Each in a function of its own, so that its part of the stack is free before the next one.

    #[inline(never)]
    fn find(&mut self, store_len: u64) -> Result<Found, FixedError<S>> {
        drive_read(&mut Find::new(&mut self.log, store_len), &self.store, &mut [0; Open::WINDOW])
    }

    #[inline(never)]
    fn make(&mut self, store_len: u64) -> Result<(), FixedError<S>> {
        let mut create = Create::nothing();
        let mut make = Make::new(&self.log, &mut create, store_len);
        drive(&mut make, &mut self.store, &mut [0; PIECE])
    }

    /// Writes the header again, whose sector was erased.
    #[inline(never)]
    fn restore(&mut self) -> Result<(), FixedError<S>> {
        let mut header = Header::new_zeroed();
        self.log.fill_header(&mut header);
        self.store.write_all_at(0, header.as_bytes()).map_err(DriveError::Store)?;
        self.store.sync().map_err(DriveError::Store)
    }

    #[inline(never)]
    fn commit(&mut self) -> Result<(), FixedError<S>> {
        let mut publish = Publish::nothing();
        let mut commit = Commit::new(&mut self.log, &mut publish)?;
        drive(&mut commit, &mut self.store, &mut []).map_err(DriveError::infallible)
    }

    /// Adds a chunk to the current frame: rows of `m` values in row-major order, little-endian.
    ///
    /// # Errors
    /// [`Fault::NoName`], [`Fault::Duplicate`]; [`Fault::Rows`] if the bytes are not whole rows, or
    /// if `m` is 0; [`Fault::Full`]; the store's own error. There is no chunk then.
    pub fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        let rows = count_rows(kind, m, usize_to_u64(bytes.len()));
        let n = rows.map_err(|_| DriveError::Format(Fault::Rows))?;
        self.put(Place { id, kind, n, m }, bytes)
    }

    /// Adds rows of numbers to the current frame as a chunk; their type and length say what it is.
    ///
    /// # Errors
    /// See [`chunk`](Self::chunk).
    pub fn write<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), FixedError<S>> {
        let place = Place::of(id, rows)?;
        if cfg!(target_endian = "little") {
            return self.put(place, rows.as_bytes());
        }
        let (start, end) = self.log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for value in rows.iter().flatten() {
            let value = value.swap_to_file();
            self.store.write_all_at(offset, value.as_bytes()).map_err(DriveError::Store)?;
            offset = offset.saturating_add(usize_to_u64(size_of::<T>()));
        }
        self.log.add(&place, start, end);
        Ok(())
    }

    fn put(&mut self, place: Place, bytes: &[u8]) -> Result<(), FixedError<S>> {
        let (start, end) = self.log.place(&place, bytes.len())?;
        self.store.write_all_at(start, bytes).map_err(DriveError::Store)?;
        self.log.add(&place, start, end);
        Ok(())
    }

    /// Ends the current frame and commits it; returns its number.
    ///
    /// After an error it may be called again. If [`frames`](Self::frames) has grown, the frame has
    /// ended, and the next call only completes its commit.
    ///
    /// # Errors
    /// [`Fault::NoChunks`] if the frame has no chunk; [`Fault::Full`]: then it has not ended. The
    /// store's own error.
    pub fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
        self.commit()?;
        Ok(self.log.frames().saturating_sub(1))
    }
}
