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
pub use options::FileOptions;
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

/// How a file is written.
#[derive(Debug, Clone, Copy)]
struct Settings {
    durability: Durability,
    /// Whether commits take one sync; `None` for no change.
    one_sync: Option<bool>,
    /// Bytes that are gathered before a write.
    buffer: usize,
    /// Whether the file is locked against other writers.
    lock: bool,
    /// Whether the file is closed before anybody sees it.
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
