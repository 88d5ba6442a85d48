//! Collective writing of striae's formats by ranks that share a file.
//!
//! | module | holds |
//! |---|---|
//! | [`collective`] | the operations of all ranks, and the error that all of them get |
//! | [`threads`] | ranks that are threads of one process |
//! | [`sion`] | a SIONlib file that all ranks write |
//!
//! There is no implementation of [`collective::Collective`] for MPI yet.
#![forbid(unsafe_code)]

pub mod collective;
pub mod sion;
pub mod threads;
