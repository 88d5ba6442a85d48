//! What a Book knows of its file: after an error, the store must still have it.

use super::Book;
use crate::endian::I32;
use crate::sion::raw;
use crate::store::{Proof, copy_front};
use zerocopy::{FromZeros, IntoBytes};

/// fsblksize, ntasks and nfiles of META1; and the commit fields, unless they may be half written.
impl Proof for Book {
    fn place(&self, number: u32, known: &mut [u8; 80]) -> Option<(u64, usize)> {
        let (meta1, order) = (&self.meta1, self.meta1.order());
        match number {
            0 => {
                let fields = [meta1.fsblksize(), meta1.ntasks(), meta1.nfiles()];
                let fields = fields.map(|field| I32::new(field.cast_signed(), order));
                let offset = raw::Meta1::fsblksize.offset();
                Some((offset.into(), copy_front(fields.as_bytes(), known)))
            }
            1 if self.unsettled.is_none() => {
                let fields = self.published.as_ref().map(|at| at.commit_fields(order));
                let fields = fields.unwrap_or(raw::CommitFields::new_zeroed());
                let place = meta1.layout().commit_fields();
                Some((place.offset(), copy_front(fields.as_bytes(), known)))
            }
            _ => None,
        }
    }
}
