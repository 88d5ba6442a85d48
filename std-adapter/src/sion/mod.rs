//! SIONlib files: open a set by its name, list its tasks, read their streams, write new ones.

pub mod dump;
mod extract;
mod file;
mod stream;
pub mod verify;
mod write;

pub use extract::{Extract, Extracted};
pub use file::{File, OpenOptions, Opened, TaskEntry, Tasks, UnclosedSet};
pub use stream::{KeyReader, TaskRecords, TaskStream};
pub use write::{Builder, Durability, FileWriter, Reopen, TaskWriter};
