//! Writing: what a writer knows, the text of its steps, and the writers.

pub mod book;
pub mod chunksizes;
pub mod create;
pub mod cursor;
pub mod fixed;
pub mod groups;
pub mod pen;
pub(super) mod publication;
pub mod publish;
pub mod tables;
pub mod visible;
pub mod writer;
