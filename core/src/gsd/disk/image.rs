//! The part of the header that commits change: how it is written, and what proves it.

use crate::gsd::raw::{Commit, Image, Shadow};
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use core::mem::offset_of;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// Offset of the part of an image that is before application and schema.
const FIELDS: u64 = 8;

#[twin(WriteAt)]
impl Image {
    /// Writes this image to the header, in the order of its bytes: a torn header is the start of
    /// this one and the rest of the old one. It is not durable yet.
    #[inline(never)]
    pub(in crate::gsd) async fn show<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        let (fields, record) = self.parts();
        store.write_all_at(FIELDS, fields).await?;
        store.write_all_at(Commit::OFFSET, record).await
    }
}

impl Image {
    /// The bytes that prove that a file has this header, and their offset and length. They are its
    /// commit record, whose checksums cover the rest; that in the shadow, while the header may be
    /// half written or erased; or the fields before the record, if it may be invalid.
    #[inline(never)]
    pub(in crate::gsd) fn proof(
        &self,
        has_record: bool,
        is_torn: bool,
        known: &mut [u8; 80],
    ) -> (u64, usize) {
        let (fields, record) = self.parts();
        if !has_record {
            return (FIELDS, copy_front(fields, known));
        }
        let shadow = Shadow::offset_of(self.commit.shadow.get(), self.commit.sequence.get());
        let in_shadow = shadow.saturating_add(usize_to_u64(offset_of!(Shadow, new.commit)));
        (if is_torn { in_shadow } else { Commit::OFFSET }, copy_front(record, known))
    }

    /// The fields before the commit record, and the record.
    fn parts(&self) -> (&[u8], &[u8]) {
        self.as_bytes().split_at_checked(40).unwrap_or_default()
    }
}
