//! The functions of `gsd.h`.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the exported functions: pointers in, numbers out |
//! | `check` | checks all of a file |
//! | `extra` | the exported functions that gsd does not have |
//! | `three` | the exported functions that flush before they read, as those of gsd 3 |
//! | [`handle`] | the structures, as C programs have them |
//! | `code` | errors of the library as numbers of gsd |
//! | `state` | what a handle has behind its pointer |
//! | `read` | the committed frames, as they are found and read |
//! | `write` | the writer, which is opened by the first change |

mod calls;
mod check;
mod code;
mod extra;
pub mod handle;
mod read;
mod state;
mod three;
mod write;

pub use calls::*;
pub use extra::*;
pub use three::*;
