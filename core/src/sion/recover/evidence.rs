//! The metadata that is left of a physical file, and how far it can be trusted.

use super::certainty::Doubt;
use super::scan::{Sparse, used_len};
use super::scratch::WINDOW;
use crate::integrity::Checksum;
use crate::sion::disk::head::Head;
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::meta2::entry;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::{Error, ReadError};
use crate::sion::layout::Blocks;
use crate::sion::raw::CommitFields;
use crate::sion::read::locate::ChunkSum;
use crate::sion::read::sealed::commit_fields;
use crate::sion::read::tasks::{Tasks, values};
use crate::sion::reader::TASKS_WINDOW;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use zerocopy::FromZeros;

/// The evidence found in a physical file that may be unclosed or damaged. META1 must be sound,
/// except for its commit fields.
#[derive(Debug, Clone, Copy)]
pub struct Remains {
    pub(super) head: Head,
    pub(super) blocks: Blocks,
    /// The place of META2, which may be there only in part.
    pub(super) varheader: Option<Varheader>,
    pub(super) word: Trust,
    /// Another META2 that may belong to the last commit.
    pub(super) rival: Option<Rival>,
    /// Whether the commit fields are zero: the file was never closed or committed.
    pub(super) unnamed: bool,
    /// Whether chunksizes of 0 are in a sector of zeros, which may be a lost sector.
    pub(super) has_lost_sizes: bool,
    /// The end of the last byte of META2 that is not zero. If the rest was never written, the last
    /// entry before it may have lost its end.
    pub(super) written: u64,
    pub(super) checksum: Checksum,
}

/// How far META2 can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// There is no META2.
    None,
    /// META2 is as sealed, and the seal has checksums of all chunks.
    Sealed,
    /// META2 is as sealed, but the checksums of chunks are damaged.
    SealedMeta2,
    /// META2 is damaged, but the seal has checksums of all chunks.
    SealedChunks,
    /// META2 is at a place where only commits put it, and all of it is sound.
    Committed,
    /// META2 is at the place where a close puts it; each entry is judged by itself.
    Closed,
    /// It may not be the META2 of the last commit.
    Doubtful(Doubt),
}

/// Another META2 that may belong to the last commit: the commit fields point to one of the two as
/// they are, and to the other with one byte changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rival {
    /// It is older or equal: a stream that is longer in it is not proven.
    Older(Varheader),
    /// It may be older or newer: only a stream with the same length in both is proven.
    Other(Varheader),
    /// There are too many to check.
    Many,
}

/// The commit fields as stored: `maxchunks`, `start_of_varheader`.
pub(super) type Fields = (i64, i64);

impl Trust {
    /// Whether a seal with a sound trailer belongs to META2.
    pub(super) const fn is_sealed(self) -> bool {
        matches!(self, Self::Sealed | Self::SealedMeta2 | Self::SealedChunks)
    }
}

impl Remains {
    /// Collects the evidence of the file in `store`. `window` needs [`WINDOW`] bytes; a
    /// larger window makes fewer and larger reads.
    ///
    /// # Errors
    /// [`Error`] if META1 is damaged, so that the places of chunks are unknown;
    /// [`DriveError::BufferTooSmall`] if `window` is too small; the store's own error.
    pub fn read<S: Sparse>(
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        if window.len() < WINDOW.max(TASKS_WINDOW) {
            return Err(DriveError::BufferTooSmall { need: WINDOW });
        }
        let file_len = store.size().map_err(DriveError::Store)?;
        let len = usize::try_from(file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
        let bytes = window.get_mut(..len).unwrap_or_default();
        read_exact(store, 0, bytes)?;
        let meta1 = Meta1::parse(bytes, file_len).map_err(DriveError::Format)?;
        let head = Head { file_len, meta1, meta2: None };
        let (blocks, has_zeros) = blocks(store, &head, window)?;
        let fields = fields(store, &head)?;
        let remains = Self {
            head,
            blocks,
            varheader: None,
            word: Trust::None,
            rival: None,
            unnamed: fields == (0, 0) && head.meta1.layout().commit_fields().fits(file_len),
            has_lost_sizes: false,
            written: u64::MAX,
            checksum,
        };
        let mut remains = remains.judge(store, fields, window)?;
        // A seal has a checksum of the chunksizes; a META2 right after the last block proves their
        // sum.
        let is_closed = remains.word == Trust::Closed;
        remains.has_lost_sizes = has_zeros && !is_closed && !remains.word.is_sealed();
        if let Some(varheader) = remains.varheader.filter(|_| is_closed) {
            let (start, end) = (varheader.start(), varheader.blocksizes().end().min(file_len));
            let tables = Span::between(start, end).unwrap_or(Span::ZERO);
            let len = used_len(store, tables, window)?;
            remains.written = start.saturating_add(len);
        }
        Ok(remains)
    }

    /// The length of the file and its META1, without META2.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The places of the blocks.
    #[must_use]
    pub const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The place of META2, mapping and seal, if it is known. They may be there only in part.
    #[must_use]
    pub const fn varheader(&self) -> Option<&Varheader> {
        self.varheader.as_ref()
    }

    /// Whether the file has a seal whose chunk checksums are sound. They are in
    /// [`Varheader::crcs`].
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        matches!(self.word, Trust::Sealed | Trust::SealedChunks)
    }

    /// All tasks in order, with no chunks and no bytes, as in an unclosed file. `window` needs
    /// [`TASKS_WINDOW`] bytes.
    ///
    /// # Errors
    /// The store's own error.
    pub fn tasks<'a, S: Sparse, W: AsMut<[u8]>>(
        &'a self,
        store: &'a S,
        window: W,
    ) -> Result<Tasks<'a, S, W>, ReadError<S>> {
        Tasks::new(store, &self.head, window)
    }

    /// The offset from which on there is no data of any stream.
    pub(super) fn data_end(&self) -> u64 {
        let start = self.varheader.map_or(u64::MAX, |varheader| varheader.start());
        start.min(self.head.file_len)
    }

    /// Whether the file ends before META2, and perhaps before the end of data; or before the commit
    /// fields, as a file may that SIONlib created and never wrote to.
    pub(super) fn is_cut(&self) -> bool {
        let file_len = self.head.file_len;
        self.varheader.is_some_and(|varheader| varheader.start() > file_len)
            || !self.head.meta1.layout().commit_fields().fits(file_len)
    }
}

/// The commit fields; zeros if the file ends before them.
fn fields<S: Sparse>(store: &S, head: &Head) -> Result<Fields, ReadError<S>> {
    let order = head.meta1.order();
    let fields = commit_fields(store, head)?.unwrap_or_else(CommitFields::new_zeroed);
    Ok((fields.maxchunks.get(order).into(), fields.start_of_varheader.get(order)))
}

/// The places of blocks, from the sum of all chunksizes; and whether a chunksize of 0 is in a
/// sector of zeros.
fn blocks<S: Sparse>(
    store: &S,
    head: &Head,
    window: &mut [u8],
) -> Result<(Blocks, bool), ReadError<S>> {
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    let (mut has_zeros, mut seen) = (false, 0);
    while let Some(next) = entry(layout.chunksizes(), sum.tasks) {
        let rest = Span::between(next.offset(), layout.chunksizes().end()).unwrap_or(Span::ZERO);
        let whole = window.len() & !7;
        let bytes = rest.front_of(window.get_mut(..whole).unwrap_or_default());
        read_exact(store, next.offset(), bytes)?;
        for value in values(bytes) {
            let place = entry(layout.chunksizes(), sum.tasks).unwrap_or(Span::ZERO);
            let size =
                sum.add(value.get(head.meta1.order())).map_err(DriveError::<_, Error>::Format)?;
            for at in [place.offset(), place.end().saturating_sub(1)] {
                // A sector is looked at once: no chunk size is at offset 0.
                let sector = at & !SECTOR_MASK;
                if size == 0 && !has_zeros && sector != seen {
                    has_zeros = is_zero_sector(store, at, sector, head.file_len)?;
                    seen = sector;
                }
            }
        }
    }
    Ok((sum.blocks(), has_zeros))
}

/// The bits of an offset in a sector: the least bytes that storage writes, or loses, as a whole.
pub(super) const SECTOR_MASK: u64 = 511;

/// Whether the sector with the byte at `offset` has only zeros, from `from` on.
pub(super) fn is_zero_sector<S: Sparse>(
    store: &S,
    offset: u64,
    from: u64,
    file_len: u64,
) -> Result<bool, ReadError<S>> {
    let mut sector = [0; 512];
    let end = (offset | SECTOR_MASK).saturating_add(1).min(file_len);
    let bytes = Span::between(from, end).unwrap_or(Span::ZERO).front_of(&mut sector);
    read_exact(store, from, bytes)?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}
