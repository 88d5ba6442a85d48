//! GSD files: open, find chunks, read their values, follow a writer; write.

mod checked;
pub mod convert;
pub mod dump;
mod element;
mod extract;
mod file;
pub mod hoomd;
mod names;
pub mod recover;
mod room;
mod stale;
mod torn;
mod values;
pub mod verify;
mod window;
mod write;
mod wrong_bit;

pub use crate::extract::Extracted;
pub use element::Element;
pub use extract::Extract;
pub use file::{Chunks, File, OpenOptions};
use names::last_of_each;
pub use names::{Name, NameList};
pub use stale::Stale;
pub use write::{Builder, ChunkWriter, Durability, FileWriter, Reopen};
