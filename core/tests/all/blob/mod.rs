//! Blob files: the layouts are those of a plain writer, and elements are found where a table of all
//! elements has them.

mod define;
mod distribute;
mod find;
mod layout;
mod map;
mod seal;
mod walk;
mod write;
