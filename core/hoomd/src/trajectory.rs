//! A trajectory, open for reading.

use crate::error::{Error, Fault};
use crate::names::{Name, last_of_each};
use crate::room::Room;
use crate::schema::{self, Field, Group};
use crate::source::{Open, Refresh, Source, read_into};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::slice;
use once_cell::race::OnceBox;
use striae_core::gsd::{self, Chunk, Version};

/// Number of members and frames that are accepted in a file of any length.
const BELIEVED: u64 = 1 << 20;

/// Bytes of values taken from frame 0 that are accepted for each byte of the file. A value that is
/// taken from frame 0 needs no bytes in the frame; the chunk of a step, which most frames have,
/// needs 40.
const TAKEN: u64 = 16;

/// File length in bytes that is assumed at least for this limit.
const SHORT: u64 = 1 << 24;

/// A file of the schema `hoomd`, open for reading. Many threads may call all of its methods at
/// once.
///
/// Data is read only when it is asked for: [`frame`](Self::frame) looks up the frame in the index,
/// and each method of the frame reads one quantity. A value that a frame does not have is taken
/// from frame 0, or it is a default (`spec/gsd-hoomd.md#values`).
///
/// ```
/// # use striae_hoomd::{File, Trajectory};
/// # const BYTES: &[u8] = include_bytes!("../doc/v21_hoomd_full_single.gsd");
/// let trajectory = Trajectory::<File<_>>::open(BYTES)?;
/// for frame in trajectory.frames(1..) {
///     let frame = frame?;
///     let positions = frame.particles().position()?.into_f32(); // x, y, z, x, y, z, ...
///     assert_eq!(positions.len() as u32, 3 * frame.particles().n()?);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trajectory<F> {
    file: F,
    /// The chunks of frame 0.
    first: OnceBox<Vec<Chunk>>,
    /// N of each group in frame 0, in the order of [`Group::ALL`].
    counts: [OnceBox<u64>; Group::ALL.len()],
}

impl<F: Source> Trajectory<F> {
    /// Opens the file at `place`; the [source](Open) defines what a place is.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) and of [`Open::open`].
    pub fn open<P>(place: P) -> Result<Self, F::Error>
    where
        F: Open<P>,
    {
        Self::new(F::open(place)?)
    }

    /// The trajectory in an open file.
    ///
    /// # Errors
    /// [`Error::Schema`] if the file has another schema; [`Error::Version`] if its schema version
    /// cannot be read.
    pub fn new(file: F) -> Result<Self, F::Error> {
        let header = &file.head().header;
        let (schema, version) = (header.schema, header.schema_version);
        if schema.as_bytes() != schema::NAME.as_bytes() {
            return Err(file.error(Error::Schema { schema }.into()));
        }
        if !schema::is_readable(version) {
            return Err(file.error(Error::Version { version }.into()));
        }
        Ok(Self { file, first: OnceBox::new(), counts: Default::default() })
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &F {
        &self.file
    }

    /// Returns the file.
    #[must_use]
    pub fn into_file(self) -> F {
        self.file
    }

    /// Version of the schema.
    #[must_use]
    pub fn schema_version(&self) -> Version {
        self.file.head().header.schema_version
    }

    /// Number of frames.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.file.head().frames
    }

    /// Whether there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the state of the file again, because a writer may have committed more frames; returns
    /// whether it has changed.
    ///
    /// # Errors
    /// The errors of [`Refresh::refresh`]. The earlier state is kept then.
    pub fn refresh(&mut self) -> Result<bool, F::Error>
    where
        F: Refresh,
    {
        let is_new = self.file.refresh()?;
        if is_new {
            // A file that was cut and written anew has another frame 0.
            (self.first, self.counts) = (OnceBox::new(), Default::default());
        }
        Ok(is_new)
    }

    /// Makes an error about this file.
    pub(crate) fn error(&self, fault: impl Into<Fault>) -> F::Error {
        self.file.error(fault.into())
    }

    /// The chunks of a frame itself, the last one of each name.
    pub(crate) fn chunks_of(&self, frame: u64) -> Result<Vec<Chunk>, F::Error> {
        let chunks = self.file.chunks_of_frames(frame..frame.saturating_add(1))?;
        let mut chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        if !self.file.head().header.version.is_sorted() {
            last_of_each(&mut chunks, |chunk| chunk.id);
        }
        Ok(chunks)
    }

    /// The chunks of frame 0.
    ///
    /// # Errors
    /// The errors of [`frame`](Self::frame).
    pub fn first(&self) -> Result<&[Chunk], F::Error> {
        if let Some(chunks) = self.first.get() {
            return Ok(chunks);
        }
        let chunks = self.chunks_of(0)?;
        Ok(self.first.get_or_init(|| Box::new(chunks)))
    }

    /// The name of a chunk.
    pub(crate) fn name(&self, chunk: &Chunk) -> Result<Name<'_>, F::Error> {
        let (id, names) = (chunk.id, self.file.head().names);
        self.file.names()?.get(id).ok_or_else(|| self.error(gsd::Error::NoName { id, names }))
    }

    /// The chunk with this name among the chunks of a frame.
    ///
    /// # Errors
    /// An error if the names cannot be read.
    pub fn named<'a>(
        &self,
        chunks: &'a [Chunk],
        name: impl AsRef<[u8]>,
    ) -> Result<Option<&'a Chunk>, F::Error> {
        let id = self.file.names()?.id(name);
        Ok(id.and_then(|id| chunks.iter().find(|chunk| chunk.id == id)))
    }

    /// N of a group in a frame with these chunks.
    ///
    /// # Errors
    /// See [`Frame`](crate::Frame).
    pub fn members(&self, chunks: &[Chunk], group: Group) -> Result<u64, F::Error> {
        match self.count_of(chunks, group)? {
            Some(count) => Ok(count),
            None => self.first_count(group),
        }
    }

    /// N of a group in frame 0.
    ///
    /// # Errors
    /// See [`Frame`](crate::Frame).
    pub fn first_count(&self, group: Group) -> Result<u64, F::Error> {
        let cell = self.counts.get(group.place());
        if let Some(&count) = cell.and_then(OnceBox::get) {
            return Ok(count);
        }
        let count = self.count_of(self.first()?, group)?.unwrap_or(0);
        Ok(cell.map_or(count, |cell| *cell.get_or_init(|| Box::new(count))))
    }

    /// N of a group, if one of these chunks states it.
    pub(crate) fn count_of(&self, chunks: &[Chunk], group: Group) -> Result<Option<u64>, F::Error> {
        let field = group.count();
        let Some(chunk) = self.named(chunks, field.name)? else { return Ok(None) };
        self.check(chunk, field, 1)?;
        let mut value = 0_u32;
        read_into(&self.file, chunk, slice::from_mut(&mut value))?;
        Ok(Some(value.into()))
    }

    /// Checks type and shape of a chunk against the schema; `n` is the number of its rows, unless
    /// that is the number of types.
    pub(crate) fn check(&self, chunk: &Chunk, field: &Field, n: u64) -> Result<(), F::Error> {
        field.check(chunk, Some(n)).map_err(|error| self.error(error))
    }

    /// The largest number of members of a group, and of frames, that is accepted although they may
    /// need no bytes in the file.
    pub fn most(&self) -> u64 {
        self.file_len().max(BELIEVED)
    }

    /// The most bytes of values taken from frame 0 or the defaults that are accepted, for the same
    /// reason.
    pub fn most_of_taken(&self) -> u64 {
        self.file_len().max(SHORT).saturating_mul(TAKEN)
    }

    /// The limit for chunks that are read together.
    pub(crate) fn room(&self) -> Room {
        Room::new(self.file_len())
    }

    fn file_len(&self) -> u64 {
        self.file.head().file_len
    }
}
