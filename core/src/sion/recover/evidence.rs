//! What is left of a physical file's metadata, and what it is worth.

use super::{Doubt, Sparse};
use crate::endian::{I32, I64};
use crate::integrity::Checksum;
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, TRAILER_LEN, Varheader};
use crate::sion::locate::ChunkSum;
use crate::sion::meta1::Meta1;
use crate::sion::meta2::{Meta2, entry};
use crate::sion::open::Head;
use crate::sion::raw::{self, CommitFields, SealTrailer};
use crate::sion::seal::checksum_of;
use crate::sion::tasks::{Tasks, values};
use crate::sion::{ReadError, TASKS_WINDOW};
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use zerocopy::{FromZeros, IntoBytes};

/// What is known of a physical file that may be unclosed or damaged. META1 must be sound, but for
/// its commit fields.
#[derive(Debug, Clone, Copy)]
pub struct Remains {
    pub(super) head: Head,
    pub(super) blocks: Blocks,
    /// The place of META2, of which there may be a part.
    pub(super) varheader: Option<Varheader>,
    pub(super) word: Word,
    /// Whether the commit fields are zero or missing: the file was never closed or committed.
    pub(super) unnamed: bool,
    pub(super) checksum: Checksum,
}

/// What the word of META2 is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
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

/// A seal whose trailer is right, and what else is as it was sealed.
struct Sealed {
    varheader: Varheader,
    meta1: bool,
    meta2: bool,
    chunks: bool,
}

/// How the commit fields stand in the file: `maxchunks`, `start_of_varheader`.
type Fields = (i64, i64);

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
        let blocks = blocks(store, &head, window)?;
        let fields = fields(store, &head)?;
        let mut remains = Self {
            head,
            blocks,
            varheader: None,
            word: Word::None,
            unnamed: fields == (0, 0),
            checksum,
        };
        if let Some((varheader, word)) = remains.judge(store, fields, window)? {
            (remains.varheader, remains.word) = (Some(varheader), word);
        }
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
        matches!(self.word, Word::Sealed | Word::SealedChunks)
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
        let start = self.varheader.map_or(u64::MAX, |varheader| varheader.start);
        start.min(self.head.file_len)
    }

    /// Whether the file ends in front of META2, and perhaps of data.
    pub(super) fn is_cut(&self) -> bool {
        self.varheader.is_some_and(|varheader| varheader.start > self.head.file_len)
    }

    /// Finds META2, and says what it is worth.
    fn judge<S: Sparse>(
        &self,
        store: &S,
        fields: Fields,
        window: &mut [u8],
    ) -> Result<Option<(Varheader, Word)>, ReadError<S>> {
        let named = self.named(fields);
        let is_natural = named.is_some_and(|named| self.is_natural(&named));
        let is_whole = match named {
            Some(named) => is_natural || self.is_whole(store, &named, window)?,
            None => false,
        };
        for place in self.trailers(store, named)?.into_iter().flatten() {
            let Some(seal) = self.seal_at(store, place, window)? else { continue };
            let is_named = named.is_some_and(|named| {
                (named.start, named.maxchunks) == (seal.varheader.start, seal.varheader.maxchunks)
            });
            if !seal.meta1 && is_named {
                // META1 was altered: chunks may be elsewhere, whatever META2 says of them.
                let word = Word::Doubtful(Doubt::NotAsSealed);
                return Ok(Some((seal.varheader, word)));
            }
            if !seal.meta1 || is_whole && !is_named {
                continue; // someone has written to the file since
            }
            // Another commit than the one that this seal is of may be newer, but where blocks end
            // there is only the last.
            let is_last = is_named || self.is_natural(&seal.varheader);
            let word = match (is_last, seal.meta2, seal.chunks) {
                (true, true, true) => Word::Sealed,
                (true, true, false) => Word::SealedMeta2,
                (true, false, true) => Word::SealedChunks,
                (true, false, false) => Word::Doubtful(Doubt::NotAsSealed),
                (false, true, _) => Word::Doubtful(Doubt::OldSeal),
                (false, false, _) => continue,
            };
            return Ok(Some((seal.varheader, word)));
        }
        match named {
            Some(named) if is_natural => return Ok(Some((named, Word::Closed))),
            Some(named) if is_whole => return Ok(Some((named, Word::Committed))),
            _ => {}
        }
        for candidate in self.corrected(fields).into_iter().flatten() {
            if self.is_whole(store, &candidate, window)? {
                return Ok(Some((candidate, Word::Closed)));
            }
        }
        if let Some(found) = self.search(store, window)? {
            return Ok(Some((found, Word::Doubtful(Doubt::Meta2NotNamed))));
        }
        let commit = named.filter(|named| self.is_commit(named));
        Ok(commit.map(|commit| (commit, Word::Doubtful(Doubt::Meta2InPart))))
    }

    /// META2 where the commit fields say; it may be behind the end of the file.
    fn named(&self, (maxchunks, start): Fields) -> Option<Varheader> {
        let start = u64::try_from(start).ok()?;
        let maxchunks = u32::try_from(maxchunks).ok().filter(|&rows| rows > 0)?;
        self.varheader_at(start, maxchunks)
    }

    fn varheader_at(&self, start: u64, maxchunks: u32) -> Option<Varheader> {
        let layout = self.head.meta1.layout();
        let ntasks = layout.ntasks.get();
        let shape = Varheader { start: 0, ntasks, maxchunks, mapping_len: 0, sealed: false };
        shape.at(start).filter(|_| start >= layout.meta1_end())
    }

    /// Whether it stands where SIONlib puts it.
    pub(super) fn is_natural(&self, varheader: &Varheader) -> bool {
        self.blocks.end(varheader.maxchunks.into()) == Some(varheader.start)
    }

    /// Whether it stands where a commit could have put it.
    fn is_commit(&self, varheader: &Varheader) -> bool {
        let end = self.blocks.end(varheader.maxchunks.into());
        end.is_some_and(|end| end <= varheader.start) && varheader.start & 511 == 0
    }

    /// META2 where it would be if one of the commit fields was right and the other damaged.
    fn corrected(&self, (maxchunks, start): Fields) -> [Option<Varheader>; 2] {
        let by_start = u64::try_from(start).ok().and_then(|start| {
            let rows = self.blocks.before(start);
            self.varheader_at(start, u32::try_from(rows).ok().filter(|&rows| rows > 0)?)
        });
        let by_rows = u32::try_from(maxchunks)
            .ok()
            .filter(|&rows| rows > 0)
            .and_then(|rows| self.varheader_at(self.blocks.end(rows.into())?, rows));
        [by_start, by_rows].map(|found| found.filter(|found| self.is_natural(found)))
    }

    /// META2 where a file of this length would have it if it was closed and META1 does not say so.
    fn search<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
    ) -> Result<Option<Varheader>, ReadError<S>> {
        let table_len = self.head.meta1.layout().table_len();
        let head_len = u64::from(raw::MappingSize::TABLE.len);
        let rows = self.head.file_len.checked_sub(self.blocks.first.saturating_add(table_len));
        let row_len = self.blocks.globalskip.saturating_add(table_len);
        let most = rows.and_then(|rows| rows.checked_div(row_len)).unwrap_or(0);
        // How long the mapping is, only the mapping says.
        let tries = if self.head.meta1.is_first_of_several() { TRIES } else { 1 };
        for rows in (1..=most).rev().take(tries) {
            let start = self.blocks.end(rows);
            let maxchunks = u32::try_from(rows).ok();
            let place = start.zip(maxchunks).and_then(|(at, rows)| self.varheader_at(at, rows));
            let Some(place) = place else { continue };
            let behind = self.head.file_len.saturating_sub(place.span().end());
            let is_end = match self.head.meta1.is_first_of_several() {
                false => behind == 0 || behind == head_len,
                true => self.mapping_len(store, &place)? == behind,
            };
            if is_end && self.is_whole(store, &place, window)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Bytes of the mapping, or of its size, behind META2 at `place`; 0 if there is none.
    fn mapping_len<S: Sparse>(&self, store: &S, place: &Varheader) -> Result<u64, ReadError<S>> {
        let meta1 = &self.head.meta1;
        let head_len = u64::from(raw::MappingSize::TABLE.len);
        let at = place.blocksizes().end();
        if self.head.file_len.saturating_sub(at) < head_len {
            return Ok(0);
        }
        if !meta1.is_first_of_several() {
            return Ok(if meta1.has_empty_mapping() { head_len } else { 0 });
        }
        let mut size = I32::new_zeroed();
        read_exact(store, at, size.as_mut_bytes())?;
        let entries = u64::try_from(size.get(meta1.order())).unwrap_or(0);
        Ok(head_len.saturating_add(entries.saturating_mul(raw::MappingEntry::TABLE.len.into())))
    }

    /// Whether all of META2 at `place` is in the file and sound.
    fn is_whole<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
        window: &mut [u8],
    ) -> Result<bool, ReadError<S>> {
        let fields = self.fields_of(place);
        let meta2 = Meta2::parse(fields.as_bytes(), &self.head.meta1, self.head.file_len);
        let Ok(Some(meta2)) = meta2 else { return Ok(false) };
        let head = Head { meta2: Some(meta2), ..self.head };
        let mut largest = 0;
        for task in Tasks::new(store, &head, window)? {
            match task {
                Ok(listed) => largest = listed.task.blockcount.max(largest),
                Err(DriveError::Format(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(largest == u64::from(place.maxchunks))
    }

    /// The commit fields that lead to `place`.
    fn fields_of(&self, place: &Varheader) -> CommitFields {
        let order = self.head.meta1.order();
        let maxchunks = I32::new(i32::try_from(place.maxchunks).unwrap_or(i32::MAX), order);
        let start = I64::new(i64::try_from(place.start).unwrap_or(i64::MAX), order);
        CommitFields { maxchunks, start_of_varheader: start }
    }

    /// Where the end of a seal may stand: at the end of the file, or where the commit fields say.
    fn trailers<S: Sparse>(
        &self,
        store: &S,
        named: Option<Varheader>,
    ) -> Result<[Option<u64>; 2], ReadError<S>> {
        let last = self.head.file_len.checked_sub(TRAILER_LEN);
        let by_fields = match named {
            Some(named) => {
                let mapping_len = self.mapping_len(store, &named)?;
                let sealed = Varheader { mapping_len, sealed: true, ..named };
                sealed.at(named.start).map(|sealed| sealed.trailer().offset())
            }
            None => None,
        };
        let in_file = |at: &u64| last.is_some_and(|last| *at <= last);
        Ok([by_fields.filter(in_file), last])
    }

    /// The seal that ends in a trailer at `place`, if it is one of as many tasks.
    fn seal_at<S: Sparse>(
        &self,
        store: &S,
        place: u64,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        let order = self.head.meta1.order();
        let mut trailer = SealTrailer::new_zeroed();
        read_exact(store, place, trailer.as_mut_bytes())?;
        let own = usize::from(SealTrailer::trailer_crc.offset());
        let own = (self.checksum)(0, trailer.as_bytes().get(..own).unwrap_or_default());
        if trailer.magic != SealTrailer::MAGIC
            || trailer.trailer_crc.get(order) != own
            || trailer.seal_version.get(order) != SealTrailer::VERSION
            || u32::try_from(trailer.ntasks.get(order)) != Ok(self.head.meta1.ntasks())
        {
            return Ok(None);
        }
        let fields = (trailer.maxchunks.get(order).into(), trailer.start_of_varheader.get(order));
        let start_of_seal = u64::try_from(trailer.start_of_seal.get(order)).unwrap_or(0);
        let sealed = self.named(fields).and_then(|named| {
            let mapping_len = start_of_seal.checked_sub(named.blocksizes().end())?;
            Varheader { mapping_len, sealed: true, ..named }.at(named.start)
        });
        let Some(varheader) = sealed.filter(|sealed| sealed.trailer().offset() == place) else {
            return Ok(None);
        };
        let mut sum = |span: Span| checksum_of(store, span, 0, self.checksum, window);
        let front = Span::new(0, self.head.meta1.layout().commit_fields().offset());
        let meta1 = (self.checksum)(
            sum(front.unwrap_or(Span::ZERO))?,
            self.fields_of(&varheader).as_bytes(),
        );
        let meta2_len = start_of_seal.saturating_sub(varheader.start);
        let meta2 = sum(Span::new(varheader.start, meta2_len).unwrap_or(Span::ZERO))?;
        let chunks = sum(varheader.crcs())?;
        Ok(Some(Sealed {
            varheader,
            meta1: meta1 == trailer.meta1_crc.get(order),
            meta2: meta2 == trailer.meta2_crc.get(order),
            chunks: chunks == trailer.chunks_crc.get(order),
        }))
    }
}

/// Places that are looked at for META2 of a file that does not say where it is.
const TRIES: usize = 1024;

/// The commit fields; zeros if the file ends in front of them.
fn fields<S: Sparse>(store: &S, head: &Head) -> Result<Fields, ReadError<S>> {
    let (layout, order) = (head.meta1.layout(), head.meta1.order());
    let mut fields = CommitFields::new_zeroed();
    if layout.commit_fields().fits(head.file_len) {
        read_exact(store, layout.commit_fields().offset(), fields.as_mut_bytes())?;
    }
    Ok((fields.maxchunks.get(order).into(), fields.start_of_varheader.get(order)))
}

/// Where blocks are: adds up all chunk sizes.
fn blocks<S: Sparse>(store: &S, head: &Head, window: &mut [u8]) -> Result<Blocks, ReadError<S>> {
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    while let Some(next) = entry(layout.chunksizes(), sum.tasks) {
        let left = layout.chunksizes().end().saturating_sub(next.offset());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let bytes = window.get_mut(..left.min(window.len() & !7)).unwrap_or_default();
        read_exact(store, next.offset(), bytes)?;
        for value in values(bytes) {
            sum.add(value.get(head.meta1.order())).map_err(DriveError::<_, Error>::Format)?;
        }
    }
    Ok(Blocks { first: layout.first_chunk(), globalskip: sum.sum() })
}
