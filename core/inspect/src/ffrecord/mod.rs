//! ffrecord files.

mod dump;
mod finding;
mod map;
mod verify;

pub use dump::dump;
pub use finding::{FindingKind, error_facts};
pub use map::map;
pub use verify::{Summary, verify};
