//! What is left of a physical file's metadata, and what it is worth.

use super::{Doubt, Sparse};
use crate::integrity::Checksum;
use crate::sion::error::Error;
use crate::sion::layout::Blocks;
use crate::sion::locate::ChunkSum;
use crate::sion::meta1::Meta1;
use crate::sion::meta2::entry;
use crate::sion::open::Head;
use crate::sion::raw::CommitFields;
use crate::sion::seal::commit_fields;
use crate::sion::tasks::{Tasks, values};
use crate::sion::varheader::Varheader;
use crate::sion::{ReadError, TASKS_WINDOW};
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use zerocopy::FromZeros;

/// What is known of a physical file that may be unclosed or damaged. META1 must be sound, but for
/// its commit fields.
#[derive(Debug, Clone, Copy)]
pub struct Remains {
    pub(super) head: Head,
    pub(super) blocks: Blocks,
    /// The place of META2, of which there may be a part.
    pub(super) varheader: Option<Varheader>,
    pub(super) word: Trust,
    /// Another META2 that may be that of the last commit.
    pub(super) rival: Option<Rival>,
    /// Whether the commit fields are zero: the file was never closed or committed.
    pub(super) unnamed: bool,
    /// Whether chunk sizes of 0 stand in a sector of zeros, which may be a lost one.
    pub(super) has_lost_sizes: bool,
    pub(super) checksum: Checksum,
}

/// What the word of META2 is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing: there is none.
    None,
    /// All of it is as it was sealed, and the seal has checksums of all chunks.
    Sealed,
    /// All of it is as it was sealed, but the checksums of chunks are not.
    SealedMeta2,
    /// It is damaged, but the seal has checksums of all chunks.
    SealedChunks,
    /// It stands where only commits put it, and all of it is sound.
    Committed,
    /// It stands where a close puts it; each entry is worth what it says.
    Closed,
    /// It may be another one.
    Doubtful(Doubt),
}

/// Another META2 that may be that of the last commit: the commit fields lead to one of the two as
/// they are, and to the other with one byte changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rival {
    /// It is older, or says the same: a stream of which it says more is not proven.
    Older(Varheader),
    /// It may be older or newer: only a stream of which both say the same is proven.
    Other(Varheader),
    /// There are too many to look at.
    Many,
}

/// What was found of META2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub(super) varheader: Option<Varheader>,
    pub(super) word: Trust,
    pub(super) rival: Option<Rival>,
}

/// How the commit fields stand in the file: `maxchunks`, `start_of_varheader`.
pub(super) type Fields = (i64, i64);

impl Remains {
    /// Looks at the file in `store`. `window` needs [`super::WINDOW`] bytes; a larger one makes
    /// fewer and larger reads.
    ///
    /// # Errors
    /// [`Error`] if META1 is damaged, so that nobody knows where chunks are; the store's own.
    pub fn read<S: Sparse>(
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        if window.len() < super::WINDOW.max(TASKS_WINDOW) {
            return Err(DriveError::BufferTooSmall { need: super::WINDOW });
        }
        let file_len = store.size().map_err(DriveError::Store)?;
        let len = usize::try_from(file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
        let bytes = window.get_mut(..len).unwrap_or_default();
        read_exact(store, 0, bytes)?;
        let meta1 = Meta1::parse(bytes, file_len).map_err(DriveError::Format)?;
        let head = Head { file_len, meta1, meta2: None };
        let (blocks, has_zeros) = blocks(store, &head, window)?;
        let fields = fields(store, &head)?;
        let mut remains = Self {
            head,
            blocks,
            varheader: None,
            word: Trust::None,
            rival: None,
            unnamed: fields == (0, 0) && head.meta1.layout().commit_fields().fits(file_len),
            has_lost_sizes: false,
            checksum,
        };
        let Verdict { varheader, word, rival } = remains.judge(store, fields, window)?;
        (remains.varheader, remains.word, remains.rival) = (varheader, word, rival);
        // A seal has a checksum of the chunk sizes, and META2 behind the last block their sum.
        let is_proven = matches!(
            word,
            Trust::Sealed | Trust::SealedMeta2 | Trust::SealedChunks | Trust::Closed
        );
        remains.has_lost_sizes = has_zeros && !is_proven;
        Ok(remains)
    }

    /// The file's length and its META1, without META2.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Where its blocks are.
    #[must_use]
    pub const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The place of META2 and what belongs to it, if anything says so. Neither need be whole.
    #[must_use]
    pub const fn varheader(&self) -> Option<&Varheader> {
        self.varheader.as_ref()
    }

    /// Whether the file has a seal whose checksums of chunks are sound. They are in
    /// [`Varheader::crcs`].
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        matches!(self.word, Trust::Sealed | Trust::SealedChunks)
    }

    /// All tasks in order, with no chunks and no bytes, as of an unclosed file. `window` needs
    /// [`TASKS_WINDOW`] bytes.
    ///
    /// # Errors
    /// The store's own.
    pub fn tasks<'a, S: Sparse, W: AsMut<[u8]>>(
        &'a self,
        store: &'a S,
        window: W,
    ) -> Result<Tasks<'a, S, W>, ReadError<S>> {
        Tasks::new(store, &self.head, window)
    }

    /// No data of any stream stand from here on.
    pub(super) fn data_end(&self) -> u64 {
        let start = self.varheader.map_or(u64::MAX, |varheader| varheader.start());
        start.min(self.head.file_len)
    }

    /// Whether the file ends in front of META2, and perhaps of data; or of the commit fields, as
    /// one may that SIONlib opened and never wrote to.
    pub(super) fn is_cut(&self) -> bool {
        let file_len = self.head.file_len;
        self.varheader.is_some_and(|varheader| varheader.start() > file_len)
            || !self.head.meta1.layout().commit_fields().fits(file_len)
    }
}

/// The commit fields; zeros if the file ends in front of them.
fn fields<S: Sparse>(store: &S, head: &Head) -> Result<Fields, ReadError<S>> {
    let order = head.meta1.order();
    let fields = commit_fields(store, head)?.unwrap_or_else(CommitFields::new_zeroed);
    Ok((fields.maxchunks.get(order).into(), fields.start_of_varheader.get(order)))
}

/// Where blocks are: adds up all chunk sizes. Says whether one of 0 stands in a sector of zeros.
fn blocks<S: Sparse>(
    store: &S,
    head: &Head,
    window: &mut [u8],
) -> Result<(Blocks, bool), ReadError<S>> {
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    let (mut has_zeros, mut seen) = (false, 0);
    while let Some(next) = entry(layout.chunksizes(), sum.tasks) {
        let left = layout.chunksizes().end().saturating_sub(next.offset());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let bytes = window.get_mut(..left.min(window.len() & !7)).unwrap_or_default();
        read_exact(store, next.offset(), bytes)?;
        for value in values(bytes) {
            let place = entry(layout.chunksizes(), sum.tasks).unwrap_or(Span::ZERO);
            let size =
                sum.add(value.get(head.meta1.order())).map_err(DriveError::<_, Error>::Format)?;
            for at in [place.offset(), place.end().saturating_sub(1)] {
                // A sector is looked at once: no chunk size is at offset 0.
                let sector = at & !SECTOR_MASK;
                if size == 0 && !has_zeros && sector != seen {
                    has_zeros = is_zero_sector(store, at, head.file_len)?;
                    seen = sector;
                }
            }
        }
    }
    Ok((sum.blocks(), has_zeros))
}

/// Bytes that storage writes, and loses, as a whole, at least.
pub(super) const SECTOR: usize = 512;
const SECTOR_MASK: u64 = 511;

/// Whether the sector that the byte at `offset` is in holds nothing but zeros.
pub(super) fn is_zero_sector<S: Sparse>(
    store: &S,
    offset: u64,
    file_len: u64,
) -> Result<bool, ReadError<S>> {
    let mut sector = [0; SECTOR];
    let start = offset & !SECTOR_MASK;
    let len = usize::try_from(file_len.saturating_sub(start)).unwrap_or(SECTOR).min(SECTOR);
    let bytes = sector.get_mut(..len).unwrap_or_default();
    read_exact(store, start, bytes)?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}
