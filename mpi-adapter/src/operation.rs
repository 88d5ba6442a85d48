//! Which operation the ranks are in: what every collective compares before anything is done.

use std::fmt;

/// An operation that all ranks must begin together.
///
/// A layer above a [`Collective`](crate::Collective) announces it by
/// [`begin`](crate::Collective::begin), without a message. The next collectives carry it, and ranks
/// that began different ones get [`Code::Differ`](crate::Code::Differ).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Operation {
    /// None yet: collectives that the program calls itself.
    None,
    /// [`sion::Builder::create`](crate::sion::Builder::create).
    SionCreate,
    /// [`sion::Reopen::open`](crate::sion::Reopen::open).
    SionReopen,
    /// [`sion::FileWriter::coll_write`](crate::sion::FileWriter::coll_write).
    SionWrite,
    /// [`sion::FileWriter::advance`](crate::sion::FileWriter::advance).
    SionAdvance,
    /// [`sion::FileWriter::commit`](crate::sion::FileWriter::commit).
    SionCommit,
    /// [`sion::FileWriter::commit_set`](crate::sion::FileWriter::commit_set).
    SionCommitSet,
    /// [`sion::FileWriter::close`](crate::sion::FileWriter::close).
    SionClose,
    /// [`sion::FileWriter::continue_on`](crate::sion::FileWriter::continue_on).
    SionContinue,
    /// [`sion::OpenOptions::open`](crate::sion::OpenOptions::open).
    SionOpen,
    /// [`sion::FileReader::check`](crate::sion::FileReader::check).
    SionCheck,
    /// [`sion::FileReader::close`](crate::sion::FileReader::close).
    SionEndRead,
    /// [`gsd::Builder::create`](crate::gsd::Builder::create).
    GsdCreate,
    /// [`gsd::Reopen::open`](crate::gsd::Reopen::open).
    GsdReopen,
    /// [`gsd::FileWriter::write`](crate::gsd::FileWriter::write).
    GsdWrite,
    /// [`gsd::FileWriter::commit`](crate::gsd::FileWriter::commit).
    GsdCommit,
    /// [`gsd::FileWriter::close`](crate::gsd::FileWriter::close).
    GsdClose,
    /// [`gsd::File::open`](crate::gsd::File::open).
    GsdOpen,
    /// [`gsd::File::chunk`](crate::gsd::File::chunk).
    GsdChunk,
    /// [`gsd::File::read`](crate::gsd::File::read) and
    /// [`read_rows`](crate::gsd::File::read_rows).
    GsdRead,
    /// [`blob::Builder::create`](crate::blob::Builder::create).
    BlobCreate,
    /// [`blob::Writer::append`](crate::blob::Writer::append).
    BlobAppend,
    /// [`blob::Writer::flush`](crate::blob::Writer::flush).
    BlobFlush,
    /// [`blob::Writer::close`](crate::blob::Writer::close).
    BlobClose,
    /// [`blob::Set::open`](crate::blob::Set::open).
    BlobOpen,
    /// [`blob::Set::read_region`](crate::blob::Set::read_region).
    BlobRead,
    /// [`blob::Convert::run`](crate::blob::Convert::run).
    BlobConvert,
    /// [`blob::Set::lost`](crate::blob::Set::lost).
    BlobLost,
    /// [`direct::File::open`](crate::direct::File::open).
    DirectOpen,
    /// [`direct::File::read`](crate::direct::File::read).
    DirectRead,
}

/// The names of the operations, in the order of their numbers.
const NAMES: [&str; 29] = [
    "the program's own collectives",
    "create of a SION set",
    "reopen of a SION set",
    "coll_write to a SION set",
    "advance of a SION set",
    "commit of a SION set",
    "commit_set of a SION set",
    "close of a SION set",
    "continue_on of a SION set",
    "open of a SION set",
    "check of a SION set",
    "close of a SION reader",
    "create of a GSD file",
    "reopen of a GSD file",
    "write to a GSD file",
    "commit of a GSD file",
    "close of a GSD file",
    "open of a GSD file",
    "chunk of a GSD file",
    "read of a GSD file",
    "create of a blob set",
    "append to a blob set",
    "flush of a blob set",
    "close of a blob set",
    "open of a blob set",
    "read of a blob set",
    "convert of a blob set",
    "lost subfiles of a blob set",
    "open of a file for batches",
];

/// The name of the operation with a number.
pub(crate) fn name(number: u8) -> &'static str {
    NAMES.get(usize::from(number)).copied().unwrap_or("read of a batch")
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self.number()))
    }
}

impl Operation {
    #[allow(clippy::as_conversions, reason = "the number of a variant, as `repr(u8)` says")]
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }
}
