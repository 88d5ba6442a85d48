//! A file of the schema, open for reading.

use super::error::Error as HoomdError;
use super::frame::Frame;
use super::schema::{self, Field, Group};
use crate::error::{Error, ErrorKind};
use crate::gsd::room::Room;
use crate::gsd::{File, last_of_each};
use std::ops::{Bound, Range, RangeBounds};
use std::path::Path;
use std::sync::OnceLock;
use striae_core::gsd::{self as core_gsd, Chunk, Version};

/// Members and frames that are believed whatever the length of the file.
const BELIEVED: u64 = 1 << 20;

/// Bytes of taken values that are believed for each byte of the file: a value that is as in frame 0 takes
/// none of it, and the chunk of a step, which most frames have, takes 40.
const TAKEN: u64 = 16;

/// Bytes of a file that are believed whatever its length, when it is about taken values.
const SHORT: u64 = 1 << 24;

/// A file of the schema `hoomd`, open for reading. All of its methods may be called by many threads
/// at once.
///
/// Nothing is read but what is asked for: [`frame`](Self::frame) looks up the frame's part of the
/// index, and each quantity is read when its method is called. What a frame does not say is as in
/// frame 0, or a default (`spec/gsd-hoomd.md#values`).
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/gsd/v21_hoomd_full_single.gsd");
/// let trajectory = striae::gsd::hoomd::Trajectory::open(path)?;
/// for frame in trajectory.frames(1..) {
///     let frame = frame?;
///     let positions = frame.particles().position()?.into_f32(); // x, y, z, x, y, z, ...
///     assert_eq!(positions.len() as u32, 3 * frame.particles().n()?);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trajectory {
    file: File,
    /// The chunks of frame 0.
    first: OnceLock<Vec<Chunk>>,
    /// N of each group in frame 0, in the order of [`Group::ALL`].
    counts: [OnceLock<u64>; Group::ALL.len()],
}

impl Trajectory {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// As [`new`](Self::new); what [`File::open`] says.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::new(File::open(path)?)
    }

    /// The trajectory in an open file.
    ///
    /// # Errors
    /// [`HoomdError::Schema`], [`HoomdError::Version`].
    pub fn new(file: File) -> Result<Self, Error> {
        let header = file.header();
        let (schema, version) = (header.schema, header.schema_version);
        if schema.as_bytes() != schema::NAME.as_bytes() {
            return Err(Error::new(file.path(), HoomdError::Schema { schema }));
        }
        if !schema::is_readable(version) {
            return Err(Error::new(file.path(), HoomdError::Version { version }));
        }
        Ok(Self { file, first: OnceLock::new(), counts: Default::default() })
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// The file, given back.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file
    }

    /// Version of the schema.
    #[must_use]
    pub const fn schema_version(&self) -> Version {
        self.file.header().schema_version
    }

    /// How many frames there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.file.frames()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks again at what the file holds, as a writer may have committed more; says whether it has
    /// changed.
    ///
    /// # Errors
    /// As [`File::refresh`]. What was known before is kept then.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let is_new = self.file.refresh()?;
        if is_new {
            // A file that was cut and written anew has another frame 0.
            (self.first, self.counts) = (OnceLock::new(), Default::default());
        }
        Ok(is_new)
    }

    /// A frame.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoFrame`]; a damaged entry of the index; the operating system's.
    pub fn frame(&self, number: u64) -> Result<Frame<'_>, Error> {
        let frames = self.len();
        if number >= frames {
            return Err(self.error(core_gsd::Error::NoFrame { frame: number, frames }));
        }
        Ok(Frame::new(self, number, self.chunks_of(number)?))
    }

    /// Some frames, looked up while they are asked for; of those that there are not, none.
    /// [`Iterator::step_by`] and [`Iterator::rev`] look up only what they give.
    pub fn frames(&self, numbers: impl RangeBounds<u64>) -> Frames<'_> {
        let start = match numbers.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match numbers.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        Frames { trajectory: self, numbers: start..end.min(self.len()) }
    }

    /// An error of this file.
    pub(in crate::gsd) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(self.file.path(), kind)
    }

    fn chunks_of(&self, frame: u64) -> Result<Vec<Chunk>, Error> {
        let mut chunks = self.file.chunks_of(frame)?.collect::<Result<Vec<_>, _>>()?;
        if !self.file.header().version.is_sorted() {
            last_of_each(&mut chunks, |chunk| chunk.id);
        }
        Ok(chunks)
    }

    /// The chunks of frame 0.
    pub(in crate::gsd) fn first(&self) -> Result<&[Chunk], Error> {
        if let Some(chunks) = self.first.get() {
            return Ok(chunks);
        }
        let chunks = self.chunks_of(0)?;
        Ok(self.first.get_or_init(|| chunks))
    }

    /// The chunk of a name among those of a frame.
    pub(in crate::gsd) fn named<'a>(
        &self,
        chunks: &'a [Chunk],
        name: impl AsRef<[u8]>,
    ) -> Result<Option<&'a Chunk>, Error> {
        let id = self.file.names()?.id(name);
        Ok(id.and_then(|id| chunks.iter().find(|chunk| chunk.id == id)))
    }

    /// N of a group in a frame with these chunks.
    pub(in crate::gsd) fn members(&self, chunks: &[Chunk], group: Group) -> Result<u64, Error> {
        match self.count_of(chunks, group)? {
            Some(count) => Ok(count),
            None => self.first_count(group),
        }
    }

    /// N of a group in frame 0.
    pub(in crate::gsd) fn first_count(&self, group: Group) -> Result<u64, Error> {
        let cell = self.counts.get(group.place());
        if let Some(&count) = cell.and_then(OnceLock::get) {
            return Ok(count);
        }
        let count = self.count_of(self.first()?, group)?.unwrap_or(0);
        Ok(cell.map_or(count, |cell| *cell.get_or_init(|| count)))
    }

    /// N of a group if it is among the chunks of a frame.
    pub(super) fn count_of(&self, chunks: &[Chunk], group: Group) -> Result<Option<u64>, Error> {
        let field = group.count();
        let Some(chunk) = self.named(chunks, field.name)? else { return Ok(None) };
        self.check(chunk, field, 1)?;
        let mut value = 0_u32;
        self.file.read_into(chunk, std::slice::from_mut(&mut value))?;
        Ok(Some(value.into()))
    }

    /// Refuses a chunk of another type or shape than the schema's; `n` are its rows unless they are
    /// as many as there are types.
    pub(super) fn check(&self, chunk: &Chunk, field: &Field, n: u64) -> Result<(), Error> {
        field.check(chunk, Some(n)).map_err(|error| self.error(error))
    }

    /// Most members of a group, and most frames, that are believed without a place in the file for
    /// each: memory that they need is not bounded by the file's length.
    pub(in crate::gsd) fn most(&self) -> u64 {
        self.file_len().max(BELIEVED)
    }

    /// Most bytes that are believed of values which frames take from elsewhere, for the same reason.
    pub(in crate::gsd) fn most_of_taken(&self) -> u64 {
        self.file_len().max(SHORT).saturating_mul(TAKEN)
    }

    /// What the chunks that are read together have room for.
    pub(super) fn room(&self) -> Room {
        Room::new(self.file_len())
    }

    const fn file_len(&self) -> u64 {
        self.file.head().file_len
    }
}

/// Some frames of a trajectory.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    trajectory: &'a Trajectory,
    numbers: Range<u64>,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.numbers.nth(n).map(|number| self.trajectory.frame(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl DoubleEndedIterator for Frames<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
        self.numbers.nth_back(n).map(|number| self.trajectory.frame(number))
    }
}
