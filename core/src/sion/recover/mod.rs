//! Recovery of physical files: how much of each chunk was used, as far as the file shows it.
//!
//! A file that was never closed, or whose META2 was lost, still has META1, which gives the place of
//! every chunk. The length of each task's stream must come from the rest of the file
//! (`spec/sion.md#recovery`):
//!
//! | the file has | a task's stream is |
//! |---|---|
//! | a seal with a sound table of checksums | exact if each chunk has its checksum, else a guess |
//! | META2 that the commit fields or a seal point to | as found if its entries are sound and no other META2 may be newer |
//! | key-value records | as found if the last record is certainly whole |
//! | none of these | a guess: each chunk up to its last byte that is not zero |
//!
//! Checksums have priority: a stream that they contradict is a guess, whatever else proves it.
//!
//! [`Remains`] is the evidence found in a file; [`Remains::recover`] judges one task. Nothing
//! allocates: the memory is the caller's window. Nothing is written: see [`super::write::publish`]
//! for that.
//!
//! # What the words mean
//! "Exact": checksums of a seal cover every byte of the stream, and all were compared.
//!
//! Without a checksum, damage cannot be told from data. "As found" holds under two assumptions: the
//! bytes in the file are the bytes that were written, and a writer that crashed wrote its bytes in
//! order.
//!
//! Damage that can be detected does not make a wrong stream exact or as found: one byte of the
//! commit fields, of META2 or of its seal; sectors of them, or an end, that read as zeros; a lost
//! end of the file. Without a seal, a number in META1 or META2 that was changed to another allowed
//! number is not detected.

mod certainty;
mod entries;
mod evidence;
mod judge;
mod places;
mod records;
mod scan;
mod scratch;
mod search;
mod set_commit;
mod task;
mod trailer;

pub use certainty::{Certainty, Doubt, Proof, Recovered};
pub use evidence::Remains;
pub use scan::{Sparse, first_nonzero, used_len};
pub use scratch::{Scratch, WINDOW};
pub use set_commit::SetCommit;
pub use task::EachChunk;
