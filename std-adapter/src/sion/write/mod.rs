//! Writing sets of physical files, by many threads at once.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | how a set is made: [`Builder`] |
//! | `plan` | a physical file that is to be made |
//! | `set` | a set that is written: [`FileWriter`], and how one is gone on with: [`Reopen`] |
//! | `task` | a task's stream: [`TaskWriter`] |
//! | `stream` | what a task has in its buffer and wrote since the last commit |
//! | `part` | one physical file: which blocks are open, where META2 is |
//! | `snapshot` | what all tasks wrote, at the moment of a commit |

mod builder;
mod part;
mod plan;
mod set;
mod snapshot;
mod stream;
mod task;

pub use builder::Builder;
pub use set::{FileWriter, Reopen};
pub use task::TaskWriter;

/// What survives what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing is asked of the disk. A commit survives the end of the process, however it ends, and
    /// not that of the machine.
    None,
    /// A commit survives a power cut: it waits until the disk has all of it.
    #[default]
    OnCommit,
    /// Each write of a task is committed before it returns, with all that other tasks have written.
    /// If that commit fails, the write fails and was not accepted, unless nobody can know: see
    /// [`TaskWriter`].
    EveryRecord,
}

impl Durability {
    /// Whether the disk is asked.
    const fn asks(self) -> bool {
        matches!(self, Self::OnCommit | Self::EveryRecord)
    }
}
