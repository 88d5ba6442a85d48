//! Reading: machines that say what to read next, and the readers of files and sets.

pub(super) mod find_seal;
pub mod keyval;
pub mod lengths;
pub mod locate;
pub mod open;
pub(super) mod physical;
pub mod reader;
pub(super) mod sealed;
pub mod set;
pub mod stream;
pub mod tasks;
