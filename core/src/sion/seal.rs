//! Seals: checksums behind META2 and the mapping, where SIONlib does not look.

use super::ReadError;
use super::error::Error;
use super::layout::Layout;
use super::open::Head;
use super::raw::{self, CommitFields, SealTrailer};
use super::reader::Physical;
use super::varheader::Varheader;
use super::verdict::{Condition, Standing, Suspect, Trailer};
use crate::endian::{ByteOrder, I32};
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

/// What stands where a seal would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SealState {
    /// No seal.
    None,
    /// The seal of another state of the file: someone has written to it since, and did not seal it.
    Stale {
        /// Where its end stands.
        offset: u64,
    },
    /// The seal of this file. Whether the file is still as it was sealed is to be checked.
    Sealed(Seal),
}

/// The seal of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seal {
    varheader: Varheader,
    order: ByteOrder,
    meta1_crc: u32,
    meta2_crc: u32,
    chunks_crc: u32,
}

/// What of a file's metadata is as it was sealed; [`Error::Checksum`] for what is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AsSealed {
    /// META1 with the commit fields that were sealed.
    pub meta1: Result<(), Error>,
    /// META2 and the mapping.
    pub meta2: Result<(), Error>,
    /// The seal's own table.
    pub chunks: Result<(), Error>,
    /// CRC-32C of META1 before its commit fields, as it is now.
    pub front_crc: u32,
}

impl AsSealed {
    /// The first thing that is not as it was sealed.
    ///
    /// # Errors
    /// [`Error::Checksum`].
    pub fn all(&self) -> Result<(), Error> {
        self.meta1.and(self.meta2).and(self.chunks)
    }
}

impl Seal {
    pub(super) fn new(varheader: Varheader, trailer: &SealTrailer, order: ByteOrder) -> Self {
        let crcs = [trailer.meta1_crc, trailer.meta2_crc, trailer.chunks_crc];
        let [meta1_crc, meta2_crc, chunks_crc] = crcs.map(|crc| crc.get(order));
        Self { varheader, order, meta1_crc, meta2_crc, chunks_crc }
    }

    /// META2 and all that belongs to it.
    #[must_use]
    pub const fn varheader(&self) -> &Varheader {
        &self.varheader
    }

    /// Where the checksum of chunk `chunk` of task `local` is, or `None` if there is none.
    #[must_use]
    pub fn entry(&self, local: u32, chunk: u64) -> Option<Span> {
        self.varheader.crc(local, chunk)
    }

    /// The checksum in the bytes at [`Seal::entry`].
    #[must_use]
    pub fn crc(&self, bytes: [u8; 4]) -> u32 {
        crate::endian::U32::from(bytes).get(self.order)
    }

    /// Compares META1, META2, the mapping and the seal's own table with their checksums. `window` must
    /// not be empty.
    ///
    /// # Errors
    /// The store's own.
    pub fn check<S: ReadAt>(
        &self,
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<AsSealed, ReadError<S>> {
        let (varheader, layout) = (&self.varheader, self.varheader.shape().layout());
        let fields = varheader.commit_fields(self.order);
        let front_crc = front_crc(store, layout, self.order, checksum, window)?;
        let meta1 = checksum(front_crc, fields.as_bytes());
        let mut sum = |span| checksum_of(store, span, 0, checksum, window);
        let (meta2, chunks) = (sum(varheader.meta2())?, sum(varheader.crcs())?);
        Ok(AsSealed {
            meta1: self.compare(SealTrailer::meta1_crc, self.meta1_crc, meta1),
            meta2: self.compare(SealTrailer::meta2_crc, self.meta2_crc, meta2),
            chunks: self.compare(SealTrailer::chunks_crc, self.chunks_crc, chunks),
            front_crc,
        })
    }

    fn compare(&self, field: FieldId, stored: u32, computed: u32) -> Result<(), Error> {
        let offset = self.varheader.trailer().offset().saturating_add(field.offset().into());
        match stored == computed {
            true => Ok(()),
            false => Err(Error::Checksum { field, offset, stored, computed }),
        }
    }

    /// Checks all that [`check`](Self::check) compares. Returns the CRC-32C of META1 before its commit
    /// fields.
    ///
    /// # Errors
    /// [`Error::Checksum`] for the first that is not as it was sealed; the store's own.
    pub fn check_metadata<S: ReadAt>(
        &self,
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<u32, ReadError<S>> {
        let checked = self.check(store, checksum, window)?;
        checked.all().map(|()| checked.front_crc).map_err(DriveError::Format)
    }
}

impl Trailer {
    /// Reads what stands at `offset`.
    ///
    /// # Errors
    /// The store's own.
    pub fn read<S: ReadAt>(store: &S, offset: u64, order: ByteOrder) -> Result<Self, ReadError<S>> {
        let mut raw = SealTrailer::new_zeroed();
        read_exact(store, offset, raw.as_mut_bytes())?;
        Ok(Self::new(raw, offset, order))
    }

    /// Whether `suspect`, which this was judged to be, is all in which the file is not as it was
    /// sealed. `window` must not be empty.
    ///
    /// # Errors
    /// The store's own.
    pub fn proves<S: ReadAt>(
        &self,
        suspect: &Suspect,
        store: &S,
        head: &Head,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<bool, ReadError<S>> {
        let order = head.meta1.order();
        if suspect.needs_meta2 {
            let meta2 = self.meta2().filter(|meta2| meta2.fits(head.file_len));
            let Some(meta2) = meta2 else { return Ok(false) };
            let crc = checksum_of(store, meta2, 0, checksum, window)?;
            if crc != self.raw().meta2_crc.get(order) {
                return Ok(false);
            }
        }
        if suspect.needs_meta1 {
            let Some(ntasks) = self.ntasks() else { return Ok(false) };
            let layout = Layout { ntasks, ..*head.meta1.layout() };
            if !layout.commit_fields().fits(head.file_len) {
                return Ok(false);
            }
            let front = front_crc(store, &layout, order, checksum, window)?;
            let crc = checksum(front, self.commit_fields().as_bytes());
            return Ok(crc == self.raw().meta1_crc.get(order));
        }
        Ok(true)
    }
}

/// The CRC-32C of META1 before its commit fields, if its `ntasks` were that of `layout`.
fn front_crc<S: ReadAt>(
    store: &S,
    layout: &Layout,
    order: ByteOrder,
    checksum: Checksum,
    window: &mut [u8],
) -> Result<u32, ReadError<S>> {
    let ntasks = I32::new(i32::try_from(layout.ntasks.get()).unwrap_or(i32::MAX), order);
    let behind = u64::from(raw::Meta1::nfiles.offset()); // right behind ntasks, in every version
    let left = layout.commit_fields().offset().saturating_sub(behind);
    let before = Span::new(0, raw::Meta1::ntasks.offset().into()).unwrap_or(Span::ZERO);
    let crc = checksum_of(store, before, 0, checksum, window)?;
    let crc = checksum(crc, ntasks.as_bytes());
    let rest = Span::new(behind, left).unwrap_or(Span::ZERO);
    checksum_of(store, rest, crc, checksum, window)
}

/// The commit fields as they stand in the file; `None` if it ends before they do.
///
/// # Errors
/// The store's own.
pub fn commit_fields<S: ReadAt>(
    store: &S,
    head: &Head,
) -> Result<Option<CommitFields>, ReadError<S>> {
    let place = head.meta1.layout().commit_fields();
    if !place.fits(head.file_len) {
        return Ok(None);
    }
    let mut fields = CommitFields::new_zeroed();
    read_exact(store, place.offset(), fields.as_mut_bytes())?;
    Ok(Some(fields))
}

/// The checksum of what is in `span`, behind bytes whose checksum is `previous`.
///
/// # Errors
/// [`DriveError::BufferTooSmall`] for an empty window; the store's own.
pub fn checksum_of<S: ReadAt>(
    store: &S,
    span: Span,
    previous: u32,
    checksum: Checksum,
    window: &mut [u8],
) -> Result<u32, ReadError<S>> {
    let mut crc = previous;
    let mut at = span.offset();
    while at < span.end() {
        let left = usize::try_from(span.end().saturating_sub(at)).unwrap_or(usize::MAX);
        let len = left.min(window.len());
        let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
        let bytes = bytes.ok_or(DriveError::BufferTooSmall { need: 1 })?;
        read_exact(store, at, bytes)?;
        crc = checksum(crc, bytes);
        at = at.saturating_add(usize_to_u64(len));
    }
    Ok(crc)
}

impl<S: ReadAt> Physical<S> {
    /// The seal, or what stands in its place.
    ///
    /// # Errors
    /// [`Error`] if the seal or a mapping before it is damaged; the store's own.
    pub fn seal(&self) -> Result<SealState, ReadError<S>> {
        let (mapping, order) = (self.mapping()?, self.meta1().order());
        let varheader = Varheader::of(self.head(), mapping.as_ref());
        let varheader = varheader.and_then(|varheader| varheader.sealed());
        let fits = |sealed: &Varheader| sealed.span().fits(self.head().file_len);
        let Some(varheader) = varheader.filter(fits) else { return Ok(SealState::None) };
        let trailer = Trailer::read(self.store(), varheader.trailer().offset(), order)?;
        match trailer.condition() {
            Condition::Absent => Ok(SealState::None),
            Condition::Damaged(error) | Condition::Unknown(error) => Err(DriveError::Format(error)),
            Condition::Whole => {
                let fields = varheader.commit_fields(order);
                Ok(match trailer.judge(self.head(), Some(&fields)) {
                    Standing::Current(seal) => SealState::Sealed(seal),
                    // Of the two, only META1 and META2 can tell, and they are not read here.
                    Standing::Stale | Standing::Suspect(_) => {
                        SealState::Stale { offset: trailer.offset() }
                    }
                })
            }
        }
    }

    /// The checksum that `seal` has of chunk `chunk` of task `local`.
    ///
    /// # Errors
    /// [`Error::NoChunk`]; the store's own.
    pub fn sealed_crc(&self, seal: &Seal, local: u32, chunk: u64) -> Result<u32, ReadError<S>> {
        let blockcount = self.meta2().maxchunks().into();
        let no_chunk = DriveError::Format(Error::NoChunk { chunk, blockcount });
        let place = seal.entry(local, chunk).ok_or(no_chunk)?;
        let mut bytes = [0; 4];
        read_exact(self.store(), place.offset(), &mut bytes)?;
        Ok(seal.crc(bytes))
    }
}
