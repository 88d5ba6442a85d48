//! The names of a file, in memory.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use striae_core::gsd::error::Error;
use striae_core::gsd::{ReadError, Reader};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Bytes of the window in which a name list is read; a longer name enlarges it.
const WINDOW: usize = 1 << 14;

/// The name of a chunk: bytes that are usually UTF-8.
///
/// gsd's layer 1 cuts names after 63 bytes, possibly inside a character. `Display` prints the name
/// as text; bytes that are not UTF-8 appear as `\xc3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(pub &'a [u8]);

impl<'a> Name<'a> {
    /// The bytes, without a NUL.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text, or `None` if it is not UTF-8.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        core::str::from_utf8(self.0).ok()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return f.pad(text);
        }
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// All names of a file, by id and by name.
#[derive(Clone, Default)]
pub struct NameList {
    /// All names, one after another.
    bytes: Vec<u8>,
    /// The end of each name, by id.
    ends: Vec<usize>,
    /// The ids in the order of their names; equal names are in the order of their ids.
    sorted: Vec<u16>,
}

impl NameList {
    /// Reads the names of a file.
    ///
    /// # Errors
    /// An error for a damaged list; an error of the store.
    pub fn read<S: ReadAt>(reader: &Reader<S>) -> Result<Self, ReadError<S>> {
        let mut window = WINDOW;
        loop {
            match Self::read_through(reader, window) {
                // At most twice as much each time, and never more than the list has.
                Err(DriveError::Format(Error::Memory { need, have })) if need > have => {
                    window = usize::try_from(need).unwrap_or(usize::MAX);
                }
                read => return read,
            }
        }
    }

    fn read_through<S: ReadAt>(reader: &Reader<S>, window: usize) -> Result<Self, ReadError<S>> {
        let mut list = Self::default();
        let mut names = reader.names(vec![0; window]);
        for _ in 0..reader.head().names {
            let Some((_, name)) = names.next()? else { break };
            list.bytes.extend_from_slice(name);
            list.ends.push(list.bytes.len());
        }
        let mut sorted: Vec<u16> = (0..u16::MAX).take(list.ends.len()).collect();
        sorted.sort_by_key(|&id| list.name(id)); // stable: the first of equal names counts
        list.sorted = sorted;
        Ok(list)
    }

    /// Number of names.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no names.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with this id.
    #[must_use]
    pub fn get(&self, id: u16) -> Option<Name<'_>> {
        let Range { start, end } = self.place(id)?;
        self.bytes.get(start..end).map(Name)
    }

    /// The id of a name; if the name occurs twice, the first id.
    #[must_use]
    pub fn id(&self, name: impl AsRef<[u8]>) -> Option<u16> {
        let name = Name(name.as_ref());
        let place = self.sorted.partition_point(|&id| self.name(id) < name);
        self.sorted.get(place).copied().filter(|&id| self.name(id) == name)
    }

    /// All names in the order of their ids.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Name<'_>> {
        (0..self.len()).map(|id| u16::try_from(id).map_or(Name(&[]), |id| self.name(id)))
    }

    /// Ids and names of the names that start with `prefix`, in the order of their ids.
    pub fn with_prefix<'a>(
        &'a self,
        prefix: impl AsRef<[u8]> + 'a,
    ) -> impl Iterator<Item = (u16, Name<'a>)> + 'a {
        let named = self.iter().zip(0..).map(|(name, id)| (id, name)); // there may be all ids
        named.filter(move |(_, name)| name.0.starts_with(prefix.as_ref()))
    }

    fn name(&self, id: u16) -> Name<'_> {
        self.get(id).unwrap_or(Name(&[]))
    }

    fn place(&self, id: u16) -> Option<Range<usize>> {
        let id = usize::from(id);
        let end = *self.ends.get(id)?;
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before));
        Some(start.copied().unwrap_or(0)..end)
    }
}

/// Keeps the chunks of a frame of layer 1 that readers find: if two have the same name, the last.
/// `chunks` are in the order of the index; the result is in the order of the ids.
pub fn last_of_each<T>(chunks: &mut Vec<T>, id: impl Fn(&T) -> u16) {
    chunks.reverse();
    chunks.sort_by_key(&id); // stable
    chunks.dedup_by_key(|chunk| id(chunk));
}

impl fmt::Debug for NameList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
