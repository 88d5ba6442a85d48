//! [`Writer`] writes a classic netCDF file.
//!
//! Nothing allocates: the caller lends a [`Slot`] for each variable and a window. Each write goes
//! to the store at once.

use super::book::{Book, Slot};
use super::define::Define;
use super::encode::Encode;
use super::plan::Plan;
use crate::cdf::error::Error;
#[twin(ReadError = AsyncError)]
use crate::cdf::error::ReadError;
use crate::cdf::layout::{Layout, Slab};
use crate::cdf::read::reader::Reader;
use crate::cdf::values::{Fill, Values};
use crate::span::Span;
use crate::step::DriveError;
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
use crate::store::Disk;
#[twin(ReadAt, WriteAt)]
use crate::store::{ReadAt, WriteAt};
use striae_twin::twin;

/// Why writing to a store `S` failed.
pub type WriteError<S> = ReadError<S>;

/// Writes a classic netCDF file: fixed variables, records, commits.
///
/// Until the first commit there is no file. After a commit, whatever happens, netCDF-C and PnetCDF
/// read all records that were complete before it. If the writer is dropped, the file is as the last
/// commit left it; the next writer overwrites what comes after its records. This holds if the
/// store's `sync` makes writes durable, and if a write to the first 12 bytes, which are in one
/// sector, is done or not done (`spec/cdf.md#writing-with-striae`).
///
/// `slots` needs a [`Slot`] for each variable, `window` at least [`Writer::WINDOW`] bytes; a larger
/// one makes fewer writes of fill values and of numbers that are not big-endian.
///
/// # On a device
/// Each call writes to the store at once, and a commit syncs twice; so the writer belongs in the
/// main loop. [`SeekStore`](crate::store::SeekStore) makes a store of a file on a card. This logger
/// makes a file of CDF-2, which `ncdump` shows:
///
/// ```
/// use striae_core::cdf::{
///     Alignment, AttrDef, Definition, DimDef, Fill, Plan, Reader, Region, Slot, Type, VarDef,
///     Version, Writer,
/// };
/// # let mut card = vec![0; 2048];
/// # let card = card.as_mut_slice();
/// const TIME: u64 = 0; // numbers of the variables
/// const TEMPERATURE: u64 = 1;
/// let time = VarDef { name: "time", nc_type: Type::Int, dimids: &[0] };
/// let temperature = VarDef { name: "temperature", nc_type: Type::Float, dimids: &[0, 1] };
/// let definition = Definition {
///     dims: &[DimDef::record("time"), DimDef { name: "sensor", length: 3 }],
///     attrs: &[AttrDef::new("title", "probe 7")],
///     vars: &[
///         (time, &[AttrDef::new("units", "seconds since 2024-05-01")]),
///         (temperature, &[AttrDef::new("units", "K")]),
///     ],
/// };
/// let plan = Plan::new(&definition, Version::Cdf2, Alignment::default())?;
///
/// let (slots, window) = ([Slot::EMPTY; 2], [0; 512]);
/// let mut log = Writer::create(card, &definition, &plan, Fill::Values, slots, window)?;
/// for second in 0..4 {
///     log.put(TIME, &second)?;
///     log.put(TEMPERATURE, &[290.5_f32, 291.0, 289.25])?;
///     log.end_record()?;
///     log.commit()?; // from here on, whatever happens, the record can be read
/// }
///
/// let (mut lengths, mut window) = ([0; 2], [0; 512]);
/// let file = Reader::open(log.into_store(), &mut lengths, &mut window)?;
/// assert_eq!(file.lengths(), [4, 3]); // 4 records of 3 values
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// After a restart, [`open`](Writer::open) goes on after the last record. The repository has this
/// logger as a program for a Cortex-M3, with power cuts (`core/firmware/src/bin/netcdf.rs`).
///
/// After an error of the store, the writer looks whether the store still has the file before it
/// writes again: if not, the error is [`Error::Swapped`].
#[derive(Debug)]
pub struct Writer<S, B, W> {
    disk: Disk<S>,
    book: Book<B>,
    window: W,
}

/// What a call works with.
type Known<'w, S, B> = (&'w mut Disk<S>, &'w mut Book<B>, &'w mut [u8]);

impl<S, B, W> Writer<S, B, W> {
    /// The bytes that a window needs; [`open`](Self::open) also needs as many as [`Reader::open`].
    pub const WINDOW: usize = super::book::WINDOW;

    /// The store. Bytes in it that are not committed have no meaning yet.
    pub const fn store(&self) -> &S {
        self.disk.store()
    }

    /// The store, for values that are written to the places of [`place`](Self::place).
    pub fn store_mut(&mut self) -> &mut S {
        self.disk.lend_from(0)
    }

    /// Returns the store without a commit.
    pub fn into_store(self) -> S {
        self.disk.into_store()
    }
}

impl<S, B: AsMut<[Slot]>, W: AsMut<[u8]>> Writer<S, B, W> {
    /// The number of complete records, including those that are not committed.
    pub fn records(&self) -> u64 {
        self.book.records()
    }

    /// The number of records that were committed.
    pub fn committed(&self) -> u64 {
        self.book.committed()
    }

    /// See [`Book::place`].
    ///
    /// # Errors
    /// See [`Book::place`].
    pub fn place(&mut self, varid: u64, record: u64) -> Result<Span, Error> {
        self.book.place(varid, record)
    }

    /// The layout of a variable, for a [`Slab`].
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable.
    pub fn layout(&mut self, varid: u64) -> Result<Layout, Error> {
        self.book.layout(varid)
    }

    /// Notes that values were written to [`place`](Self::place): all of a fixed variable, or of a
    /// record variable in the current record.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable.
    pub fn written(&mut self, varid: u64) -> Result<(), Error> {
        self.book.written(varid)
    }

    /// Ends the current record and some more: `count` records whose values were all written to
    /// [`place`](Self::place).
    ///
    /// # Errors
    /// [`Error::Records`] if no file can have so many records.
    pub fn end_records(&mut self, count: u64) -> Result<(), Error> {
        self.book.end_records(count)
    }

    /// Whether the file can have so many records more.
    #[cfg(feature = "blob")]
    pub(crate) fn check_records(&self, count: u64) -> Result<(), Error> {
        self.book.check_records(count).map(drop)
    }

    /// Notes the values that were put, by which the file is recognised.
    fn note(&mut self) {
        if let Some((offset, end)) = self.book.last_put() {
            self.disk.put_was(offset, &end);
        }
    }

    /// Discards what was put in the current record.
    pub fn discard_record(&mut self) {
        self.book.discard_record();
    }
}

/// # Dropping a future
/// Dropping a future before it is ready counts as a failed call: the same call can be repeated.
/// [`create_async`](Writer::create_async) and [`open_async`](Writer::open_async) return no writer
/// then.
///
/// An asynchronous store must keep the rules of `AsyncWriteAt`.
#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt, B: AsMut<[Slot]>, W: AsMut<[u8]>> Writer<S, B, W> {
    /// Begins the file of `plan`, which was made of `definition`. The old content of the store is
    /// lost.
    ///
    /// # Errors
    /// [`Error::VarsMemory`] and [`Error::Window`] for memory that is too small; the store's own
    /// error, also if it cannot be cut, which [`Fill::None`] needs.
    pub async fn create<D: Define + ?Sized>(
        store: S,
        definition: &D,
        plan: &Plan,
        fill: Fill,
        slots: B,
        mut window: W,
    ) -> Result<Self, WriteError<S>> {
        let book = Book::create(definition, plan, fill, slots)?;
        let mut store = Disk::new(store);
        Encode::new(definition, plan, 0, window.as_mut())?.begin(&mut store, fill).await?;
        let (at, mut end) = (plan.header_len().saturating_sub(4), [0; 4]);
        read_exact(&store, at, &mut end).await?;
        store.put_was(at, &end); // by which the writer recognises the file
        store.sync().await.map_err(DriveError::Store)?;
        Ok(Self { disk: store, book, window })
    }

    /// Opens the file in `store` to append records. `lengths` needs an entry for each dimension.
    ///
    /// Bytes after the last record, of a record that was not committed, are overwritten. A file
    /// without a number of records ([`Head::is_streaming`](crate::cdf::Head)) gets it first. With
    /// [`Fill::None`] the store is cut after the last record.
    ///
    /// # Errors
    /// See [`Reader::open`]; [`Error::VarsMemory`] and [`Error::Window`] for memory that is too
    /// small; the store's own error.
    pub async fn open(
        mut store: S,
        fill: Fill,
        lengths: &mut [u64],
        slots: B,
        mut window: W,
    ) -> Result<Self, WriteError<S>> {
        let buf = window.as_mut();
        if buf.len() < Self::WINDOW {
            return Err(Error::window(buf.len(), Self::WINDOW).into());
        }
        let file = Reader::open(&store, lengths, buf).await?;
        let mut book = Book::open(file.head(), fill, slots)?;
        let mut find = book.find_variables(file.head(), file.lengths());
        drive_read(&mut find, &store, buf).await?;
        drop(find);
        while let Some((varid, at)) = book.next_fill() {
            let mut value = [0; 8];
            read_exact(&store, at.offset(), at.front_of(&mut value)).await?;
            book.set_fill(varid, value)?;
        }
        let is_streaming = book.is_streaming();
        if fill == Fill::None {
            store.set_size(book.file_len()).await.map_err(DriveError::Store)?;
        }
        let mut writer = Self { disk: Disk::new(store), book, window };
        if is_streaming {
            writer.commit().await?;
        }
        Ok(writer)
    }

    /// The store, after the file was recognised in it, the book and the window.
    #[inline]
    async fn known(&mut self) -> Result<Known<'_, S, B>, WriteError<S>> {
        self.disk.recognise(&self.book).await?;
        Ok((&mut self.disk, &mut self.book, self.window.as_mut()))
    }

    /// Puts all values of a fixed variable, or all of a record variable in the current record.
    ///
    /// # Errors
    /// [`Error::NoVar`] if there is no such variable; [`Error::Type`] for values of another type;
    /// [`Error::Count`] for another number of bytes; [`Error::Records`] if no file can have another
    /// record; the store's own error: some of the values may be in the store, and the call can be
    /// repeated.
    pub async fn put<'v>(
        &mut self,
        varid: u64,
        values: impl Into<Values<'v>>,
    ) -> Result<(), WriteError<S>> {
        let (store, book, window) = self.known().await?;
        book.put(store, varid, values.into(), window).await?;
        self.note();
        Ok(())
    }

    /// Puts the values of a region; see [`Book::put_slab`].
    ///
    /// ```
    /// # use striae_core::cdf::{
    /// #     Alignment, Definition, DimDef, Fill, Plan, Region, Slab, Slot, Type, VarDef, Version,
    /// #     Writer,
    /// # };
    /// # let mut store = vec![0; 512 + 12];
    /// # let map = VarDef { name: "map", nc_type: Type::Short, dimids: &[0, 1] };
    /// # let dims = [DimDef { name: "y", length: 2 }, DimDef { name: "x", length: 3 }];
    /// # let definition = Definition { dims: &dims, attrs: &[], vars: &[(map, &[])] };
    /// # let plan = Plan::new(&definition, Version::Cdf1, Alignment::default())?;
    /// # let (slots, window) = ([Slot::EMPTY], [0; 64]);
    /// # let store = &mut store[..];
    /// # let mut file = Writer::create(store, &definition, &plan, Fill::Values, slots, window)?;
    /// let region = Region { start: &[0, 1], count: &[2, 1], stride: None }; // a column
    /// let slab = Slab::new(file.layout(0)?, &[2, 3], region)?;
    /// file.put_slab(0, slab, &[7_i16, 8])?;
    /// # file.commit()?;
    /// # let fill = [0x80, 0x01];
    /// # let expected = [fill, [0, 7], fill, fill, [0, 8], fill].concat();
    /// # assert_eq!(file.into_store()[512..], expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`put`](Self::put); [`Error::OutOfShape`] for a record after the current one;
    /// [`Error::Shape`] if the slab is not one of the variable.
    pub async fn put_slab<'v>(
        &mut self,
        varid: u64,
        slab: Slab<'v>,
        values: impl Into<Values<'v>>,
    ) -> Result<(), WriteError<S>> {
        let (store, book, window) = self.known().await?;
        book.put_slab(store, varid, slab, values.into(), window).await?;
        self.note();
        Ok(())
    }

    /// Ends the current record: what was not put in it is filled. Returns its number. The next
    /// commit counts it.
    ///
    /// # Errors
    /// [`Error::Records`] if no file can have another record; the store's own error: the record has
    /// not ended then.
    pub async fn end_record(&mut self) -> Result<u64, WriteError<S>> {
        let (store, book, window) = self.known().await?;
        let number = book.records();
        book.end_record(store, window).await?;
        Ok(number)
    }

    /// Makes all complete records durable and counts them in the header. The first commit also
    /// fills fixed variables that were not put, and makes the file a netCDF file.
    ///
    /// This takes two syncs, or one if there is no new record, or none if nothing was put.
    ///
    /// # Errors
    /// The store's own error: the file is as the last commit left it, or as this one leaves it. The
    /// next commit tries again.
    pub async fn commit(&mut self) -> Result<(), WriteError<S>> {
        let (store, book, window) = self.known().await?;
        if book.fill() == Fill::None {
            let len = book.file_len(); // no value may lie after the end of the store
            if store.size().await.map_err(DriveError::Store)? < len {
                store.set_size(len).await.map_err(DriveError::Store)?;
            }
        }
        book.commit(store, window).await
    }

    /// Commits, and cuts the store after the last record. A record that has not ended is lost.
    ///
    /// # Errors
    /// See [`commit`](Self::commit); the store's own error, also if it cannot be cut: the file is
    /// complete then, and has bytes after its end that no reader uses.
    pub async fn close(&mut self) -> Result<(), WriteError<S>> {
        self.commit().await?;
        let (store, len) = (&mut self.disk, self.book.file_len());
        if store.size().await.map_err(DriveError::Store)? == len {
            return Ok(());
        }
        store.set_size(len).await.map_err(DriveError::Store)?;
        store.sync().await.map_err(DriveError::Store)
    }
}
