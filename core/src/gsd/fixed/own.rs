//! [`OwnLogger`] logs to files that striae made, under names that are given while it runs.

#[cfg(feature = "async")]
mod asynch;
mod form;
mod moving;

use super::desk::Desk;
use super::{Fault, FixedError, Shape};
use crate::gsd::element::Element;
use crate::gsd::error::Error;
use crate::gsd::header::Version;
use crate::gsd::kind::ChunkType;
use crate::gsd::names::FindName;
use crate::gsd::raw::IndexEntry;
use crate::step::{DriveError, drive, drive_read};
use crate::store::{Disk, ReadAt, WriteAt};
use form::Own;
use moving::{Move, PIECE};

/// Logs frames of at most `N` chunks to files that striae made, and commits each frame.
///
/// It is between a [`Logger`](crate::gsd::Logger), which goes on with files of any program, and a
/// [`FixedLogger`](super::FixedLogger), whose names are known when the program is compiled: names
/// are added at any time, and the index and the name list move when they are full. When
/// [`end_frame`](Self::end_frame) returns, the frame survives a power cut, on the same media as
/// with a `Logger`; what that type says of media and wear holds for this one. The files are
/// ordinary GSD files: a `Logger` can open them, and gsd reads them.
///
/// It opens only files with the attributes of its shape, whole or torn by a power cut. A file to
/// which another program has appended is refused and stays unchanged: a `Logger` can go on with it.
/// There are no checksums and no commits of one sync.
///
/// It needs `32 * N` and about 240 bytes of memory, for any `S`, and stack. On a Cortex-M3, by
/// `tests/run firmware`: 360 bytes with 4 chunks a frame; 1.8 KiB of stack to create or open a
/// file, including the logger itself; 1 KiB to end a frame; 0.5 KiB for a name.
///
/// ```
/// use striae_core::gsd::{Attributes, OwnLogger, Shape};
/// use striae_core::store::{BlockStore, Cached};
/// # let mut card = vec![0xFF_u8; 1 << 20];
/// # let card = striae_core::store::StoreBlocks(card.as_mut_slice());
///
/// const ABOUT: Attributes<'static> =
///     Attributes { application: "probe 1.0", align: 512, ..Attributes::DEFAULT };
/// static SHAPE: Shape<'static, 0> = match Shape::new(&ABOUT, []) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have these attributes"), // then it does not compile
/// };
///
/// let store = BlockStore::<_, _>::new(card, [Cached::EMPTY; 1])?;
/// let mut log = OwnLogger::<_, 4>::open_or_create(store, &SHAPE)?;
/// let temperature = log.name("temperature")?;
/// log.write(temperature, &[[21.5_f32]])?;
/// log.end_frame()?; // it is safe
/// # assert_eq!((log.frames(), log.names()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OwnLogger<'s, S, const N: usize>(Desk<S, Own<'s>, N>);

impl<S, const N: usize> OwnLogger<'_, S, N> {
    /// The number of ended frames.
    pub const fn frames(&self) -> u64 {
        self.0.log.frames()
    }

    /// The number of names, including those that are not committed.
    #[must_use]
    pub const fn names(&self) -> u32 {
        self.0.log.form.count()
    }

    /// The number of frames of `chunks` chunks for which the index has room before it moves.
    #[must_use]
    pub fn frames_left(&self, chunks: u16) -> u64 {
        self.0.log.frames_left(chunks.into())
    }

    /// Discards the chunks of the current frame. Ended frames and names stay.
    pub fn discard_frame(&mut self) {
        self.0.log.discard();
    }

    /// The store.
    pub const fn store(&self) -> &S {
        self.0.disk.store()
    }

    /// Returns the store. Chunks of a frame that has not ended, and its new names, are lost.
    pub fn into_store(self) -> S {
        self.0.disk.into_store()
    }
}

impl<'s, S: WriteAt, const N: usize> OwnLogger<'s, S, N> {
    /// Opens the file in `store` to append to it, or creates one if the store is blank; see
    /// [`FixedLogger::open_or_create`](super::FixedLogger::open_or_create). Names that the shape
    /// may have are those of a new file.
    ///
    /// # Errors
    /// As of that method.
    pub fn open_or_create(store: S, shape: &'s Shape<'s, 0>) -> Result<Self, FixedError<S>> {
        let mut logger = Self(Desk::new(store, Own::new(shape.base())));
        logger.0.begin()?;
        Ok(logger)
    }

    /// The id of a name. A new name is added, and the next commit includes it. Call it once for
    /// each name when the device starts.
    ///
    /// # Errors
    /// [`Fault::BadName`](Fault::BadName) if no file can have the name;
    /// [`Fault::Full`](Fault::Full) if no other name has a place; the store's own error.
    /// There is no new name then.
    pub fn name(&mut self, name: &str) -> Result<u16, FixedError<S>> {
        match self.find_name(name.as_bytes())? {
            Some(id) => Ok(id),
            None => self.add_name(name.as_bytes()),
        }
    }

    #[inline(never)]
    fn find_name(&mut self, name: &[u8]) -> Result<Option<u16>, FixedError<S>> {
        let (disk, log) = self.0.known()?;
        let mut find = FindName::new(name, log.form.list(), Version::LAYER);
        let found = drive_read(&mut find, disk, &mut [0; PIECE]);
        found.map_err(|error| error.map_format(never))
    }

    #[inline(never)]
    fn add_name(&mut self, name: &[u8]) -> Result<u16, FixedError<S>> {
        let (disk, log) = self.0.known()?;
        let block = log.name_block(name)?;
        let mut moving = log.form.copy_names(block, name);
        run(&mut moving, disk)?;
        Ok(log.add_name(block, name))
    }

    /// Moves the index to the end of the file if the current frame has no room in it.
    #[inline(never)]
    fn grow(&mut self) -> Result<(), FixedError<S>> {
        let Some(block) = self.0.log.larger_index()? else { return Ok(()) };
        let (disk, log) = self.0.known()?;
        let end = block.offset_of(block.slots);
        if disk.size().map_err(DriveError::Store)? < end {
            disk.set_size(end).map_err(DriveError::Store)?;
        }
        let mut moving = log.copy_entries(block);
        run(&mut moving, disk)?;
        log.move_index(block);
        Ok(())
    }

    /// Adds a chunk to the current frame: rows of `m` values in row-major order, little-endian.
    ///
    /// # Errors
    /// See [`FixedLogger::chunk`](super::FixedLogger::chunk);
    /// [`Fault::FrameFull`](Fault::FrameFull) if the frame has `N` chunks.
    pub fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        self.0.chunk(id, kind, m, bytes)
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
        self.0.write(id, rows)
    }

    /// Ends the current frame and commits it; returns its number.
    ///
    /// After an error it may be called again. If [`frames`](Self::frames) has grown, the frame has
    /// ended, and the next call only completes its commit.
    ///
    /// # Errors
    /// [`Fault::NoChunks`](Fault::NoChunks) if the frame has no chunk;
    /// [`Fault::Full`](Fault::Full) if a larger index has no place: then it has not ended.
    /// The store's own error.
    pub fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
        self.grow()?;
        self.0.end_frame()
    }
}

fn run<S: WriteAt>(moving: &mut Move<'_>, disk: &mut Disk<S>) -> Result<(), FixedError<S>> {
    drive(moving, disk, &mut [0; PIECE]).map_err(DriveError::infallible)
}

/// The error of a search for a name, which does not fail.
const fn never(_: Error) -> Fault {
    Fault::Damaged
}

const _: () = assert!(PIECE.is_multiple_of(size_of::<IndexEntry>()));
