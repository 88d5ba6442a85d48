//! GSD files: open, find chunks, read their values, follow a writer.

mod element;
mod file;
mod names;
mod window;

pub use element::Element;
pub use file::{Chunks, File, OpenOptions};
pub use names::{Name, NameList};
