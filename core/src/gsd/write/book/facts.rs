//! What a book says of its file, what it knows of it to recognise it, and how it may be told to
//! write.

use super::tail::Stands;
use super::tail::Tail;
use super::{Book, Counts, Sums};
use crate::gsd::disk::header::Version;
use crate::gsd::error::Error;
use crate::integrity::Checksum;
use crate::store::{Proof, Swapped};

impl<B> Book<B> {
    /// A book of a file that [`start`](Self::start) opens.
    #[inline]
    pub(in crate::gsd) fn unopened(memory: B, checksum: Checksum) -> Self {
        Self { tail: Tail::unopened(), counts: Counts::default(), memory, checksum }
    }

    /// Whether the current frame has no chunks.
    #[must_use]
    pub const fn is_frame_empty(&self) -> bool {
        self.counts.open_len() == 0
    }

    /// The number of ended frames, including those that are not committed.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.tail.frame
    }

    /// The number of names, including those that are not committed.
    #[must_use]
    pub const fn names(&self) -> u32 {
        self.tail.names_count
    }

    /// The id of the next new name.
    pub(in crate::gsd) fn next_id(&self) -> u16 {
        u16::try_from(self.tail.names_count).unwrap_or(u16::MAX)
    }

    /// The file layer.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.tail.version
    }

    /// The end of all bytes that were written or placed, where the next chunk may begin.
    #[must_use]
    pub const fn data_end(&self) -> u64 {
        self.tail.data_end
    }

    /// The number of committed frames of `chunks` chunks, which have `bytes` bytes each, that fit
    /// into a store of `store_len` bytes before the index must grow.
    #[must_use]
    pub fn frames_left(&self, chunks: u16, bytes: u64, store_len: u64) -> u64 {
        let waiting = self.counts.ended_len();
        self.tail.frames_left(chunks.into(), bytes, store_len, waiting)
    }

    /// Whether the frames have checksums.
    #[must_use]
    pub const fn has_checksums(&self) -> bool {
        self.tail.checksums
    }

    pub(in crate::gsd) const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// The checksums of the bytes that the next commit adds.
    pub(in crate::gsd) const fn sums(&self) -> Sums {
        self.tail.sums
    }

    pub(in crate::gsd) const fn set_sums(&mut self, sums: Sums) {
        self.tail.sums = sums;
    }

    /// Whether all chunks and names that were written are committed.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        let (tail, committed) = (&self.tail, self.tail.image.commit.names.get());
        let has_names = !tail.is_adopted || tail.names_count == committed;
        self.counts.is_empty() && tail.entries == tail.committed && has_names && !tail.is_torn
    }

    /// Sets whether the next commits take one sync instead of two where that is possible; see
    /// [`Attributes::one_sync`](crate::gsd::Attributes::one_sync). The first of them takes two
    /// syncs and announces this to readers.
    pub const fn set_one_sync(&mut self, one_sync: bool) {
        if self.tail.one_sync != one_sync {
            (self.tail.one_sync, self.tail.sums) = (one_sync, Sums::NONE);
        }
    }

    /// Sets whether new names go to the visible name list while it has room, instead of a new list.
    /// Use it only for a file that nobody reads before it is closed, also after a crash: readers
    /// would see names that are not committed.
    pub const fn set_names_in_place(&mut self, in_place: bool) {
        self.tail.names_in_place = in_place;
    }
}

/// After an error, the store must still have the file.
impl<B> Proof for Book<B> {
    fn place(&self, number: u32, known: &mut [u8; 80]) -> Option<(u64, usize)> {
        let tail = &self.tail;
        // The shadow was synced, the header after it maybe not.
        let is_torn = tail.is_torn || tail.stands == Stands::Written;
        (number == 0).then(|| tail.image.proof(tail.is_adopted, is_torn, known))
    }
}

impl Swapped for Error {
    const SWAPPED: Self = Self::Swapped;
}
