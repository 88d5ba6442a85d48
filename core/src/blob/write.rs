//! Writing: definitions, shares of ranks, and what a writer knows.

pub mod append;
pub mod book;
pub mod column;
pub mod define;
pub mod distribute;
pub mod form;
pub mod pen;
pub mod sealing;
