//! SIONlib files: open a set by its name, list its tasks, read their streams, write new ones.

mod convert;
pub mod dump;
mod each;
mod extract;
mod file;
mod mapping;
mod new_set;
mod pack;
pub mod recover;
mod siblings;
mod stream;
pub mod verify;
mod write;

pub use crate::extract::Extracted;
pub use convert::Convert;
pub use extract::Extract;
pub use file::{File, OpenOptions, Opened, TaskEntry, Tasks, UnclosedSet};
pub use new_set::Written;
pub use pack::{Pack, Sources};
pub use siblings::{PartOfSet, buddy_path};
pub use stream::{KeyReader, TaskRecords, TaskStream};
pub use write::{Builder, Durability, FileWriter, Reopen, TaskWriter};
