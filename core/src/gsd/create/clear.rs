//! The steps of making a file.

use super::{Create, NAME_UNIT, OTHER_SHADOW, SHADOW, ZEROS};
use crate::gsd::raw::Shadow;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// Length of the header's magic.
const MAGIC: usize = 8;

#[twin(WriteAt)]
impl Create {
    /// Clears the blocks, but does not make them durable. The caller may write names then.
    pub(in crate::gsd) async fn clear<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        store.set_size(self.len()).await?; // first: a store that is too small stays as it is
        if self.store_len > 0 {
            store.write_all_at(0, &[0; MAGIC]).await?;
            store.sync().await?;
        }
        store.write_all_at(SHADOW, self.shadow.as_bytes()).await?;
        // The second shadow may be from an older file; the name list is after it.
        let image = self.header.image();
        let names = image.name_block().units.saturating_mul(NAME_UNIT);
        let other = Span::exact(OTHER_SHADOW, Shadow::LEN.saturating_add(names));
        for cleared in [other, image.index().exact_span()] {
            let mut left = cleared;
            while !left.is_empty() {
                let len = usize::try_from(left.len()).unwrap_or(ZEROS.len()).min(ZEROS.len());
                store.write_all_at(left.offset(), ZEROS.get(..len).unwrap_or_default()).await?;
                left = left.skip(usize_to_u64(len));
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
