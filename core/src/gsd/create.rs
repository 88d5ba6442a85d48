//! Creates an empty file; its first bytes are written last.

mod attributes;
mod blank;
mod clear;

pub use attributes::Attributes;
pub(super) use attributes::{Blocks, align_of, checked};
pub(super) use blank::Blank;

use super::error::Error;
use super::header::Header;
use super::layout::NAME_UNIT;
use super::raw::{self, Shadow};
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{Machine, Step};
#[twin(WriteAt)]
use crate::store::WriteAt;
use core::convert::Infallible;
use core::num::NonZeroU64;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

/// The offset of the shadows in a new file: they are in one sector, which is not the header's.
pub const SHADOW: u64 = 512;

/// The offset of the second shadow of a new file, which the name list follows.
pub(super) const OTHER_SHADOW: u64 = Shadow::offset_of(SHADOW, 1);

/// The offset of the shadows in files of earlier versions of striae: the first one is in the
/// sector of the header.
pub const OLD_SHADOW: u64 = 256;

/// The least alignment of blocks: a sector.
pub const SECTOR: NonZeroU64 = NonZeroU64::MIN.saturating_add(511);

/// Creates an empty file.
///
/// The store becomes as long as the file needs. Its old content is lost: from the first step on it
/// is not a GSD file any more, and the new file is one only after the last step.
#[derive(Debug)]
pub struct Create {
    header: raw::Header,
    /// The shadow of a commit that changes nothing: without one, an append by gsd would look like
    /// damage.
    shadow: Shadow,
    data_end: u64,
    /// Length of the store, which is never made shorter.
    store_len: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Comes first: a store that is too small stays as it is.
    Size,
    Invalidate,
    SyncInvalid,
    Shadow,
    /// Clears this unit of the second shadow, which may be from an older file, and of the name list
    /// after it.
    Units(u64),
    /// Clears the visible slots, two at a time, from this one on.
    Slots(u64),
    SyncBlocks,
    Rest,
    /// Syncs the rest of the header before the magic is written: a torn sector may have the magic
    /// and not the rest.
    SyncRest,
    Magic,
    SyncAll,
    Done,
}

const ZEROS: [u8; 64] = [0; 64];

impl Create {
    /// A file with `attributes` for a store of `store_len` bytes, which [`run`](Self::run) makes.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::Layer`] for attributes that no file can have;
    /// [`Error::FileFull`] if the file would be too long.
    pub fn new(
        attributes: &Attributes<'_>,
        store_len: u64,
        checksum: Checksum,
    ) -> Result<Self, Error> {
        let mut create = Self::nothing();
        create.set(attributes, store_len, checksum)?;
        Ok(create)
    }

    /// A machine that makes nothing yet.
    #[inline]
    pub(super) fn nothing() -> Self {
        let (header, shadow) = (raw::Header::new_zeroed(), Shadow::new_zeroed());
        Self { header, shadow, data_end: 0, store_len: 0, stage: Stage::Done }
    }

    /// Sets this to make a file, as [`new`](Self::new), in place: it is large for a device's stack.
    #[inline(never)]
    pub(super) fn set(
        &mut self,
        attributes: &Attributes<'_>,
        store_len: u64,
        checksum: Checksum,
    ) -> Result<(), Error> {
        let data_end = attributes.fill_header(&mut self.header, checksum)?;
        self.begin(data_end, store_len, checksum);
        Ok(())
    }

    /// Sets this to make the file of the header that `fill` fills, which may have names that the
    /// caller writes after it [clears](Self::clear) the blocks.
    pub(super) fn set_header(
        &mut self,
        fill: impl FnOnce(&mut raw::Header),
        data_end: u64,
        store_len: u64,
        checksum: Checksum,
    ) {
        fill(&mut self.header);
        self.begin(data_end, store_len, checksum);
    }

    fn begin(&mut self, data_end: u64, store_len: u64, checksum: Checksum) {
        (self.data_end, self.store_len) = (data_end, store_len);
        self.stage = Stage::Size;
        let image = self.header.image();
        self.shadow.set(&image, &image, 0, checksum);
    }

    /// The header of the file.
    #[must_use]
    pub const fn header(&self) -> &raw::Header {
        &self.header
    }

    /// The length of the file in bytes.
    #[must_use]
    pub const fn data_end(&self) -> u64 {
        self.data_end
    }

    /// The byte that the creation writes at `offset`, if any.
    fn written(&self, offset: u64) -> Option<u8> {
        let blocks = [(0, self.header.as_bytes()), (SHADOW, self.shadow.as_bytes())];
        let other = Span::new(OTHER_SHADOW, Shadow::LEN);
        let image = self.header.image();
        let zeros = [other, image.name_block().span(), image.index().span()];
        let is_zero =
            zeros.iter().flatten().any(|span| (span.offset()..span.end()).contains(&offset));
        if is_zero {
            return Some(0);
        }
        blocks.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(at).copied()
        })
    }

    /// The length of the store with the file.
    pub(super) fn len(&self) -> u64 {
        self.data_end.max(self.store_len)
    }

    fn next(&self) -> Stage {
        let units = self.header.namelist_allocated_entries.get();
        let slots = self.header.index_allocated_entries.get();
        match self.stage {
            Stage::Size if self.store_len == 0 => Stage::Shadow,
            Stage::Size => Stage::Invalidate,
            Stage::Invalidate => Stage::SyncInvalid,
            Stage::SyncInvalid => Stage::Shadow,
            Stage::Shadow => Stage::Units(0),
            Stage::Units(unit) if unit < units.saturating_add(3) => {
                Stage::Units(unit.saturating_add(1))
            }
            Stage::Units(_) => Stage::Slots(0),
            Stage::Slots(slot) if slot.saturating_add(2) < slots => {
                Stage::Slots(slot.saturating_add(2))
            }
            Stage::Slots(_) => Stage::SyncBlocks,
            Stage::SyncBlocks => Stage::Rest,
            Stage::Rest => Stage::SyncRest,
            Stage::SyncRest => Stage::Magic,
            Stage::Magic => Stage::SyncAll,
            Stage::SyncAll | Stage::Done => Stage::Done,
        }
    }
}

#[twin(WriteAt)]
impl Create {
    /// Makes the file in `store`.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn run<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        self.clear(store).await?;
        self.show(store).await
    }
}

impl Machine for Create {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let stage = self.stage;
        self.stage = self.next();
        let (header, zeros) = (&self.header, &ZEROS);
        match stage {
            Stage::Size => Step::SetSize { len: self.len() },
            Stage::Invalidate => {
                Step::Write { offset: 0, bytes: zeros.get(..8).unwrap_or_default() }
            }
            Stage::SyncInvalid | Stage::SyncBlocks | Stage::SyncRest | Stage::SyncAll => Step::Sync,
            Stage::Shadow => Step::Write { offset: SHADOW, bytes: self.shadow.as_bytes() },
            Stage::Units(unit) => {
                let offset = OTHER_SHADOW.saturating_add(unit.saturating_mul(NAME_UNIT));
                Step::Write { offset, bytes: zeros }
            }
            Stage::Slots(slot) => {
                let shown = self.header.image().index();
                let both = shown.slots.saturating_sub(slot) > 1;
                let len = if both { 64 } else { 32 };
                let bytes = zeros.get(..len).unwrap_or_default();
                Step::Write { offset: shown.offset_of(slot), bytes }
            }
            Stage::Rest => {
                Step::Write { offset: 8, bytes: header.as_bytes().get(8..).unwrap_or_default() }
            }
            Stage::Magic => {
                Step::Write { offset: 0, bytes: header.as_bytes().get(..8).unwrap_or_default() }
            }
            Stage::Done => Step::Done(()),
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

const _: () =
    assert!(OTHER_SHADOW + Shadow::LEN == 2 * SECTOR.get() && Shadow::LEN == 4 * NAME_UNIT);
const _: () = assert!(Header::LEN == 256 && size_of::<raw::Header>() == Header::LEN);
