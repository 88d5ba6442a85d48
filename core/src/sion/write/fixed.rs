//! [`FixedWriter`] writes a file whose attributes and tasks are known when a program is compiled,
//! with less code than a [`Writer`](crate::sion::Writer).

mod fault;
mod find;
mod rows;
mod shape;
mod streams;

pub use fault::Fault;
pub use shape::Shape;

#[twin(empty, write_backwards)]
use super::create::{empty, write_backwards};
use super::cursor::Cursor;
use super::publish::{Desk, Terms};
use crate::sion::disk::meta1::Meta1;
use crate::step::DriveError;
use crate::store::{Disk, usize_to_u64};
#[twin(ReadAt, WriteAt)]
use crate::store::{ReadAt, WriteAt};
use rows::{PIECE, Rows};
use streams::Streams;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// Why writing to a store `S` failed.
pub type FixedError<S> = DriveError<<S as ReadAt>::Error, Fault>;

/// Why writing to an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncFixedError<S> = DriveError<<S as AsyncReadAt>::Error, Fault>;

/// Writes one physical file of `N` plain streams: commits and the close.
///
/// The files are ordinary SIONlib files, with the same bytes as those of a
/// [`Writer`](crate::sion::Writer), and survive the same power cuts; what that type says of devices
/// holds for this one.
///
/// It needs less code than a `Writer` because less can be asked of it. The file has the
/// attributes and tasks of its [`Shape`]. There are no seals, no key-value records and no sets of
/// several files. A stream fills one chunk after another: records stay whole in a chunk if the
/// chunksize is a multiple of their length. It goes on with files of its own shape, if all chunks
/// but the last of each stream are full; a `Writer` can reopen any file.
///
/// It needs no memory but its own, `48 * N` and about 280 bytes, for any `S`, and stack.
///
/// Each function that waits for the store has a second form for asynchronous firmware, such as
/// `commit_async`. Dropping a future counts as an error of the store.
///
/// ```
/// use striae_core::sion::{Attributes, FixedWriter, Shape};
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
/// // Two sensors, with 4096 and 512 bytes in each block.
/// const TASKS: [(i64, u64); 2] = [(0, 4096), (1, 512)];
/// static SHAPE: Shape<2> = match Shape::new(&Attributes::DEFAULT, b"log", TASKS) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have this shape"), // then it does not compile
/// };
///
/// let mut log = FixedWriter::open_or_create(card, &SHAPE)?;
/// log.write(0, b"a stream of any length")?;
/// log.write(1, &[0; 16])?; // 32 records of 16 bytes fill a chunk
/// log.commit()?; // from here on, whatever happens, this much can be read
/// log.close()?;
/// # let card = log.into_store();
/// # let mut window = [0; striae_core::sion::Meta1::MAX_LEN];
/// # let Ok(striae_core::sion::Opened::Closed(file)) =
/// #     striae_core::sion::Physical::open(card, &mut window) else { panic!() };
/// # let mut bytes = [0; 22];
/// # file.stream(file.task(0, &mut window).unwrap()).read_all(&mut bytes).unwrap();
/// # assert_eq!(&bytes, b"a stream of any length");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedWriter<S, const N: usize> {
    disk: Disk<S>,
    streams: Streams<N>,
}

impl<S, const N: usize> FixedWriter<S, N> {
    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        self.streams.book.meta1()
    }

    /// Where task `local` writes next.
    ///
    /// # Errors
    /// [`Fault::NoTask`].
    pub fn cursor(&self, local: u32) -> Result<&Cursor, Fault> {
        self.streams.cursor(local)
    }

    /// The store.
    pub const fn store(&self) -> &S {
        self.disk.store()
    }

    /// Returns the store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.disk.into_store()
    }

    fn new(store: S, shape: &Shape<N>) -> Self {
        Self { disk: Disk::new(store), streams: shape.streams }
    }

    /// The Book at work, and the ends of all streams.
    fn desk<'d>(&'d mut self, window: &'d mut [u8; PIECE]) -> (Desk<'d, Disk<S>>, &'d [Cursor]) {
        let Self { disk, streams } = self;
        let terms = Terms { ahead: streams.ahead, checksum: none, set_number: 0 };
        (Desk { book: &mut streams.book, store: disk, terms, window }, &streams.cursors)
    }
}

#[twin(WriteAt, FixedError = AsyncFixedError)]
impl<S: WriteAt, const N: usize> FixedWriter<S, N> {
    /// Creates a file in `store`, which is emptied first. When this returns, the file exists and is
    /// unclosed.
    ///
    /// # Errors
    /// The store's own error: the old content may be gone then.
    pub async fn create(mut store: S, shape: &Shape<N>) -> Result<Self, FixedError<S>> {
        empty(&mut store).await.map_err(DriveError::Store)?;
        let made = write_backwards(shape.start.as_bytes(), &mut store).await;
        made.map_err(DriveError::Store)?;
        Ok(Self::new(store, shape))
    }

    /// Opens the file in `store` to append to its streams, or creates one if the store is empty. A
    /// device calls this when it starts. Bytes after the last commit are lost.
    ///
    /// This never destroys the content of a store. A file is created if the store has no bytes, or
    /// only those that a creation of this file had written when the power was cut.
    ///
    /// # Errors
    /// [`Fault::NotBlank`] if the store has something else than a SIONlib file; [`Fault::Another`]
    /// for a file of another shape, a sealed file, and a file with chunks that were left before
    /// they were full; [`Fault::Damaged`]; the store's own error.
    pub async fn open_or_create(mut store: S, shape: &Shape<N>) -> Result<Self, FixedError<S>> {
        store.sync().await.map_err(DriveError::Store)?; // see `Writer::reopen`
        let mut writer = Self::new(store, shape);
        if !writer.streams.find(&shape.start, writer.disk.store()).await? {
            // It is not emptied: many devices cannot cut a file.
            let made = write_backwards(shape.start.as_bytes(), &mut writer.disk).await;
            made.map_err(DriveError::Store)?;
        }
        Ok(writer)
    }

    /// Writes `bytes` to the stream of task `local`, filling one chunk after another.
    ///
    /// # Errors
    /// [`Fault::NoTask`]; [`Fault::NoChunks`] if the task's chunksize is 0; [`Fault::Full`] if the
    /// file has no place for another chunk; the store's own error. After an error, none of `bytes`
    /// is in the stream.
    pub async fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.streams.book).await?;
        let (mut cursor, mut left) = (*self.streams.cursor(local)?, bytes);
        while !left.is_empty() {
            if cursor.room() == 0 {
                cursor = cursor.next_chunk().map_err(Fault::of)?;
            }
            self.enter(cursor.chunk()).await?;
            let room = usize::try_from(cursor.room()).unwrap_or(usize::MAX);
            let (part, rest) = left.split_at_checked(room).unwrap_or((left, &[]));
            let len = usize_to_u64(part.len());
            let place = cursor.place(len).map_err(Fault::of)?;
            self.disk.put(place.offset(), part).await.map_err(DriveError::Store)?;
            cursor.advance(len);
            left = rest;
        }
        self.streams.set_cursor(local, cursor);
        Ok(())
    }

    /// Enters `block`, which a commit may be in the way of.
    async fn enter(&mut self, block: u32) -> Result<(), FixedError<S>> {
        if u64::from(block) < self.streams.book.entered() {
            return Ok(());
        }
        let mut window = [0; PIECE];
        let (mut desk, _) = self.desk(&mut window);
        desk.enter(block, &mut Rows::of(None)).await.map_err(Fault::in_store)
    }

    /// Commits: makes all that was written a durable part of the file, for every reader.
    ///
    /// # Errors
    /// [`Fault::Full`] if META2 has no place in the file; the store's own error. What the file is
    /// then, [`Writer::commit`](crate::sion::Writer::commit) says. No written bytes are lost.
    pub async fn commit(&mut self) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.streams.book).await?;
        let (maxchunks, mut window) = (self.streams.maxchunks(), [0; PIECE]);
        let (mut desk, cursors) = self.desk(&mut window);
        desk.commit(maxchunks, &mut Rows::of(Some(cursors))).await.map_err(Fault::in_store)
    }

    /// Commits with META2 where SIONlib puts it, right after the last block in use, and cuts the
    /// file at the end of this commit. The writer may go on after that.
    ///
    /// # Errors
    /// See [`commit`](Self::commit). A store that cannot be cut
    /// ([`ErrorKind::Unsupported`](embedded_io::ErrorKind)) keeps meaningless bytes after META2;
    /// this is not an error.
    pub async fn close(&mut self) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.streams.book).await?;
        let (maxchunks, mut window) = (self.streams.maxchunks(), [0; PIECE]);
        let (mut desk, cursors) = self.desk(&mut window);
        desk.close(maxchunks, &mut Rows::of(Some(cursors))).await.map_err(Fault::in_store)
    }
}

/// The checksum in a file that has none.
const fn none(_: u32, _: &[u8]) -> u32 {
    0
}
