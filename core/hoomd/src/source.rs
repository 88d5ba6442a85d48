//! What a trajectory is read from.

use crate::element::{Element, to_host};
use crate::error::Fault;
use crate::names::NameList;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::Range;
use striae_core::gsd::{self, Chunk, Head, Reader, open};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::IntoBytes;

/// Bytes of the index that are read at once.
const WINDOW: usize = 1 << 13;

/// An open GSD file that a [`Trajectory`](crate::Trajectory) is read from.
pub trait Source {
    /// Why it cannot be read.
    type Error;

    /// What opening learned.
    fn head(&self) -> &Head;

    /// All names.
    ///
    /// # Errors
    /// If they cannot be read.
    fn names(&self) -> Result<&NameList, Self::Error>;

    /// The chunks of some frames in the order of the index, read while they are asked for.
    ///
    /// # Errors
    /// If the index cannot be read; a damaged entry is an error in its place.
    fn chunks_of_frames(
        &self,
        frames: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Chunk, Self::Error>>, Self::Error>;

    /// Fills `bytes`, which are as many as the chunk has, with those as they stand in the file.
    ///
    /// # Errors
    /// If they cannot be read, or are not as a checksum says.
    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// What reading a trajectory found, as an error of this file.
    fn error(&self, fault: Fault) -> Self::Error;
}

/// A source that is opened by what `P` is: a path, a store.
pub trait Open<P>: Source + Sized {
    /// Opens the file at `place`.
    ///
    /// # Errors
    /// If it is no GSD file, or cannot be read.
    fn open(place: P) -> Result<Self, Self::Error>;
}

/// A source that can be looked at again, while somebody writes to it.
pub trait Refresh: Source {
    /// Looks again at what the file holds; says whether it has changed.
    ///
    /// # Errors
    /// As for opening. What was known before is kept then.
    fn refresh(&mut self) -> Result<bool, Self::Error>;
}

/// A GSD file in any store: a block of memory, a card, whatever is a [`ReadAt`].
///
/// Index and data stay in the store; names are kept in memory.
#[derive(Debug, Clone)]
pub struct File<S> {
    reader: Reader<S>,
    names: NameList,
}

impl<S> File<S> {
    /// The file as core reads it.
    #[must_use]
    pub const fn reader(&self) -> &Reader<S> {
        &self.reader
    }

    /// The store, given back.
    #[must_use]
    pub fn into_store(self) -> S {
        self.reader.into_store()
    }
}

impl<S: ReadAt> Open<S> for File<S> {
    fn open(store: S) -> Result<Self, Self::Error> {
        let reader = Reader::open(store, &mut [0; open::Open::WINDOW]).map_err(fault)?;
        let names = NameList::read(&reader).map_err(fault)?;
        Ok(Self { reader, names })
    }
}

impl<S: ReadAt> Source for File<S> {
    type Error = DriveError<S::Error, Fault>;

    fn head(&self) -> &Head {
        self.reader.head()
    }

    fn names(&self) -> Result<&NameList, Self::Error> {
        Ok(&self.names)
    }

    fn chunks_of_frames(
        &self,
        frames: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Chunk, Self::Error>>, Self::Error> {
        let all = self.head().index().span().map_or(0, Span::len);
        let len = usize::try_from(all).unwrap_or(usize::MAX).clamp(32, WINDOW);
        let chunks = self.reader.chunks_of(frames, vec![0; len]).map_err(fault)?;
        Ok(chunks.map(|chunk| chunk.map_err(fault)))
    }

    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.reader.read(chunk.span, bytes).map(drop).map_err(fault)
    }

    fn error(&self, fault: Fault) -> Self::Error {
        DriveError::Format(fault)
    }
}

impl<S: ReadAt + Clone> Refresh for File<S> {
    fn refresh(&mut self) -> Result<bool, Self::Error> {
        let mut reader = self.reader.clone();
        let is_new = reader.refresh(&mut [0; open::Open::WINDOW]).map_err(fault)?;
        if is_new {
            *self = Self { names: NameList::read(&reader).map_err(fault)?, reader };
        }
        Ok(is_new)
    }
}

/// An error of core's, told as a fault.
pub(crate) fn fault<S>(error: DriveError<S, gsd::Error>) -> DriveError<S, Fault> {
    error.map_format(Fault::Gsd)
}

/// A chunk's name for an error; a number if that is unknown.
pub fn name_of(file: &impl Source, id: u16) -> Box<[u8]> {
    let name = file.names().ok().and_then(|names| names.get(id));
    name.map_or_else(|| format!("number {id}").into_bytes().into(), |name| name.0.into())
}

/// All values of a chunk, which is of their type.
pub(crate) fn read<T: Element, F: Source>(file: &F, chunk: &Chunk) -> Result<Vec<T>, F::Error> {
    let count = chunk.span.len().checked_div(T::KIND.size().get()).unwrap_or(0);
    let values = usize::try_from(count).ok().and_then(|count| T::new_vec_zeroed(count).ok());
    let mut values = values.ok_or_else(|| file.error(Fault::Memory))?;
    read_into(file, chunk, &mut values)?;
    Ok(values)
}

/// All values of a chunk into `values`, which must have room for just these.
pub(crate) fn read_into<T: Element, F: Source>(
    file: &F,
    chunk: &Chunk,
    values: &mut [T],
) -> Result<(), F::Error> {
    let (len, want) = (usize_to_u64(size_of_val(values)), chunk.span.len());
    if len != want {
        let (frame, name) = (chunk.frame, name_of(file, chunk.id));
        let error = gsd::Error::Rows { len, want };
        return Err(file.error(Fault::Chunk { frame, name, error }));
    }
    file.read_chunk(chunk, values.as_mut_bytes())?;
    to_host(values);
    Ok(())
}

/// The text of a chunk of text, without NULs at its end.
///
/// # Errors
/// [`Fault::NotText`] if it is not UTF-8, [`Fault::Memory`]; the source's own.
pub fn read_text<F: Source>(file: &F, chunk: &Chunk) -> Result<String, F::Error> {
    let mut bytes = read::<u8, F>(file, chunk)?;
    let len = bytes.iter().rposition(|&byte| byte != 0);
    bytes.truncate(len.map_or(0, |last| last.saturating_add(1)));
    String::from_utf8(bytes).map_err(|error| {
        let at = usize_to_u64(error.utf8_error().valid_up_to());
        file.error(Fault::NotText { frame: chunk.frame, name: name_of(file, chunk.id), at })
    })
}
