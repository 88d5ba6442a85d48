//! A file, read by many threads at once.

use super::runs::Runs;
use crate::direct;
use crate::each::{all_processors, for_each};
use crate::error::cdf::ErrorKind as Kind;
use crate::error::{Error, ErrorKind};
use crate::store::bulk::Bulk;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use striae_core::cdf::{self as core_cdf, ReadError, Region, Slab};
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::values::to_host;
use striae_inspect::cdf::{Element, Header, Variable};
use zerocopy::IntoBytes;

/// Bytes that a thread reads at once; a multiple of the size of every type.
const PIECE: usize = 1 << 22;

/// How to open a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenOptions {
    direct: Option<direct::OpenOptions>,
    threads: Option<NonZeroUsize>,
}

impl OpenOptions {
    /// Reads through the page cache, large parts with a thread for each processor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads values past the page cache where possible, if there are options for it; then one
    /// thread reads ahead. The header is read through the page cache.
    #[must_use]
    pub const fn direct(mut self, options: Option<direct::OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Sets the largest number of threads that read a region. Default: the number of processors.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`core_cdf::Error`] if it is no classic netCDF file or is damaged; an error of the operating
    /// system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path.as_ref();
        let store = Bulk::open(path, self.direct)?;
        store.direct()?; // what cannot be is said at once
        let header = Header::read(&store).map_err(|error| Error::new(path, error))?;
        Ok(File { path: path.into(), store, header: Arc::new(header), threads: self.threads })
    }
}

/// A classic netCDF file, open for reading. Many threads may call all methods at once. Clones share
/// the descriptor and the header.
///
/// Opening reads the header and keeps it in memory; values stay in the file. It shows the records
/// that the file had when it was opened.
#[derive(Debug, Clone)]
pub struct File {
    path: Arc<Path>,
    store: Bulk,
    header: Arc<Header>,
    threads: Option<NonZeroUsize>,
}

impl File {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`core_cdf::Error`] if it is no classic netCDF file or is damaged; an error of the operating
    /// system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// The path that the file was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The header: dimensions, attributes and variables.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The number of records.
    #[must_use]
    pub fn numrecs(&self) -> u64 {
        self.header.numrecs()
    }

    /// The variable with this name.
    ///
    /// # Errors
    /// [`NoVariable`](super::ErrorKind::NoVariable).
    pub fn variable(&self, name: &str) -> Result<Variable<'_>, Error> {
        let none = || self.error(Kind::NoVariable { name: name.into() });
        self.header.variable(name).ok_or_else(none)
    }

    /// The places of the values of a region, which must be in the file.
    ///
    /// # Errors
    /// [`Variable`](super::ErrorKind::Variable) if the variable does not have the region, or if the
    /// file ends before the region.
    pub fn slab<'a>(&self, variable: Variable<'a>, region: Region<'a>) -> Result<Slab<'a>, Error> {
        let slab = self.header.head().slab(variable.layout(), variable.shape(), region);
        slab.map_err(|error| self.in_variable(variable, error))
    }

    /// Reads all values of a variable, in C order.
    ///
    /// # Errors
    /// As [`read_region`](Self::read_region).
    pub fn read<T: Element>(&self, variable: Variable<'_>) -> Result<Vec<T>, Error> {
        let start = vec![0; variable.shape().len()];
        self.read_region(variable, whole(variable, &start))
    }

    /// Reads the values of a region, in C order.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into); an error of the operating system if there is no memory
    /// for the values.
    pub fn read_region<T: Element>(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
    ) -> Result<Vec<T>, Error> {
        let len = self.slab(variable, region)?.len();
        let count = len.checked_div(usize_to_u64(size_of::<T>())).unwrap_or(0);
        let values = usize::try_from(count).ok().and_then(|count| T::new_vec_zeroed(count).ok());
        let no_room = || self.error(io::Error::from(io::ErrorKind::OutOfMemory));
        let mut values = values.ok_or_else(no_room)?;
        self.read_into(variable, region, &mut values)?;
        Ok(values)
    }

    /// Reads the values of a region into `values`, which must have exactly their number.
    ///
    /// # Errors
    /// - [`NotOfType`](super::ErrorKind::NotOfType) if the values have another type.
    /// - [`Len`](super::ErrorKind::Len) if `values` has another length.
    /// - [`Variable`](super::ErrorKind::Variable) if the variable does not have the region, or if
    ///   the file ends before the region.
    /// - An error of the operating system.
    pub fn read_into<T: Element>(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        values: &mut [T],
    ) -> Result<(), Error> {
        let (name, nc_type) = (variable.name(), variable.nc_type());
        if !T::holds(nc_type) {
            return Err(self.error(Kind::NotOfType { name: name.into(), nc_type }));
        }
        self.fill(variable, region, values.as_mut_bytes(), |bytes| to_host(bytes, nc_type.size()))
    }

    /// Reads the values of a region as they are in the file, big-endian. `bytes` must have exactly
    /// their length.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into), except `NotOfType`.
    pub fn read_bytes_into(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        self.fill(variable, region, bytes, |_| ())
    }

    /// Calls `each` with the bytes of a region as they are in the file, big-endian, piece by piece,
    /// until it returns `false`. Pieces end between values.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into), except `NotOfType` and `Len`.
    pub fn read_pieces(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let slab = self.slab(variable, region)?;
        let (mut runs, mut skip) = (Runs::default(), 0);
        let mut window = vec![0; usize::try_from(slab.len()).unwrap_or(PIECE).min(PIECE)];
        loop {
            let left = usize::try_from(slab.len().saturating_sub(skip)).unwrap_or(usize::MAX);
            let len = left.min(window.len());
            let bytes = window.get_mut(..len).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(());
            }
            let read = runs.fill(&self.store, &slab, skip, bytes);
            read.map_err(|error| self.error(error))?;
            if !each(bytes) {
                return Ok(());
            }
            skip = skip.saturating_add(usize_to_u64(len));
        }
    }

    /// The file, of which variables are read.
    pub(super) const fn store(&self) -> &Bulk {
        &self.store
    }

    /// Reads a region into `bytes`, and calls `convert` for each piece of it.
    fn fill(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        bytes: &mut [u8],
        convert: impl Fn(&mut [u8]) + Sync,
    ) -> Result<(), Error> {
        let slab = self.slab(variable, region)?;
        let (given, len) = (usize_to_u64(bytes.len()), slab.len());
        if given != len {
            return Err(self.error(Kind::Len { given, len }));
        }
        if self.store.is_direct() {
            let mut rest = &mut *bytes;
            let read = self.store.read_pieces(slab.runs(), &mut Vec::new(), &mut |piece| {
                let len = piece.len().min(rest.len());
                let (front, behind) = std::mem::take(&mut rest).split_at_mut(len);
                front.copy_from_slice(piece.get(..len).unwrap_or_default());
                rest = behind;
                true
            });
            read.map_err(|error: ReadError<Bulk>| self.error(error))?;
            convert(bytes);
            return Ok(());
        }
        let pieces = bytes.len().div_ceil(PIECE);
        let threads = self.threads.unwrap_or_else(all_processors);
        let threads = NonZeroUsize::new(pieces).map_or(NonZeroUsize::MIN, |n| n.min(threads));
        let skips = (0_u64..).step_by(PIECE);
        for_each(skips.zip(bytes.chunks_mut(PIECE)).map(Ok), threads, || {
            let mut runs = Runs::default();
            let (slab, convert) = (&slab, &convert);
            move |(skip, piece): (u64, &mut [u8])| {
                let read = runs.fill(&self.store, slab, skip, piece);
                read.map_err(|error| self.error(error))?;
                convert(piece);
                Ok(())
            }
        })
    }

    fn in_variable(&self, variable: Variable<'_>, error: core_cdf::Error) -> Error {
        self.error(Kind::Variable { name: variable.name().into(), error })
    }

    /// Makes an error about this file.
    pub(crate) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }
}

/// The region of all values of a variable; `start` has a 0 for each dimension.
#[must_use]
pub fn whole<'a>(variable: Variable<'a>, start: &'a [u64]) -> Region<'a> {
    Region { start, count: variable.shape(), stride: None }
}
