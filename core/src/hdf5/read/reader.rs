//! [`Reader`] finds the arrays of an HDF5 file.

use super::array::{Array, Attribute, Attributes, Dataset};
use super::links::{Link, Links};
use super::superblock;
#[twin(ReadError = AsyncError)]
use crate::hdf5::error::ReadError;
use crate::hdf5::error::Result;
use crate::source::{Restart, Source, View};
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;

/// The pages of the caller's memory.
const PAGES: usize = 4;

/// The bytes from offset 0 on that a store is told of: the HDF5 library puts objects into blocks of
/// 2048 bytes (`H5Pset_meta_block_size`), and those of the root group begin in the first one
/// (`spec/limits.md#requests`).
const FRONT: u64 = 4096;

type Pages<'m> = View<'m, PAGES>;

/// Finds the arrays in the root group of an HDF5 file in a store.
///
/// ```
/// use striae_core::hdf5::Reader;
///
/// # let file = include_bytes!("../../../doc/es_h1.h5.0001");
/// let mut memory = [0; Reader::<()>::MEMORY];
/// let file = Reader::open(&file[..], &mut memory)?;
/// let header = file.dataset(b"header_blob", &mut memory)?.unwrap();
/// assert_eq!((header.element.size, header.shape.rank), (1, 1));
/// assert_eq!(header.values.offset(), 2048);
/// assert_eq!(file.dataset(b"no_blob", &mut memory)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Reader<S> {
    store: S,
    file_len: u64,
    root: u64,
}

impl<S> Reader<S> {
    /// The memory that opening and searching need, if names have at most 256 bytes and attributes
    /// are numbers or texts, whose types are short.
    pub const MEMORY: usize = 1024;

    /// The address of the root group.
    #[must_use]
    pub const fn root(&self) -> u64 {
        self.root
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Reader<S> {
    /// Opens a file. `memory` is divided into 4 pages.
    ///
    /// # Errors
    /// The store's error, the file's [`Error`](crate::hdf5::Error), or a miss: the file is cut, or
    /// the memory is too short.
    pub async fn open(store: S, memory: &mut [u8]) -> core::result::Result<Self, ReadError<S>> {
        let file_len = store.size().await.map_err(DriveError::Store)?;
        let front = Span::new(0, FRONT.min(file_len)).unwrap_or(Span::ZERO);
        store.will_read(&[Stride::one(front)]).await;
        let root = run(&store, file_len, memory, (), |view, ()| superblock::root(view)).await?;
        Ok(Self { store, file_len, root })
    }

    /// The dataset of this name in the root group.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub async fn dataset(
        &self,
        name: &[u8],
        memory: &mut [u8],
    ) -> core::result::Result<Option<Array>, ReadError<S>> {
        let known = Search::default();
        run(&self.store, self.file_len, memory, known, |view, known| {
            known.dataset(view, self.root, name)
        })
        .await
    }

    /// The attribute of this name of the root group.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub async fn attribute(
        &self,
        name: &[u8],
        memory: &mut [u8],
    ) -> core::result::Result<Option<Attribute>, ReadError<S>> {
        run(&self.store, self.file_len, memory, None, |view, known| {
            view.once(known, |view| Attributes::open(view, self.root))?.find(view, name)
        })
        .await
    }
}

impl<S: ReadAt> Reader<S> {
    /// The links of the root group, in the order of the file.
    pub fn links<'m>(
        &'m self,
        memory: &'m mut [u8],
    ) -> impl Iterator<Item = core::result::Result<Link, ReadError<S>>> + 'm {
        self.list(memory, |view, root| Links::open(view, root), |links, view| links.next(view))
    }

    /// The attributes of the root group, in the order of the file.
    pub fn attributes<'m>(
        &'m self,
        memory: &'m mut [u8],
    ) -> impl Iterator<Item = core::result::Result<Attribute, ReadError<S>>> + 'm {
        self.list(memory, |view, root| Attributes::open(view, root), |list, view| list.next(view))
    }

    /// The items of a list that `open` makes of the root group.
    fn list<'m, K: Copy + 'm, T: Copy + 'm>(
        &'m self,
        memory: &'m mut [u8],
        open: impl Fn(&Pages<'_>, u64) -> Result<K> + 'm,
        next: impl Fn(&mut K, &Pages<'_>) -> Result<Option<T>> + 'm,
    ) -> impl Iterator<Item = core::result::Result<T, ReadError<S>>> + 'm {
        let (mut known, mut is_done) = (None, false);
        core::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let item = run(&self.store, self.file_len, memory, known, |view, known| {
                let list = view.once(known, |view| open(view, self.root))?;
                Ok((next(list, view)?, *list))
            });
            let item = item.map(|(item, list)| {
                known = Some(list);
                item
            });
            is_done = !matches!(item, Ok(Some(_)));
            item.transpose()
        })
    }
}

/// A search for a dataset: all that outlives a restart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Search {
    links: Option<Links>,
    object: Option<Option<u64>>,
    dataset: Option<Dataset>,
}

impl Search {
    /// The array of the dataset `name` in the group at `group`.
    ///
    /// # Errors
    /// See [`Links::find`] and [`Dataset::array`].
    pub fn dataset<V: Source + ?Sized>(
        &mut self,
        source: &V,
        group: u64,
        name: &[u8],
    ) -> Result<Option<Array>> {
        let Self { links, object, dataset } = self;
        let object = *source.once(object, |source| {
            source.once(links, |source| Links::open(source, group))?.find(source, name)
        })?;
        let Some(object) = object else { return Ok(None) };
        let dataset = source.once(dataset, |source| Dataset::open(source, object))?;
        dataset.array(source).map(Some)
    }
}

/// Calls a parser on a store until it has all bytes.
#[twin(ReadAt, ReadError = AsyncError)]
async fn run<'m, S, K, T, F>(
    store: &S,
    file_len: u64,
    memory: &'m mut [u8],
    known: K,
    parse: F,
) -> core::result::Result<T, ReadError<S>>
where
    S: ReadAt,
    T: Copy,
    F: Fn(&Pages<'m>, &mut K) -> Result<T>,
{
    let view = View::new(memory, file_len);
    let reads = file_len.saturating_add(64); // each structure is read once or twice
    Restart::new(view, known, reads, parse).read_from(store).await
}
