//! GSD files: open, find chunks, read their values, follow a writer; write.

pub mod dump;
mod element;
mod file;
pub mod hoomd;
mod names;
pub mod verify;
mod window;
mod write;

pub use element::Element;
pub use file::{Chunks, File, OpenOptions};
pub use names::{Name, NameList};
pub use write::{Builder, ChunkWriter, Durability, FileWriter, Reopen};
