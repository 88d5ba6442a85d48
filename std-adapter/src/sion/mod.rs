//! SIONlib files: open a set by its name, list its tasks, read their streams.

mod file;
mod stream;

pub use file::{File, OpenOptions, Opened, TaskEntry, Tasks, UnclosedSet};
pub use stream::{KeyReader, TaskStream};
