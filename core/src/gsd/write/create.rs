//! Creates an empty file; its first bytes are written last.

mod attributes;
pub(in crate::gsd) mod blank;

pub use attributes::Attributes;
pub(in crate::gsd) use attributes::{Blocks, align_of, checked};

use crate::exact::Exact;
use crate::gsd::disk::header::Header;
pub(in crate::gsd) use crate::gsd::disk::shadow::OTHER_SHADOW;
pub use crate::gsd::disk::shadow::{OLD_SHADOW, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::layout::{NAME_UNIT, SECTOR};
use crate::gsd::raw::{self, Shadow};
use crate::integrity::Checksum;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

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
}

/// Length of the header's magic.
const MAGIC: usize = 8;

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

    /// No file yet.
    #[inline]
    pub(in crate::gsd) fn nothing() -> Self {
        let (header, shadow) = (raw::Header::new_zeroed(), Shadow::new_zeroed());
        Self { header, shadow, data_end: 0, store_len: 0 }
    }

    /// Sets this to make a file, as [`new`](Self::new), in place: it is large for a device's stack.
    #[inline(never)]
    pub(in crate::gsd) fn set(
        &mut self,
        attributes: &Attributes<'_>,
        store_len: u64,
        checksum: Checksum,
    ) -> Result<(), Error> {
        let image = &mut self.shadow.new;
        let data_end = attributes.fill_header(&mut self.header, image, checksum)?;
        self.begin(data_end, store_len, checksum);
        Ok(())
    }

    /// Sets this to make the file of the header that `fill` fills, with the part of it that commits
    /// change. The file may have names that the caller writes after it [clears](Self::clear) the
    /// blocks.
    pub(in crate::gsd) fn set_header(
        &mut self,
        fill: impl FnOnce(&mut raw::Header, &mut raw::Image),
        data_end: u64,
        store_len: u64,
        checksum: Checksum,
    ) {
        fill(&mut self.header, &mut self.shadow.new);
        self.begin(data_end, store_len, checksum);
    }

    fn begin(&mut self, data_end: u64, store_len: u64, checksum: Checksum) {
        (self.data_end, self.store_len) = (data_end, store_len);
        let Shadow { old, new, .. } = &mut self.shadow;
        old.copy_from(new);
        self.shadow.seal(0, checksum);
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

    /// How many of the `bytes` from `offset` on, counted from the first, are those that the
    /// creation writes there.
    fn same(&self, offset: u64, bytes: &[u8]) -> usize {
        for span in self.zeros() {
            let into = offset.wrapping_sub(span.offset());
            if into < span.len() {
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                return usize::try_from(span.len().exact_sub(into))
                    .map_or(zeros, |left| left.min(zeros));
            }
        }
        let (start, new) = match offset < SHADOW {
            true => (0, self.header.as_bytes()),
            false => (SHADOW, self.shadow.as_bytes()),
        };
        let new = usize::try_from(offset.exact_sub(start)).ok().and_then(|into| new.get(into..));
        new.unwrap_or_default().iter().zip(bytes).take_while(|(new, byte)| new == byte).count()
    }

    /// What is cleared: the second shadow, which may be from an older file, with the name list
    /// after it; the index.
    fn zeros(&self) -> [Span; 2] {
        let image = &self.shadow.new;
        let names = image.namelist_allocated_entries.get().exact_mul(NAME_UNIT);
        let other = Span::exact(OTHER_SHADOW, Shadow::LEN.exact_add(names));
        [other, image.index().exact_span()]
    }

    /// The length of the store with the file.
    pub(in crate::gsd) fn len(&self) -> u64 {
        self.data_end.max(self.store_len)
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

    /// Clears the blocks, but does not make them durable. The caller may write names then.
    pub(in crate::gsd) async fn clear<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        store.set_size(self.len()).await?; // first: a store that is too small stays as it is
        if self.store_len > 0 {
            store.write_all_at(0, &[0; MAGIC]).await?;
            store.sync().await?;
        }
        store.write_all_at(SHADOW, self.shadow.as_bytes()).await?;
        for mut left in self.zeros() {
            let mut zeros = [0; 64];
            while !left.is_empty() {
                let part = left.front_of(&mut zeros);
                store.write_all_at(left.offset(), part).await?;
                left = left.after(part);
            }
        }
        Ok(())
    }

    /// Writes the header: the file is one after the last step.
    pub(in crate::gsd) async fn show<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        store.sync().await?;
        let header = self.header.as_bytes().split_at_checked(MAGIC);
        let (magic, rest) = header.unwrap_or_default();
        // The magic comes last: a torn sector may have it and not the rest.
        store.write_all_at(usize_to_u64(MAGIC), rest).await?;
        store.sync().await?;
        store.write_all_at(0, magic).await?;
        store.sync().await
    }
}

const _: () =
    assert!(OTHER_SHADOW + Shadow::LEN == 2 * SECTOR.get() && Shadow::LEN == 4 * NAME_UNIT);
const _: () = assert!(Header::LEN == 256 && size_of::<raw::Header>() == Header::LEN);
