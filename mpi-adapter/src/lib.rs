//! Collective reading and writing of striae's formats by the ranks of a parallel program.
//!
//! | module | holds |
//! |---|---|
//! | [`collective`] | the operations of all ranks |
//! | [`error`] | a rank's failure, and the error that all ranks get for it |
//! | [`comm`] | the rules of all communicators, whatever carries the messages |
//! | [`threads`] | ranks that are threads of one process |
//! | [`sion`] | a SIONlib file that all ranks write |
#![deny(unsafe_code)]

pub mod collective;
pub mod comm;
pub mod error;
pub mod sion;
pub mod threads;

pub use collective::{Collective, Fold};
pub use error::{Code, Error, Failure};
pub use threads::Threads;
