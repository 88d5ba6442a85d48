//! SIONlib sets: tasks, their streams, keys and values.

mod read;
mod write;

pub(crate) use read::{SionFile, SionStream};
pub(crate) use write::{SionTask, SionWriter};
