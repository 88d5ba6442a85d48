//! The shape of a file: its META1, and the places of its chunks.

use super::streams::Streams;
use crate::endian::{ByteOrder, I64};
use crate::field::checked;
use crate::sion::disk::meta1::{Attributes, Meta1};
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, Chunks, signed};
use crate::sion::raw;
use crate::sion::read::locate::ChunkSum;
use crate::sion::write::book::{Ahead, Book};
use crate::sion::write::create::blame_caller;
use crate::sion::write::cursor::Cursor;
use crate::store::usize_to_u64;
use zerocopy::{Immutable, IntoBytes, KnownLayout, Unaligned};

/// All that is known of a file when a program is compiled: its attributes and its `N` tasks.
///
/// ```
/// use striae_core::sion::{Attributes, Shape};
///
/// // Two sensors, with 4096 and 512 bytes in each block.
/// const TASKS: [(i64, u64); 2] = [(0, 4096), (1, 512)];
/// static SHAPE: Shape<2> = match Shape::new(&Attributes::DEFAULT, b"log", TASKS) {
///     Ok(shape) => shape.with_ahead(8),
///     Err(_) => panic!("no file can have this shape"), // then it does not compile
/// };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shape<const N: usize> {
    pub(super) start: Start<N>,
    /// The streams of a new file.
    pub(super) streams: Streams<N>,
}

/// META1 of a new file as stored.
#[derive(Debug, Clone, Copy, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Start<const N: usize> {
    fixed: raw::Meta1,
    globalranks: [I64; N],
    chunksizes: [I64; N],
    commit_fields: [u8; size_of::<raw::CommitFields>()],
}

impl<const N: usize> Shape<N> {
    /// The shape of files with these attributes, this prefix, and tasks of a globalrank and a
    /// chunksize in bytes.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::PrefixTooLong`] for values that no file can have, and for
    /// several files and key-value records: only a [`Writer`](crate::sion::Writer) writes these.
    /// [`Error::FileFull`] if META2 has no place after block 0.
    pub const fn new(
        attributes: &Attributes,
        prefix: &[u8],
        tasks: [(i64, u64); N],
    ) -> Result<Self, Error> {
        let meta1 = checked!(Meta1::new(attributes, usize_to_u64(N)));
        checked!(meta1.check_is_simple());
        let (cursors, blocks) = checked!(cursors(&meta1, &tasks));
        let book = checked!(Book::create(&meta1, &blocks, 0, false));
        let start = Start {
            fixed: checked!(meta1.to_raw(prefix)),
            globalranks: table(&tasks, false, meta1.order()),
            chunksizes: table(&tasks, true, meta1.order()),
            commit_fields: [0; size_of::<raw::CommitFields>()],
        };
        Ok(Self { start, streams: Streams { book, cursors, ahead: Ahead::NONE } })
    }

    /// This shape with a number of blocks that a commit leaves free before META2, see
    /// [`Options::ahead`](crate::sion::Options::ahead). At first there are none.
    #[must_use]
    pub const fn with_ahead(self, blocks: u32) -> Self {
        Self { streams: Streams { ahead: Ahead::Blocks(blocks), ..self.streams }, ..self }
    }
}

/// The starts of the streams, and the blocks of the file.
const fn cursors<const N: usize>(
    meta1: &Meta1,
    tasks: &[(i64, u64); N],
) -> Result<([Cursor; N], Blocks), Error> {
    let mut sum = ChunkSum::new(*meta1.layout());
    let first = sum.blocks().first;
    let mut cursors = [Cursor::new(Chunks { start: 0, chunksize: 0, globalskip: None }); N];
    let (mut places, mut rest): (&mut [Cursor], _) = (&mut cursors, tasks.as_slice());
    while let (Some((cursor, others)), Some((&(_, chunksize), more))) =
        (places.split_first_mut(), rest.split_first())
    {
        let start = first.saturating_add(sum.sum()); // exact: `add` has checked it
        if let Err(error) = sum.add(signed(chunksize)) {
            return Err(blame_caller(error));
        }
        *cursor = Cursor::new(Chunks { start, chunksize, globalskip: None });
        (places, rest) = (others, more);
    }
    let mut places: &mut [Cursor] = &mut cursors;
    while let Some((cursor, others)) = places.split_first_mut() {
        *cursor = cursor.with_globalskip(sum.sum());
        places = others;
    }
    Ok((cursors, sum.blocks()))
}

/// A table of META1: of the chunksizes, or of the globalranks.
const fn table<const N: usize>(
    tasks: &[(i64, u64); N],
    is_of_chunksizes: bool,
    order: ByteOrder,
) -> [I64; N] {
    let mut table = [I64::new(0, order); N];
    let (mut places, mut rest): (&mut [I64], _) = (&mut table, tasks.as_slice());
    while let (Some((entry, others)), Some((&(globalrank, chunksize), more))) =
        (places.split_first_mut(), rest.split_first())
    {
        *entry = I64::new(if is_of_chunksizes { signed(chunksize) } else { globalrank }, order);
        (places, rest) = (others, more);
    }
    table
}
