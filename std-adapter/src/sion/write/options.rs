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
    pub force: bool,
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
        force: false,
        buddies: 0,
        sealed: false,
        set_identity: None,
    };
}

/// Methods of a builder that has a field `set` of [`SetOptions`], by their names. Documentation
/// before a name is added to that of the method.
#[doc(hidden)]
#[macro_export]
macro_rules! sion_set_options {
    ($($(#[$more:meta])* $name:ident)+) => {
        $($crate::sion_set_options!(@ $name $(#[$more])*);)+
    };
    (@ rule $(#[$more:meta])*) => {
        /// Sets how chunks are laid out from the requested sizes. By default each chunk is aligned.
        $(#[$more])*
        #[must_use]
        pub const fn rule(mut self, rule: $crate::striae_core::sion::ChunkRule) -> Self {
            self.set.rule = rule;
            self
        }
    };
    (@ buddies $(#[$more:meta])*) => {
        /// Sets the number of buddy sets. Each buddy set has a copy of every stream, in a file that
        /// is kept with another file of the set: if the files of one node are lost, no stream is
        /// lost (`spec/sion.md#buddy-sets`). Readers take the streams of a lost file from there.
        ///
        /// This also packs the chunks of each file, as SIONlib's buddy writers do; call
        /// [`rule`](Self::rule) afterwards for another rule, which must not merge them. A write
        /// goes to the stream and all of its copies, or to none of them. A commit commits the buddy
        /// sets first and then the set. Global ranks must not be negative.
        $(#[$more])*
        #[must_use]
        pub const fn buddies(mut self, sets: u32) -> Self {
            self.set.buddies = sets;
            if sets > 0 {
                use $crate::striae_core::sion::{ChunkRule, Grouping};
                self.set.rule = ChunkRule::Packed(Grouping::WHOLE_FILE);
            }
            self
        }
    };
    (@ nfiles) => {
        /// Sets the number of physical files. All files get the same number of consecutive tasks;
        /// the last one also gets the rest. The kernel lets one thread at a time write to a file:
        /// tasks that are written all at once are faster in several files.
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
    (@ force) => {
        /// Empties files that exist already, instead of refusing them.
        #[must_use]
        pub const fn force(mut self, force: bool) -> Self {
            self.set.force = force;
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

/// Methods of a builder that has a field `settings`, by their names.
macro_rules! sion_write_options {
    ($($name:ident)+) => {
        $($crate::sion::write::options::sion_write_options!(@ $name);)+
    };
    (@ durability) => {
        /// Sets what a crash may lose.
        #[must_use]
        pub const fn durability(mut self, durability: $crate::sion::Durability) -> Self {
            self.settings.durability = durability;
            self
        }
    };
    (@ buffer) => {
        /// Sets the length of each task's buffer in bytes (default 64 KiB). Writes of at least this
        /// length are not buffered.
        #[must_use]
        pub const fn buffer(mut self, bytes: usize) -> Self {
            self.settings.buffer = bytes;
            self
        }
    };
}

pub(in crate::sion) use sion_write_options;
