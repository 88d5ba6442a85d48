//! The functions of the serial `sion.h`: `lsion_*`, to which the header's `sion_*` refer.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | exported: open, close, read, write, seek |
//! | `queries` | exported: what is known of a set and of a position |
//! | `key_calls` | exported: key-value records |
//! | `machine` | exported: byte orders, versions, locks |
//! | `registry` | open sets by their numbers, and how a call fails |
//! | `mode` | mode strings |
//! | `set` | an open set: positions, seek |
//! | `track` | a task of it, and where the program is in it |
//! | `failure` | why calls fail |
//! | `reading` | sets that are read |
//! | `writing` | sets that are written |
//! | `keys` | key-value records of a task |
//! | `stdio` | `FILE *` and descriptors that programs get |
//! | [`parts`] | of these what `striae-mpi-c` needs for sets that several processes open |

mod calls;
mod failure;
mod key_calls;
mod keys;
mod machine;
mod mode;
mod queries;
mod reading;
mod registry;
mod set;
mod stdio;
mod track;
mod writing;

/// What a library makes its sets of whose functions several processes call.
pub mod parts {
    pub use super::calls::{give, give_stdio, len_of, text};
    pub use super::failure::{Failure, Numbered, failure};
    pub use super::mode::{Mode, words};
    pub use super::reading::{Stream, Streams, about};
    pub use super::registry::{add, close_parallel, run, with};
    pub use super::set::{About, Opened, Set};
    pub use super::stdio::malloc_copy;
    pub use super::track::Track;
    pub use super::writing::Writer;
}

pub use calls::*;
pub use key_calls::*;
pub use machine::*;
pub use queries::*;
