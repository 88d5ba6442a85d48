//! Files from which a trajectory is read.

use crate::element::{Element, to_host};
use crate::error::Fault;
use crate::names::NameList;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::Range;
use striae_core::gsd::{self, Chunk, Head, Reader, open};
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::IntoBytes;

/// Bytes of the index that are read at once.
const WINDOW: usize = 1 << 13;

/// An open GSD file from which a [`Trajectory`](crate::Trajectory) is read.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Source {
    /// The error of the source.
    type Error;

    /// The parsed header and the sizes of the tables.
    fn head(&self) -> &Head;

    /// All names of the file.
    ///
    /// # Errors
    /// An error if the names cannot be read.
    fn names(&self) -> Result<&NameList, Self::Error>;

    /// The chunks of some frames in the order of the index; they are read as the iterator advances.
    ///
    /// # Errors
    /// An error if the index cannot be read. A damaged entry is an error item, and so is one that
    /// is out of order, as a chunk that is not found has the values of frame 0: see
    /// [`Chunks::ordered`](gsd::Chunks::ordered).
    fn chunks_of_frames(
        &self,
        frames: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Chunk, Self::Error>>, Self::Error>;

    /// Reads the bytes of a chunk into `bytes`, which has the length of the chunk. The bytes stay
    /// in the byte order of the file.
    ///
    /// # Errors
    /// An error if the bytes cannot be read, or differ from a checksum.
    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Says that the bytes of these chunks will be read next. A source may ignore it, as this
    /// method does.
    fn will_read(&self, chunks: &[Chunk]) {
        let _ = chunks;
    }

    /// Converts an error of the reader of trajectories to an error of this file.
    fn error(&self, fault: Fault) -> Self::Error;
}

/// A source that is opened from a `P`, such as a path or a store.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Open<P>: Source + Sized {
    /// Opens the file at `place`.
    ///
    /// # Errors
    /// An error if it is not a GSD file or cannot be read.
    fn open(place: P) -> Result<Self, Self::Error>;
}

/// A source that can be read again while another program writes to the file.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Refresh: Source {
    /// Reads the state of the file again; returns whether it has changed.
    ///
    /// # Errors
    /// The errors of opening. The earlier state is kept then.
    fn refresh(&mut self) -> Result<bool, Self::Error>;
}

/// A GSD file in any [`ReadAt`] store, such as memory or a memory card.
///
/// Index and data stay in the store; the names are kept in memory.
#[derive(Debug, Clone)]
pub struct File<S> {
    reader: Reader<S>,
    names: NameList,
}

impl<S> File<S> {
    /// The file, as the core crate reads it.
    #[must_use]
    pub const fn reader(&self) -> &Reader<S> {
        &self.reader
    }

    /// Returns the store.
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
        Ok(chunks.ordered().map(|chunk| chunk.map_err(fault)))
    }

    fn read_chunk(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.reader.read(chunk.span, bytes).map(drop).map_err(fault)
    }

    fn will_read(&self, chunks: &[Chunk]) {
        self.reader.store().will_read(&joined(chunks));
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

/// The places of chunks, those that follow one another as one: a store may listen to few spans
/// only, and a frame has up to 40 chunks.
fn joined(chunks: &[Chunk]) -> Vec<Stride> {
    let mut spans: Vec<Span> = chunks.iter().map(|chunk| chunk.span).collect();
    spans.sort_unstable_by_key(|span| span.offset());
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut().and_then(|last| Some((last.joined(span)?, last))) {
            Some((more, last)) => *last = more,
            None => joined.push(span),
        }
    }
    joined.into_iter().map(Stride::one).collect()
}

/// Converts an error of the core crate to a fault.
pub(crate) fn fault<S>(error: DriveError<S, gsd::Error>) -> DriveError<S, Fault> {
    error.map_format(Fault::Gsd)
}

/// The name of a chunk for an error; its id if the name is unknown.
pub fn name_of(file: &impl Source, id: u16) -> Box<[u8]> {
    let name = file.names().ok().and_then(|names| names.get(id));
    name.map_or_else(|| format!("number {id}").into_bytes().into(), |name| name.0.into())
}

/// All values of a chunk whose type is `T`.
pub(crate) fn read<T: Element, F: Source>(file: &F, chunk: &Chunk) -> Result<Vec<T>, F::Error> {
    let count = chunk.span.len().checked_div(T::KIND.size().get()).unwrap_or(0);
    let values = usize::try_from(count).ok().and_then(|count| T::new_vec_zeroed(count).ok());
    let mut values = values.ok_or_else(|| file.error(Fault::Memory))?;
    read_into(file, chunk, &mut values)?;
    Ok(values)
}

/// Reads all values of a chunk into `values`, which has just that length.
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

/// The text of a chunk of text, without the NULs at its end.
///
/// # Errors
/// [`Fault::NotText`] if it is not UTF-8; [`Fault::Memory`] if it cannot be allocated; an error of
/// the source.
pub fn read_text<F: Source>(file: &F, chunk: &Chunk) -> Result<String, F::Error> {
    let mut bytes = read::<u8, F>(file, chunk)?;
    let len = bytes.iter().rposition(|&byte| byte != 0);
    bytes.truncate(len.map_or(0, |last| last.saturating_add(1)));
    String::from_utf8(bytes).map_err(|error| {
        let at = usize_to_u64(error.utf8_error().valid_up_to());
        file.error(Fault::NotText { frame: chunk.frame, name: name_of(file, chunk.id), at })
    })
}
