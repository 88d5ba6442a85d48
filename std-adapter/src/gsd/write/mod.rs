//! Writing files.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | how a file is made: [`Builder`] |
//! | `reopen` | how a file is opened to append: [`Reopen`] |
//! | `file` | a file that is written: [`FileWriter`] |
//! | `copy` | copying a chunk from another file |
//! | `stream` | a chunk that is written piece by piece: [`ChunkWriter`] |
//! | `names` | the ids of names |
//! | `make` | a file that gets its name when it is complete |

mod builder;
mod copy;
mod file;
mod make;
mod names;
mod options;
mod reopen;
mod stream;

pub use builder::Builder;
pub(super) use copy::Source;
pub use file::FileWriter;
pub(super) use make::make;
pub use options::{FileOptions, WriteOptions};
pub use reopen::Reopen;
pub use stream::ChunkWriter;

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
