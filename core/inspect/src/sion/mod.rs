//! SIONlib files.

mod dump;
mod finding;
mod map;
pub mod mapping;
pub mod recover;
mod state;
mod verify;

pub use dump::dump;
pub use finding::{FindingKind, error_facts};
pub use map::map;
pub use state::{Ending, Sealing, State, state};
pub use verify::{Files, MAX_COMPARED_RANKS, PartOfSet, Summary, files_of, verify};
