//! What a new set is, whoever makes it.

use striae_core::endian::ByteOrder;
use striae_core::sion::ChunkRule;

/// What a new set is besides its tasks, whoever makes it: a process ([`Builder`](super::Builder))
/// or ranks of MPI, all with the same values. The builders have a method for each field.
///
/// A later version may add fields: end a literal with `..SetOptions::NEW`.
#[derive(Debug, Clone)]
pub struct SetOptions {
    /// Number of physical files.
    pub nfiles: u32,
    /// Number of bytes that chunk sizes are rounded up to; `None`: the file system's block size.
    pub fsblksize: Option<u32>,
    /// Byte order of the metadata.
    pub order: ByteOrder,
    /// Byte order that is stated for the data.
    pub data_order: ByteOrder,
    /// How chunks are laid out from the requested sizes.
    pub rule: ChunkRule,
    /// Whether streams are key-value records.
    pub keyval: bool,
    /// The name that is stored; `None`: the path.
    pub prefix: Option<Vec<u8>>,
    /// Whether files that exist already are emptied.
    pub overwrite: bool,
    /// Number of buddy sets.
    pub buddies: u32,
    /// Whether commits and the close add checksums of everything.
    pub sealed: bool,
    /// The identity of the set; `None`: a random one.
    pub set_identity: Option<u32>,
}

impl SetOptions {
    /// One file, the file system's block size, plain streams in the machine's byte order, no seal.
    pub const NEW: Self = Self {
        nfiles: 1,
        fsblksize: None,
        order: ByteOrder::HOST,
        data_order: ByteOrder::HOST,
        rule: ChunkRule::Aligned,
        keyval: false,
        prefix: None,
        overwrite: false,
        buddies: 0,
        sealed: false,
        set_identity: None,
    };
}

/// Methods of a builder that has a field `set` of [`SetOptions`], by their names.
#[doc(hidden)]
#[macro_export]
macro_rules! sion_set_options {
    ($($name:ident)+) => {
        $($crate::sion_set_options!(@ $name);)+
    };
    (@ nfiles) => {
        /// Sets the number of physical files. All files get the same number of consecutive tasks;
        /// the last one also gets the rest.
        #[must_use]
        pub const fn nfiles(mut self, nfiles: u32) -> Self {
            self.set.nfiles = nfiles;
            self
        }
    };
    (@ fsblksize) => {
        /// Sets the number of bytes that chunk sizes are rounded up to, in place of the block size
        /// of the folder's file system. With long writes, 1 MiB can be a few percent faster,
        /// because the pages of the cache are as long as their alignment.
        #[must_use]
        pub const fn fsblksize(mut self, bytes: u32) -> Self {
            self.set.fsblksize = Some(bytes);
            self
        }
    };
    (@ order) => {
        /// Sets the byte order of the metadata.
        #[must_use]
        pub const fn order(mut self, order: $crate::striae_core::endian::ByteOrder) -> Self {
            self.set.order = order;
            self
        }
    };
    (@ data_order) => {
        /// Sets the byte order that is stated for the data; striae never swaps the data.
        #[must_use]
        pub const fn data_order(mut self, order: $crate::striae_core::endian::ByteOrder) -> Self {
            self.set.data_order = order;
            self
        }
    };
    (@ keyval) => {
        /// Sets whether streams are key-value records.
        #[must_use]
        pub const fn keyval(mut self, keyval: bool) -> Self {
            self.set.keyval = keyval;
            self
        }
    };
    (@ prefix) => {
        /// Sets the set name that is stored in the files, in place of the path at which they are
        /// made; at most 1023 bytes.
        #[must_use]
        pub fn prefix(mut self, prefix: Vec<u8>) -> Self {
            self.set.prefix = Some(prefix);
            self
        }
    };
    (@ overwrite) => {
        /// Empties files that exist already, instead of refusing them.
        #[must_use]
        pub const fn overwrite(mut self, overwrite: bool) -> Self {
            self.set.overwrite = overwrite;
            self
        }
    };
    (@ sealed) => {
        /// Sets whether commits and the close add checksums of everything.
        #[must_use]
        pub const fn sealed(mut self, sealed: bool) -> Self {
            self.set.sealed = sealed;
            self
        }
    };
    (@ set_identity) => {
        /// Sets the identity of the set, which the seals of several files store: it must be another
        /// one in each set. By default it is random; with 0 there is none.
        #[must_use]
        pub const fn set_identity(mut self, identity: u32) -> Self {
            self.set.set_identity = Some(identity);
            self
        }
    };
}
