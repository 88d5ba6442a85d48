//! A recovered stream, and how far it is proven.

use crate::words::words;
use core::fmt;

/// A recovered stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Recovered {
    /// The number of chunks that the task used, at least 1.
    pub blockcount: u64,
    /// The length of the stream in bytes.
    pub bytes: u64,
    /// Whether the length is proven.
    pub certainty: Certainty,
}

/// Whether a recovered stream is the bytes that its task wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Certainty {
    /// Checksums cover every byte of the stream, and all were compared with them.
    Exact,
    /// The file proves the length of the stream, and no checksum proves its bytes.
    AsFound(Proof),
    /// The stream may be longer or shorter, usually by zeros; or, if a seal shows it, bytes may be
    /// wrong.
    Guess(Doubt),
}

impl Certainty {
    /// Whether checksums prove every byte.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact)
    }

    /// Whether it is exact or as found.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        !matches!(self, Self::Guess(_))
    }
}

words! {
    /// The proof of a stream's length.
    #[non_exhaustive]
    pub enum Proof;
    /// META2.
    Meta2 => "META2 says so";
    /// META2, which is as sealed. The table of chunk checksums is damaged, so nothing is known of
    /// the data.
    SealedMeta2 => "META2 says so, and is as it was sealed";
    /// The records are whole, and only zeros follow them, or nothing.
    Records => "its records are whole";
    /// The records are whole. After them, at the end of the file, is the start of an unfinished
    /// record; it is left out.
    RecordsBeforeUnfinished =>
        "its records are whole; the front of an unfinished one at the end is left out";
    /// The task's chunksize is 0.
    NoRoom => "its chunks have no room";
}

words! {
    /// Why a stream's length is a guess.
    #[non_exhaustive]
    pub enum Doubt;
    /// There is no META2: each chunk ends with its last byte that is not zero.
    NoMeta2 => "there is no META2, zeros at the end of a chunk are not counted";
    /// Entries of META2 are missing or damaged: their chunks end with the last byte that is not
    /// zero.
    Meta2InPart => "META2 is damaged here, zeros at the end of a chunk are not counted";
    /// META2 has 0 for a chunk with data, or less than the chunk has, and the end of this entry may
    /// never have been written: the chunk ends with its last byte that is not zero.
    ZeroBlocksize => "META2 says less than a chunk has, and may be unwritten here";
    /// META2 is at a place where writers put it, but the commit fields do not point to it.
    Meta2NotNamed => "META2 is there, but META1 does not lead to it";
    /// The commit fields point to a META2 that is lost; the one that was found may be older.
    Meta2Lost => "META1 leads to a META2 that is lost, the one found may be older";
    /// META2 is at a place where no writer puts it, by the chunksizes: one of both may be damaged.
    Meta2Misplaced => "META2 is not where chunk sizes in META1 put it, one of both may be wrong";
    /// The commit fields point to a META2, and with one byte changed to another whole one that has
    /// a longer or another stream: an unfinished commit, or a damaged field.
    TwoMeta2 => "there are two META2 that META1 may mean, and they differ";
    /// META2 was found by a seal at the end of the file, which may be an older one.
    OldSeal => "META2 is that of a seal that may be an older one";
    /// Chunksizes of 0 are in a sector of zeros, which may be a lost sector: chunks may be
    /// elsewhere.
    LostSizes => "chunk sizes in META1 are in a sector of zeros and may be lost";
    /// Chunks are not as sealed: their bytes or their lengths may be wrong.
    NotAsSealed => "chunks are not as they were sealed";
    /// The file ends where the stream could continue.
    FileCut => "the file ends where more of it could be";
    /// The last record ends with a zero byte: its end, or the end of its header, may never have
    /// been written.
    LastRecord => "its last record ends in zeros, which may be its unwritten end";
    /// Zeros between records were taken for empty records with key 0.
    ZeroRecords => "zeros between records were taken for empty records of key 0";
    /// Bytes that are not a record follow the last record.
    NoRecord => "bytes after the last record are no record";
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact: as its checksums say"),
            Self::AsFound(proof) => write!(f, "as found: {proof}"),
            Self::Guess(doubt) => write!(f, "guess: {doubt}"),
        }
    }
}
