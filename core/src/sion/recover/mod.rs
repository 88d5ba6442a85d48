//! Recovering physical files: how much of each chunk was used, as far as anything says so.
//!
//! A file that its writer never closed, or whose META2 was lost, still has META1, which says where
//! every chunk is. How long each task's stream is must come from what else is there
//! (`spec/sion.md#recovery`):
//!
//! | what is there | a task's stream is |
//! |---|---|
//! | META2 that the commit fields, or a seal, lead to | exact if its entries are sound and no other META2 may be newer |
//! | a seal with a sound table of checksums | exact only if each chunk has its checksum |
//! | key-value records | exact if the last record is surely whole |
//! | else | a guess: each chunk up to its last byte that is not zero |
//!
//! Checksums come first: a stream that they contradict is a guess, whatever else says that it is
//! exact.
//!
//! [`Remains`] is what is known of a file; [`Remains::recover`] judges one task. Nothing allocates:
//! memory is the caller's window. Nothing is written: see [`super::publish`] for that.
//!
//! # What exact means
//! Nobody can tell damage from data where no checksum is. Exact holds under these assumptions: what
//! stands in the file is what somebody wrote there, and a writer that died wrote its bytes in
//! order. Sealed files need neither, as checksums prove them.
//!
//! Damage that shows breaks no promise: one byte of the commit fields, META2 or its seal, sectors
//! of them that read as zeros, or an end of the file that is lost. An allowed number in META2 that
//! was changed to another one does not show without a seal.

mod entries;
mod evidence;
mod judge;
mod places;
mod records;
mod scan;
mod search;
mod task;
mod trailer;

pub use evidence::Remains;
pub use scan::{Sparse, first_nonzero, used_len};
pub use task::EachChunk;

use core::fmt;

/// A recovered stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Recovered {
    /// Chunks that the task used, at least 1.
    pub blockcount: u64,
    /// Bytes of the stream.
    pub bytes: u64,
    /// Whether that is proven.
    pub certainty: Certainty,
}

/// Whether a recovered stream is what its task wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Certainty {
    /// The file proves it.
    Exact(Proof),
    /// It may be longer or shorter, by zeros as a rule, or, where a seal says so, other bytes.
    Guess(Doubt),
}

impl Certainty {
    /// Whether the file proves it.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

/// What proves a stream's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Proof {
    /// META2.
    Meta2,
    /// META2, and the seal says that it is undamaged. The seal's own table is not, so that nothing
    /// is known of the data.
    SealedMeta2,
    /// META2 and the checksums of the task's chunks.
    Sealed,
    /// The checksums of the task's chunks.
    SealedChunks,
    /// The records are whole, and nothing stands behind them.
    Records,
    /// The records are whole. Behind them, at the end of the file, stands the front of one that was
    /// never finished; it is left out.
    RecordsBeforeUnfinished,
    /// The task's chunks have no room for a byte.
    NoRoom,
}

/// Why a stream's length is a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Doubt {
    /// There is no META2: chunks end in their last byte that is not zero.
    NoMeta2,
    /// Entries of META2 are missing or damaged: those chunks end in their last byte that is not
    /// zero.
    Meta2InPart,
    /// META2 says 0 of a chunk that holds data, where it may never have been written: the chunk
    /// ends in its last byte that is not zero.
    ZeroBlocksize,
    /// META2 stands where writers put it, but no commit field leads to it.
    Meta2NotNamed,
    /// The commit fields lead to a META2 that is not there; the one that is may be an older one.
    Meta2Lost,
    /// The commit fields lead to a META2, and nearly so to another that is whole and says more or
    /// something else: a commit that was being made, or a damaged field.
    TwoMeta2,
    /// META2 is that of a seal at the end of the file, which may be an older one.
    OldSeal,
    /// Chunk sizes of 0 stand in a sector of zeros, which may have been lost: chunks may be
    /// elsewhere.
    LostSizes,
    /// Chunks are not as they were sealed: their bytes, or how many they are, may be wrong.
    NotAsSealed,
    /// The file ends where more of the stream could be.
    FileCut,
    /// The last record ends in a zero: its end, or that of its header, may never have been written.
    LastRecord,
    /// Zeros between records were taken for records with key 0 that hold nothing.
    ZeroRecords,
    /// Bytes that are no record stand behind the last one.
    NoRecord,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Meta2 => "META2 says so",
            Self::SealedMeta2 => "META2 says so, and is as it was sealed",
            Self::Sealed => "META2 and its chunks are as they were sealed",
            Self::SealedChunks => "its chunks are as they were sealed",
            Self::Records => "its records are whole",
            Self::RecordsBeforeUnfinished => {
                "its records are whole; the front of an unfinished one at the end is left out"
            }
            Self::NoRoom => "its chunks have no room",
        })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMeta2 => "there is no META2, zeros at the end of a chunk are not counted",
            Self::Meta2InPart => {
                "META2 is damaged here, zeros at the end of a chunk are not counted"
            }
            Self::ZeroBlocksize => "META2 says 0 of a chunk with data, and may be unwritten here",
            Self::Meta2NotNamed => "META2 is there, but META1 does not lead to it",
            Self::Meta2Lost => "META1 leads to a META2 that is lost, the one found may be older",
            Self::TwoMeta2 => "there are two META2 that META1 may mean, and they differ",
            Self::LostSizes => "chunk sizes in META1 are in a sector of zeros and may be lost",
            Self::OldSeal => "META2 is that of a seal that may be an older one",
            Self::NotAsSealed => "chunks are not as they were sealed",
            Self::FileCut => "the file ends where more of it could be",
            Self::LastRecord => "its last record ends in zeros, which may be its unwritten end",
            Self::ZeroRecords => "zeros between records were taken for empty records of key 0",
            Self::NoRecord => "bytes that are no record stand behind the last one",
        })
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(proof) => write!(f, "exact: {proof}"),
            Self::Guess(doubt) => write!(f, "guess: {doubt}"),
        }
    }
}

/// Memory for recovering, and a bound on the work.
#[derive(Debug)]
pub struct Scratch<'w> {
    window: &'w mut [u8],
    /// Zeros that may still be tried behind data to find a sealed checksum.
    zeros: u64,
}

/// Zeros that are tried behind data, for all chunks together.
const ZEROS: u64 = 1 << 28;

impl<'w> Scratch<'w> {
    /// Memory to read into: [`WINDOW`] bytes; with more there are fewer and larger reads.
    ///
    /// Of a sealed file it also counts the zeros that were tried behind chunks' data, so one is to
    /// be used for all tasks of a file.
    #[must_use]
    pub const fn new(window: &'w mut [u8]) -> Self {
        Self { window, zeros: ZEROS }
    }
}

/// Bytes that the window of [`Remains::read`] and of a [`Scratch`] needs.
pub const WINDOW: usize = super::Meta1::MAX_LEN;
