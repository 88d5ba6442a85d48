//! What a new file is, whoever makes it.

use striae_core::gsd::Attributes;

/// What a new file says about itself, and its layout, whoever makes it: a process
/// ([`Builder`](super::Builder)) or ranks of MPI, all with the same values. The builders have a
/// method for each of them.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Default)]
pub struct FileOptions {
    /// Name of the program that makes the file.
    pub application: String,
    /// Name of the schema.
    pub schema: String,
    /// All else; the two names in it are not used.
    pub others: Attributes<'static>,
    /// Whether an existing file is replaced.
    pub force: bool,
}

impl FileOptions {
    /// The attributes with both names.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes { application: &self.application, schema: &self.schema, ..self.others }
    }
}

/// Methods of a builder that has a field `file` of [`FileOptions`], by their names.
#[doc(hidden)]
#[macro_export]
macro_rules! gsd_file_options {
    ($($name:ident)+) => {
        $($crate::gsd_file_options!(@ $name);)+
    };
    (@ application) => {
        /// Sets the name of the program that makes the file, at most 63 bytes.
        #[must_use]
        pub fn application(mut self, name: impl Into<String>) -> Self {
            self.file.application = name.into();
            self
        }
    };
    (@ schema) => {
        /// Sets the name of the schema, at most 63 bytes, and its version.
        #[must_use]
        pub fn schema(
            mut self,
            name: impl Into<String>,
            version: $crate::striae_core::gsd::Version,
        ) -> Self {
            self.file.schema = name.into();
            self.file.others.schema_version = version;
            self
        }
    };
    (@ layer) => {
        /// Sets the layer of the file: 2.1, or 1.0 for old readers.
        #[must_use]
        pub const fn layer(mut self, layer: $crate::striae_core::gsd::Version) -> Self {
            self.file.others.layer = layer;
            self
        }
    };
    (@ align) => {
        /// Sets the alignment of chunks in bytes: a power of two, 1 by default. The parts of ranks
        /// in a chunk are not aligned.
        #[must_use]
        pub const fn align(mut self, bytes: u64) -> Self {
            self.file.others.align = bytes;
            self
        }
    };
    (@ checksums) => {
        /// Whether each frame has checksums of its chunks.
        #[must_use]
        pub const fn checksums(mut self, checksums: bool) -> Self {
            self.file.others.checksums = checksums;
            self
        }
    };
    (@ index_slots) => {
        /// Sets the slots of the first index, at least 128. When it is full, it is copied to an
        /// index of twice the size, and the old index stays in the file.
        #[must_use]
        pub const fn index_slots(mut self, slots: u64) -> Self {
            self.file.others.index_slots = slots;
            self
        }
    };
    (@ names_len) => {
        /// Sets the bytes of the first name list, by default 1024. When it is full, it is copied to
        /// a list of twice the size, and the old list stays in the file.
        #[must_use]
        pub const fn names_len(mut self, bytes: u64) -> Self {
            self.file.others.names_len = bytes;
            self
        }
    };
    (@ force) => {
        /// Whether an existing file is replaced; otherwise it is an error. A symbolic link stays,
        /// and its target is replaced.
        #[must_use]
        pub const fn force(mut self, force: bool) -> Self {
            self.file.force = force;
            self
        }
    };
}
