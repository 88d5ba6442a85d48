//! Collective writing of striae's formats: ranks that share a file, and agree.
//!
//! | module | holds |
//! |---|---|
//! | [`collective`] | what ranks do together, and the one error that all of them get |
//! | [`threads`] | ranks that are threads of one process |
//! | [`sion`] | a SIONlib file that all ranks write |
//!
//! Ranks over MPI are not there yet.
#![forbid(unsafe_code)]

pub mod collective;
pub mod sion;
pub mod threads;
