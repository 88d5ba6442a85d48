//! Collective reading and writing of striae's formats over MPI; nothing of it is written yet.
#![forbid(unsafe_code)]
