//! A set of files, opened when needed, with a limit on the open files.

use crate::direct;
use crate::error::Error;
use crate::posix::PosixFile;
pub use crate::posix::max_open_files;
use crate::store::bulk::Bulk;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use striae_core::embedded_io::ReadExactError;
use striae_core::span::Stride;
use striae_core::store::ReadAt;

/// The files of a set: each is opened when it is read, and closed again when too many are open.
#[derive(Debug)]
pub struct Files {
    slots: Vec<Slot>,
    /// Numbers of the open files, in the order in which they were opened.
    open: Mutex<VecDeque<usize>>,
    max_open: usize,
    /// The options for direct reading, if data is read directly.
    direct: Option<direct::OpenOptions>,
}

#[derive(Debug)]
struct Slot {
    path: PathBuf,
    /// Device and inode of the file when it was first opened, so that a replacement is noticed.
    identity: OnceLock<(u64, u64)>,
    file: RwLock<Option<Arc<Bulk>>>,
}

impl Files {
    /// Opens each of `paths` once; keeps at most `max_open` of them open (at least one).
    ///
    /// Takes the next path only after the file before it was found, because the number of paths may
    /// be a false claim of a file.
    ///
    /// # Errors
    /// An error for the first path that cannot be opened.
    pub fn new(paths: impl Iterator<Item = PathBuf>, max_open: usize) -> Result<Arc<Self>, Error> {
        Self::direct(paths, max_open, None)
    }

    /// Makes a set of files. With `Some` options, data is read past the page cache where possible;
    /// each file is opened for this when its data is first read, and counts as four open ones.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn direct(
        paths: impl Iterator<Item = PathBuf>,
        max_open: usize,
        direct: Option<direct::OpenOptions>,
    ) -> Result<Arc<Self>, Error> {
        let mut files = Self::empty(max_open, direct);
        for path in paths {
            files.add(&path).map_err(|error| Error::new(&path, error))?;
        }
        Ok(Arc::new(files))
    }

    /// An empty set of files.
    pub(crate) fn empty(max_open: usize, direct: Option<direct::OpenOptions>) -> Self {
        // A file that is read directly has a descriptor more for this, and a ring; and so has the
        // source of each thread that copies.
        let max_open = if direct.is_some() { max_open >> 2 } else { max_open };
        Self { slots: Vec::new(), open: Mutex::default(), max_open: max_open.max(1), direct }
    }

    /// Opens the file at `path` and adds it.
    pub(crate) fn add(&mut self, path: &Path) -> io::Result<Arc<Bulk>> {
        let file = PosixFile::open(path)?;
        let identity = file.identity();
        let bulk = Arc::new(Bulk::new(path, file, self.direct));
        let number = self.slots.len();
        let keep = number < self.max_open;
        if keep {
            self.open.get_mut().unwrap_or_else(PoisonError::into_inner).push_back(number);
        }
        let file = RwLock::new(keep.then(|| Arc::clone(&bulk)));
        self.slots.push(Slot { path: path.to_owned(), identity: identity.into(), file });
        Ok(bulk)
    }

    /// Adds the file at `path`, which is opened when it is first needed.
    pub(crate) fn add_later(&mut self, path: &Path) {
        let (identity, file) = (OnceLock::new(), RwLock::default());
        self.slots.push(Slot { path: path.to_owned(), identity, file });
    }

    /// A store for each file, in order.
    pub fn stores(self: &Arc<Self>) -> impl Iterator<Item = FileStore> {
        (0..self.slots.len()).map(|number| FileStore { files: Arc::clone(self), number })
    }

    /// The open file with this number, from 0.
    pub(crate) fn get(&self, number: usize) -> io::Result<Arc<Bulk>> {
        let slot = self.slots.get(number).ok_or(io::ErrorKind::NotFound)?;
        if let Some(file) = &*slot.file.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(file));
        }
        let mut place = slot.file.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*place {
            return Ok(Arc::clone(file)); // another thread was faster
        }
        let file = PosixFile::open(&slot.path)?;
        if file.identity() != *slot.identity.get_or_init(|| file.identity()) {
            return Err(io::Error::other("was replaced while the set was open"));
        }
        let file = Arc::new(Bulk::new(&*slot.path, file, self.direct));
        *place = Some(Arc::clone(&file));
        drop(place);

        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push_back(number);
        let too_many = open.len().saturating_sub(self.max_open);
        let oldest: Vec<_> = open.drain(..too_many).collect();
        drop(open);
        for slot in oldest.into_iter().filter_map(|number| self.slots.get(number)) {
            // It is closed as soon as no read is under way.
            slot.file.write().unwrap_or_else(PoisonError::into_inner).take();
        }
        Ok(file)
    }
}

/// One file of [`Files`]; clones share it.
#[derive(Debug, Clone)]
pub struct FileStore {
    files: Arc<Files>,
    number: usize,
}

impl FileStore {
    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.files.slots.get(self.number).map_or(Path::new(""), |slot| &slot.path)
    }

    /// The open file.
    ///
    /// # Errors
    /// An error of the operating system, if the file had to be opened again.
    pub fn file(&self) -> io::Result<Arc<PosixFile>> {
        Ok(Arc::clone(self.bulk()?.file()))
    }

    /// The open file, for reading its data.
    pub(crate) fn bulk(&self) -> io::Result<Arc<Bulk>> {
        self.files.get(self.number)
    }

    /// Device and inode of the file; `None` if it was not opened yet.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.files.slots.get(self.number)?.identity.get().copied()
    }

    /// The options for direct reading, if data is read directly.
    pub(crate) fn direct_options(&self) -> Option<direct::OpenOptions> {
        self.files.direct
    }

    /// Whether data is read past the page cache where possible.
    pub(crate) fn is_direct(&self) -> bool {
        self.files.direct.is_some()
    }
}

impl ReadAt for FileStore {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.bulk()?.file().read_at(offset, buf)
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        self.bulk().map_err(ReadExactError::Other)?.read_spans_at(spans, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.bulk()?.file().size()
    }
}
