//! SIONlib files.

mod finding;
mod state;
mod verify;

pub use finding::{FindingKind, error_facts};
pub use state::{Ending, Sealing, State, state};
#[doc(hidden)]
pub use verify::{Behind, Fixed, look_behind, look_for_seal};
pub use verify::{Files, MAX_COMPARED_RANKS, PartOfSet, Summary, verify};
