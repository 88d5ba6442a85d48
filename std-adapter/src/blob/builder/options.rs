//! What a new set is, whoever makes it.

use crate::blob::Container;
use std::collections::BTreeMap;

/// What a new set is besides its decompositions and subfiles, whoever makes it: a process
/// ([`Builder`](super::Builder)) or ranks of MPI, all with the same values. The builders have a
/// method for each field.
///
/// A later version may add fields: end a literal with `..SetOptions::NEW`.
#[derive(Debug, Clone)]
pub struct SetOptions {
    /// The decompositions of variables, by their numbers.
    pub partitions: BTreeMap<u64, usize>,
    /// The kind of the subfiles.
    pub container: Container,
    /// Whether each subfile stores the ranks of its blobs; `None`: if they do not follow each
    /// other.
    pub world_ranks: Option<bool>,
    /// Number of records; `None`: as many as are written.
    pub records: Option<u64>,
    /// Whether each subfile has checksums of its header and of each blob.
    pub sealed: bool,
    /// Whether existing subfiles are replaced.
    pub force: bool,
}

impl SetOptions {
    /// A CDF-5 set of whole variables without a seal, in place of no file.
    pub const NEW: Self = Self {
        partitions: BTreeMap::new(),
        container: Container::Cdf,
        world_ranks: None,
        records: None,
        sealed: false,
        force: false,
    };
}

/// Methods of a builder that has a field `set` of [`SetOptions`], by their names.
#[doc(hidden)]
#[macro_export]
macro_rules! blob_set_options {
    ($($name:ident)+) => {
        $($crate::blob_set_options!(@ $name);)+
    };
    (@ decomposed) => {
        /// Decomposes variable `varid` by a decomposition; the first one added is 0. Other
        /// variables are whole: the first rank of each subfile writes them.
        #[must_use]
        pub fn decomposed(mut self, varid: u64, decomposition: usize) -> Self {
            self.set.partitions.insert(varid, decomposition);
            self
        }
    };
    (@ container) => {
        /// Sets the container. Default: CDF-5.
        #[must_use]
        pub const fn container(mut self, container: $crate::blob::Container) -> Self {
            self.set.container = container;
            self
        }
    };
    (@ world_ranks) => {
        /// Sets whether each subfile stores the ranks of its blobs, in the attribute `world_ranks`,
        /// which E3SM-IO does not have. Default: only if a subfile has other ranks than
        /// [`subfiles`](Self::subfiles) would give it.
        #[must_use]
        pub const fn world_ranks(mut self, store: bool) -> Self {
            self.set.world_ranks = Some(store);
            self
        }
    };
    (@ records) => {
        /// Sets the number of records. HDF5 sets need it, as it decides where blobs are; a CDF-5
        /// set has as many records as are written by default.
        #[must_use]
        pub const fn records(mut self, records: u64) -> Self {
            self.set.records = Some(records);
            self
        }
    };
    (@ sealed) => {
        /// Sets whether each subfile is sealed: it has checksums of its header and of each blob of
        /// each variable where other programs do not look (`spec/blob.md#seals`). Default: it is
        /// not.
        #[must_use]
        pub const fn sealed(mut self, sealed: bool) -> Self {
            self.set.sealed = sealed;
            self
        }
    };
    (@ force) => {
        /// Replaces existing subfiles of this name when the new ones are complete and on the disk.
        #[must_use]
        pub const fn force(mut self, force: bool) -> Self {
            self.set.force = force;
            self
        }
    };
}
