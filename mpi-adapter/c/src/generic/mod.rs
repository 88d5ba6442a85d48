//! Communication by callbacks of the program: `sion_generic_*`.
//!
//! A program registers what its processes do together: broadcast, gather, scatter, and make a group
//! of some of them. Everything else is as with MPI, but for two things: a process cannot send to
//! another one alone, so none writes for others; and there is no deadline.
//!
//! | module | holds |
//! |---|---|
//! | `callbacks` | what a program has registered |
//! | `layer` | a message layer of callbacks |
//! | `calls` | exported: the functions |

mod callbacks;
mod calls;
mod layer;

pub use callbacks::{Callbacks, Process};
pub use calls::*;
