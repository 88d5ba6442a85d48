//! Writing files.

use crate::error::{Error, ErrorKind};
use crate::lock::{Locked, lock};
use crate::posix::PosixFile;
use crate::publish::Publish;
use crate::store::{Durability, Gatherer, WriteOptions};
use std::fmt;
use std::path::{Path, PathBuf};
use striae_core::cdf::writer::WriteError;
use striae_core::cdf::{
    self as core_cdf, Alignment, Define, Fill, Layout, Plan, Slab, Slot, Values, Version,
};
use striae_inspect::cdf::Header;

/// Bytes of memory for fill values, and for numbers that are not big-endian.
const WINDOW: usize = 1 << 16;

type Inner = core_cdf::Writer<Gatherer<Locked>, Vec<Slot>, Vec<u8>>;

/// How a netCDF file is made, or opened to append records.
///
/// ```
/// use striae::cdf::{AttrDef, Builder, Definition, DimDef, File, Type, VarDef, Version};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.nc");
/// let celsius = VarDef { name: "celsius", nc_type: Type::Float, dimids: &[0] };
/// let definition = Definition {
///     dims: &[DimDef::record("time")],
///     attrs: &[AttrDef::new("title", "probe 7")],
///     vars: &[(celsius, &[])],
/// };
/// let mut file = Builder::new(Version::Cdf2).create(&path, &definition)?;
/// for value in [17.5_f32, 18.0] {
///     file.put(0, &value)?;
///     file.end_record()?;
/// }
/// file.commit()?; // whatever happens now, these records are in the file
/// file.put(0, &18.5_f32)?;
/// file.end_record()?;
/// file.close()?;
///
/// let mut file = Builder::new(Version::Cdf2).append(&path)?;
/// file.put(0, &19.0_f32)?;
/// file.end_record()?;
/// file.close()?;
///
/// let file = File::open(&path)?;
/// assert_eq!(file.read::<f32>(file.variable("celsius")?)?, [17.5, 18.0, 18.5, 19.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    version: Version,
    alignment: Alignment,
    fill: Fill,
    force: bool,
    write: WriteOptions,
}

impl Builder {
    /// Files of this version, as durable as commits can make them; no file is replaced.
    #[must_use]
    pub fn new(version: Version) -> Self {
        let (alignment, fill) = (Alignment::default(), Fill::Values);
        Self { version, alignment, fill, force: false, write: WriteOptions::NEW }
    }

    /// Sets where the sections of a new file begin.
    #[must_use]
    pub const fn alignment(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }

    /// Sets what becomes of values that nobody writes.
    #[must_use]
    pub const fn fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// Whether an existing file is replaced; otherwise it is an error. A symbolic link stays, and
    /// its target is replaced.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    crate::write_options!(durability lock buffer);

    /// Begins a file with this definition.
    ///
    /// It is made in a hidden folder next to `path`, and gets its name with the first commit, or
    /// when it is closed. Before that, `path` is unchanged.
    ///
    /// # Errors
    /// - [`ErrorKind::Exists`] if a file exists and may not be replaced.
    /// - [`ErrorKind::Locked`] if another writer has the file that is to be replaced.
    /// - [`Define`](core_cdf::Error::Define) for a definition that no file of this version can
    ///   have.
    /// - An error of the operating system.
    pub fn create<D: Define + ?Sized>(
        &self,
        path: impl AsRef<Path>,
        definition: &D,
    ) -> Result<Writer, Error> {
        let path = path.as_ref();
        let plan = Plan::new(definition, self.version, self.alignment);
        let plan = plan.map_err(|error| Error::new(path, error))?;
        let publish = Publish::single(path, self.force, self.write.lock)?;
        let file = PosixFile::create(&publish.hidden(0), false);
        let file = file.map_err(|error| Error::new(path, error))?.durable(self.write.is_durable());
        let store = self.store(lock(file, path, self.write.lock)?, path)?;
        let (slots, window) = (vec![Slot::EMPTY; count(plan.nvars())], vec![0; WINDOW]);
        let inner = Inner::create(store, definition, &plan, self.fill, slots, window);
        let inner = inner.map_err(|error| Error::new(path, error))?;
        let unnamed = Some(Unnamed { publish, durable: self.write.is_durable() });
        Ok(Writer { path: path.into(), inner, unnamed })
    }

    /// Opens the file at `path`, of any program, to append records. Values of records that were not
    /// committed are overwritten. The version and the alignment are those of the file.
    ///
    /// # Errors
    /// - [`core_cdf::Error`] if it is no classic netCDF file or is damaged.
    /// - [`ErrorKind::Locked`] if another writer has the file.
    /// - An error of the operating system.
    pub fn append(&self, path: impl AsRef<Path>) -> Result<Writer, Error> {
        let path = path.as_ref();
        let file = Locked::open(path, self.write.is_durable(), self.write.lock)?;
        let header = Header::read(&*file).map_err(|error| Error::new(path, error))?;
        let (ndims, nvars) = (header.head().ndims, header.head().nvars);
        // The longest name is shorter than the header.
        let window = vec![0; WINDOW.max(count(header.head().header_len))];
        let (mut lengths, slots) = (vec![0; count(ndims)], vec![Slot::EMPTY; count(nvars)]);
        let store = self.store(file, path)?;
        let inner = Inner::open(store, self.fill, &mut lengths, slots, window);
        let inner = inner.map_err(|error| Error::new(path, error))?;
        Ok(Writer { path: path.into(), inner, unnamed: None })
    }

    fn store(&self, file: Locked, path: &Path) -> Result<Gatherer<Locked>, Error> {
        Gatherer::new(file, self.write.buffer).map_err(|error| Error::new(path, error))
    }
}

/// A count of items that are in memory, or in a file that was read.
fn count(items: u64) -> usize {
    usize::try_from(items).unwrap_or(usize::MAX)
}

/// A file without its name.
#[derive(Debug)]
struct Unnamed {
    publish: Publish,
    durable: bool,
}

/// A netCDF file that is written. A commit makes its complete records part of the file.
///
/// Until [`commit`](Self::commit), the file is as the last commit left it for all readers, whatever
/// happens; before the first one it has no name. An error of the disk loses nothing: the failed
/// call can be repeated.
///
/// There is one writer at a time ([`ErrorKind::Locked`]). netCDF-C and PnetCDF may read meanwhile.
/// A writer that is dropped without a close leaves the file as the last commit left it.
pub struct Writer {
    path: PathBuf,
    inner: Inner,
    unnamed: Option<Unnamed>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Writer");
        text.field("path", &self.path).field("records", &self.records()).finish_non_exhaustive()
    }
}

impl Writer {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of complete records, including those that are not committed.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.inner.records()
    }

    /// The number of records that were committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.inner.committed()
    }

    /// The layout of a variable, for a [`Slab`].
    ///
    /// # Errors
    /// [`NoVar`](core_cdf::Error::NoVar) if there is no such variable.
    pub fn layout(&mut self, varid: u64) -> Result<Layout, Error> {
        self.inner.layout(varid).map_err(|error| Error::new(&self.path, error))
    }

    /// Puts all values of a fixed variable, or all of a record variable in the current record.
    /// Variables are numbered from 0 in the order of the definition.
    ///
    /// # Errors
    /// See [`core_cdf::Writer::put`].
    pub fn put<'v>(&mut self, varid: u64, values: impl Into<Values<'v>>) -> Result<(), Error> {
        let put = self.inner.put(varid, values);
        self.at(put)
    }

    /// Puts the values of a region of a variable; see [`core_cdf::Book::put_slab`].
    ///
    /// # Errors
    /// See [`core_cdf::Writer::put_slab`].
    pub fn put_slab<'v>(
        &mut self,
        varid: u64,
        slab: Slab<'v>,
        values: impl Into<Values<'v>>,
    ) -> Result<(), Error> {
        let put = self.inner.put_slab(varid, slab, values);
        self.at(put)
    }

    /// Ends the current record: what was not put in it is filled. Returns its number. The next
    /// commit counts it.
    ///
    /// # Errors
    /// See [`core_cdf::Writer::end_record`].
    pub fn end_record(&mut self) -> Result<u64, Error> {
        let ended = self.inner.end_record();
        self.at(ended)
    }

    /// Discards what was put in the current record.
    pub fn discard_record(&mut self) {
        self.inner.discard_record();
    }

    /// Makes all complete records durable and part of the file. The first commit also fills fixed
    /// variables that were not put, and gives a new file its name.
    ///
    /// # Errors
    /// - [`ErrorKind::Exists`] if a file has got the name of a new file meanwhile.
    /// - An error of the operating system: the file is as the last commit left it, or as this one
    ///   leaves it.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.check_name()?;
        let committed = self.inner.commit();
        self.at(committed)?;
        self.name()
    }

    /// Commits, and cuts the file after its last record. A record that has not ended is lost.
    ///
    /// # Errors
    /// See [`commit`](Self::commit).
    pub fn close(mut self) -> Result<(), Error> {
        self.check_name()?;
        let closed = self.inner.close();
        self.at(closed)?;
        let trimmed = self.inner.store().trim();
        trimmed.map_err(|error| Error::new(&self.path, error))?;
        self.name()
    }

    /// Gives a new file its name.
    fn name(&mut self) -> Result<(), Error> {
        if let Some(Unnamed { publish, durable, .. }) = &self.unnamed {
            publish.give_names(*durable)?;
        }
        self.unnamed = None; // with the lock of the file that it has replaced
        Ok(())
    }

    /// Fails if the file has lost its name.
    fn check_name(&self) -> Result<(), Error> {
        let checked = self.inner.store().file().check_name();
        checked.map_err(|error| Error::new(&self.path, error))
    }

    fn at<T>(&self, result: Result<T, WriteError<Gatherer<Locked>>>) -> Result<T, Error> {
        result.map_err(|error| Error::new(&self.path, ErrorKind::from(error)))
    }
}
