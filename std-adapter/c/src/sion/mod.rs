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
//! | `reading` | sets that are read |
//! | `writing` | sets that are written |
//! | `keys` | key-value records of a task |
//! | `stdio` | `FILE *` and descriptors that programs get |

mod calls;
mod key_calls;
mod keys;
mod machine;
mod mode;
mod queries;
mod reading;
mod registry;
mod set;
mod stdio;
mod writing;

pub use calls::*;
pub use key_calls::*;
pub use machine::*;
pub use queries::*;
