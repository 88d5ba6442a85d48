//! How a file is written, whatever its format.

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Commits do not sync. A commit survives the end of the process in any way, but not the end of
    /// the machine.
    None,
    /// A commit survives a power cut: it waits until all of its data are on disk.
    #[default]
    OnCommit,
}

/// How a file is written, whoever does it: a process or ranks of MPI, all with the same values. The
/// builders have a method for each of them that means something to them.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// What commits survive.
    pub durability: Durability,
    /// Whether the file is locked against other writers.
    pub lock: bool,
    /// Bytes that a process gathers before a write.
    pub buffer: usize,
}

impl WriteOptions {
    /// Commits survive a power cut, the file is locked, and the buffer has 1 MiB.
    pub const NEW: Self = Self { durability: Durability::OnCommit, lock: true, buffer: 1 << 20 };

    /// Whether commits sync the file.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        matches!(self.durability, Durability::OnCommit)
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self::NEW
    }
}

/// Methods of a builder that has a field `write` of [`WriteOptions`], by their names. They need
/// `Durability`.
#[doc(hidden)]
#[macro_export]
macro_rules! write_options {
    ($($name:ident)+) => {
        $($crate::write_options!(@ $name);)+
    };
    (@ durability) => {
        /// Sets what commits survive; by default a power cut.
        #[must_use]
        pub const fn durability(mut self, durability: Durability) -> Self {
            self.write.durability = durability;
            self
        }
    };
    (@ lock) => {
        /// Whether the file is locked against other writers, and a file with another writer is not
        /// replaced; by default `true`. Of ranks, rank 0 has the lock.
        #[must_use]
        pub const fn lock(mut self, lock: bool) -> Self {
            self.write.lock = lock;
            self
        }
    };
    (@ buffer) => {
        /// Sets the bytes that are gathered before a write, 1 MiB by default.
        #[must_use]
        pub const fn buffer(mut self, bytes: usize) -> Self {
            self.write.buffer = bytes;
            self
        }
    };
}
