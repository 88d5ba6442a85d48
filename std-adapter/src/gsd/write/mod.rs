//! Writing files.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | how a file is made: [`Builder`] |
//! | `reopen` | how one is gone on with: [`Reopen`] |
//! | `file` | a file that is written: [`FileWriter`] |
//! | `copy` | a chunk that comes from another file |
//! | `stream` | a chunk that comes piece by piece: [`ChunkWriter`] |
//! | `names` | ids of names, by name and by habit |
//! | `lock` | one writer at a time |
//! | `make` | a file that gets its name when it is whole |

mod builder;
mod copy;
mod file;
mod lock;
mod make;
mod names;
mod reopen;
mod stream;

pub use builder::Builder;
pub(super) use copy::Source;
pub use file::FileWriter;
pub(super) use make::make;
pub use reopen::Reopen;
pub use stream::ChunkWriter;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing is asked of the disk. A commit survives the end of the process, however it ends, and
    /// not that of the machine.
    None,
    /// A commit survives a power cut: it waits until the disk has all of it.
    #[default]
    OnCommit,
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
struct Settings {
    durability: Durability,
    /// Whether commits take one sync, if that is to be changed.
    one_sync: Option<bool>,
    /// Bytes that are gathered before they are written.
    buffer: usize,
    /// Whether others are kept from writing.
    lock: bool,
    /// Whether nobody sees the file before it is closed.
    hidden: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            one_sync: None,
            buffer: 1 << 20,
            lock: true,
            hidden: false,
        }
    }
}
