//! [`NameTable`]: a table of names in the caller's memory, for files with many names.

use super::reader::Reader;
use crate::gsd::disk::header::Version;
use crate::gsd::disk::names::{NameByte, Splitter};
use crate::gsd::error::Error;
#[twin(ReadError = AsyncError)]
use crate::gsd::error::ReadError;
use crate::gsd::layout::NAME_UNIT;
use crate::gsd::raw::Header;
use crate::sort::sort_by_key;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

/// The memory for one name of a [`NameTable`]: 12 bytes, for any length of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NamePlace {
    hash: u32,
    /// The start of the name in the list.
    offset: u32,
    id: u16,
}

impl NamePlace {
    /// An empty place.
    pub const EMPTY: Self = Self { hash: 0, offset: 0, id: 0 };
}

/// A table that finds names of a file by their bytes.
///
/// [`Reader::name_id`] reads the whole name list; this table reads little more than the name. The
/// names stay in the store: the table has the hash and the place of each name, sorted by hash, so
/// that no choice of names makes it slow to fill.
///
/// ```
/// use striae_core::gsd::{NamePlace, NameTable, Reader};
///
/// # const FILE: &[u8] = include_bytes!("../../../doc/v21_names_70.gsd");
/// let mut window = [0; 512];
/// let file = Reader::open(FILE, &mut window)?;
/// let mut memory = [NamePlace::EMPTY; 100];
/// let names = NameTable::fill(&file, &mut memory, &mut window)?;
/// assert_eq!(names.id(&file, b"log/quantity_042", &mut window)?, Some(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NameTable<'m> {
    places: &'m [NamePlace],
    list: Span,
    version: Version,
}

impl NameTable<'_> {
    /// The number of names in the table.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the table has no names.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<'m> NameTable<'m> {
    /// Fills a table with the names of a file. `window` must not be empty; a larger window makes
    /// fewer reads.
    ///
    /// The table is valid until [`Reader::refresh`] returns that the file has changed.
    ///
    /// # Errors
    /// [`Error::Memory`], with the bytes that are needed, if `memory` has fewer places than there
    /// are names; [`Error::TooLarge`] if the list is longer than 4 GiB; the store's own error.
    pub async fn fill<S: ReadAt>(
        file: &Reader<S>,
        memory: &'m mut [NamePlace],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        let head = file.head();
        let (list, version) = (head.name_list(), head.header.version);
        let bytes_of = |places: u64| places.saturating_mul(usize_to_u64(size_of::<NamePlace>()));
        let have = bytes_of(usize_to_u64(memory.len()));
        let names = usize::try_from(head.names).ok().and_then(|names| memory.get_mut(..names));
        let Some(places) = names else {
            let need = bytes_of(head.names.into());
            return Err(DriveError::Format(Error::Memory { need, have }));
        };
        if list.len() > u32::MAX.into() {
            let (field, value) = (Header::namelist_allocated_entries, head.header.names.units);
            let max = u64::from(u32::MAX) / NAME_UNIT;
            return Err(DriveError::Format(Error::TooLarge { field, offset: 32, value, max }));
        }
        let store = file.store();
        store.will_read(&[Stride::one(list)]).await;
        let filled = collect(store, list, version, places, window).await?;
        let (places, _) = places.split_at_mut_checked(filled).unwrap_or_default();
        sort_by_key(places, |place| (place.hash, place.id));
        Ok(Self { places, list, version })
    }

    /// The id of a name; `None` if the file does not have the name. If the list has the name twice,
    /// the first id counts. `window` must not be empty.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn id<S: ReadAt>(
        &self,
        file: &Reader<S>,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<u16>, ReadError<S>> {
        if name.is_empty() || name.contains(&0) {
            return Ok(None); // no name: an empty one ends a list
        }
        let hash = name.iter().fold(Hash::new(), |hash, &byte| hash.with(byte)).0;
        let first = self.places.partition_point(|place| place.hash < hash);
        let same = self.places.get(first..).unwrap_or_default();
        for place in same.iter().take_while(|place| place.hash == hash) {
            if self.is_at(file.store(), place.offset.into(), name, window).await? {
                return Ok(Some(place.id));
            }
        }
        Ok(None)
    }

    /// Whether `name` is the name at `offset` in the list.
    async fn is_at<S: ReadAt>(
        &self,
        store: &S,
        offset: u64,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<bool, ReadError<S>> {
        // A name of 64 bytes fills its slot without a NUL.
        let is_full = !self.version.is_sorted() && name.len() == 64;
        let mut wanted = name.iter().chain((!is_full).then_some(&0));
        let len = usize_to_u64(name.len()).saturating_add((!is_full).into());
        let most = if self.version.is_sorted() { u64::MAX } else { NAME_UNIT };
        let Some(place) = self.list.part(offset, len).filter(|_| len <= most) else {
            return Ok(false);
        };
        let mut read = 0;
        while read < len {
            let left = usize::try_from(len.saturating_sub(read)).unwrap_or(usize::MAX);
            let bytes = front(window, left)?;
            read_exact(store, place.offset().saturating_add(read), bytes).await?;
            if !bytes.iter().all(|byte| wanted.next() == Some(byte)) {
                return Ok(false);
            }
            read = read.saturating_add(usize_to_u64(bytes.len()));
        }
        Ok(true)
    }
}

/// Fills `places` with the names of a list in the order of their ids, and returns their number.
#[twin(ReadAt, ReadError = AsyncError)]
async fn collect<S: ReadAt>(
    store: &S,
    list: Span,
    version: Version,
    places: &mut [NamePlace],
    window: &mut [u8],
) -> Result<usize, ReadError<S>> {
    let (mut read, mut filled) = (0, 0_usize);
    let (mut splitter, mut start, mut hash) = (Splitter::new(version), 0, Hash::new());
    while read < list.len() && filled < places.len() {
        let left = usize::try_from(list.len().saturating_sub(read)).unwrap_or(usize::MAX);
        let bytes = front(window, left)?;
        read_exact(store, list.offset().saturating_add(read), bytes).await?;
        for &byte in &*bytes {
            read = read.saturating_add(1);
            let NameByte { at, end } = splitter.take(byte);
            if at.is_some() {
                hash = hash.with(byte);
            }
            if end.is_some() {
                let Some(place) = places.get_mut(filled) else { break };
                let (offset, id) = (u32::try_from(start), u16::try_from(filled));
                let (offset, id) = (offset.unwrap_or(u32::MAX), id.unwrap_or(u16::MAX));
                *place = NamePlace { hash: hash.0, offset, id };
                filled = filled.saturating_add(1);
                (start, hash) = (read, Hash::new());
            }
        }
    }
    Ok(filled)
}

/// The first bytes of the window: at most `len`, and at least one.
fn front<E>(window: &mut [u8], len: usize) -> Result<&mut [u8], DriveError<E, Error>> {
    let len = len.min(window.len());
    let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
    bytes.ok_or(DriveError::BufferTooSmall { need: 1 })
}

/// FNV-1a of 32 bits.
#[derive(Debug, Clone, Copy)]
struct Hash(u32);

impl Hash {
    const fn new() -> Self {
        Self(0x811C_9DC5)
    }

    fn with(self, byte: u8) -> Self {
        Self((self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}
