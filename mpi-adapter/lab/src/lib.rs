//! What measures `striae-mpi`, and is no part of it: ranks of a larger machine than there is. The
//! program measures ranks that there are.
#![deny(unsafe_code)]

pub mod simulated;
