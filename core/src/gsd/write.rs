//! Writing: what a writer knows, the text of its steps, and the writers.

pub mod book;
pub mod create;
pub mod fixed;
pub mod logger;
mod medium;
pub mod stream;
pub mod writer;
