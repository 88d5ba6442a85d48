//! Seals: checksums of a subfile's blobs, between the header and the first value
//! (`spec/blob.md#seals`).
//!
//! A seal has the CRC-32C of the header and of the bytes of each blob of each variable, over all
//! records. There are two copies. [`FindSeal`] finds them, and [`Found::judge`] says which one
//! counts. A writer gets the places of the copies from [`Shape::places`], and their heads from
//! [`Facts::head`].
//!
//! **Appending.** The CRC-32C of a blob with more records continues that of the blob before:
//! nothing is read again. A writer first replaces the copy that [`Found::next`] names, then syncs,
//! then writes `numrecs`, then syncs: a cut leaves a copy of the old number of records and perhaps
//! one of the new number. Then it replaces the other copy ([`append`](crate::blob::write::append)).

mod copy;
mod find;

pub use copy::{COPIES, Duplicate, Facts, Found, Seal, SealPlace, Shape, header_crc, heads};
pub use find::FindSeal;
