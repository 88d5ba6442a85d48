//! ffrecord files.

mod dump;
mod finding;
mod verify;

pub use dump::dump;
pub use finding::{FindingKind, error_facts};
pub use verify::{Summary, verify};
