//! What a writer says of its file, and how it may be told to write.

use super::{Book, Checksum, Disk, Version, Writer};

impl<S, B> Writer<S, B> {
    /// A writer of no file yet; [`start`](Self::start) comes next.
    #[inline]
    pub(in crate::gsd) fn unopened(store: S, memory: B, checksum: Checksum) -> Self {
        Self { disk: Disk::new(store), book: Book::unopened(memory, checksum) }
    }

    /// Whether the current frame has no chunks.
    pub(in crate::gsd) const fn is_frame_empty(&self) -> bool {
        self.book.is_frame_empty()
    }

    /// Whether the store has failed since, so that the file must be recognised in it.
    pub(in crate::gsd) fn is_doubted(&self) -> bool {
        self.disk.is_doubted()
    }

    /// The number of ended frames, including those that are not committed.
    pub const fn frames(&self) -> u64 {
        self.book.frames()
    }

    /// The number of names, including those that are not committed.
    pub const fn names(&self) -> u32 {
        self.book.names()
    }

    /// Sets whether the next commits take one sync instead of two where that is possible; see
    /// [`Attributes::one_sync`](crate::gsd::Attributes::one_sync). The first of them takes two
    /// syncs and announces this to readers.
    pub const fn set_one_sync(&mut self, one_sync: bool) {
        self.book.set_one_sync(one_sync);
    }

    /// Sets whether new names go to the visible name list while it has room, instead of a new list.
    /// Use it only for a file that nobody reads before it is closed, also after a crash: readers
    /// would see names that are not committed.
    pub const fn set_names_in_place(&mut self, in_place: bool) {
        self.book.set_names_in_place(in_place);
    }

    /// The file layer.
    pub const fn version(&self) -> Version {
        self.book.version()
    }

    /// Whether the frames have checksums.
    #[must_use]
    pub const fn has_checksums(&self) -> bool {
        self.book.has_checksums()
    }

    /// The end of all bytes that were written.
    pub const fn data_end(&self) -> u64 {
        self.book.data_end()
    }

    /// Whether all chunks and names that were written are committed.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        self.book.is_committed()
    }

    /// The store. Bytes in it that are not committed have no meaning yet.
    pub const fn store(&self) -> &S {
        self.disk.store()
    }

    /// Returns the store without a commit.
    pub fn into_store(self) -> S {
        self.disk.into_store()
    }
}
