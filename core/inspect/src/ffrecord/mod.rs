//! ffrecord files.

mod finding;
mod verify;

pub use finding::{FindingKind, error_facts};
pub use verify::{Summary, verify};
