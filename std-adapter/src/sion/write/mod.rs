//! Writing sets of physical files, by many threads at once.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | options for a new set: [`Builder`] |
//! | `plan` | a physical file that will be made |
//! | `set` | [`FileWriter`] writes a set; [`Reopen`] appends to one |
//! | `buddies` | buddy sets that are to be made, or in the way |
//! | `mend` | copies in buddy sets that do not end where their streams do |
//! | `together` | brings the files of a reopened set to one commit |
//! | `identity` | what tells the files of a set from those of another one |
//! | `task` | [`TaskWriter`] writes the stream of a task |
//! | `stream` | the buffer of a task, and the chunks it wrote since the last commit |
//! | `part` | one physical file: its open blocks and the place of META2 |
//! | `snapshot` | the state of all tasks at the moment of a commit |

mod buddies;
mod builder;
mod identity;
mod mend;
mod options;
mod part;
mod plan;
mod set;
mod snapshot;
mod stream;
mod task;
mod together;

pub use buddies::check_buddies;
pub(super) use buddies::refuse_others;
pub use builder::Builder;
pub use identity::new_identity;
pub use options::SetOptions;
pub use set::{FileWriter, Reopen};
pub use task::TaskWriter;

/// What a crash may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// No sync. A commit survives any end of the process, but not a crash of the machine.
    None,
    /// A commit returns only after the disk has all its data; it survives a power cut.
    #[default]
    OnCommit,
    /// Each write of a task is committed before it returns, together with all that other tasks have
    /// written. If that commit fails, the write fails and was not accepted, unless the outcome
    /// cannot be known, or the set has buddy sets, of which some may have it: see [`TaskWriter`].
    EveryRecord,
}

impl Durability {
    /// Whether commits sync the file.
    const fn asks(self) -> bool {
        matches!(self, Self::OnCommit | Self::EveryRecord)
    }
}
