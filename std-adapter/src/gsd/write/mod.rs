//! Writing files.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | how a file is made: [`Builder`] |
//! | `reopen` | how a file is opened to append: [`Reopen`] |
//! | `file` | a file that is written: [`FileWriter`] |
//! | `copy` | copying a chunk from another file |
//! | `stream` | a chunk that is written piece by piece: [`ChunkWriter`] |
//! | `names` | the ids of names |
//! | `make` | a file that gets its name when it is complete |

mod builder;
mod copy;
mod file;
mod make;
mod names;
mod options;
mod reopen;
mod stream;

pub use builder::Builder;
pub(super) use copy::Source;
pub use file::FileWriter;
pub(super) use make::make;
pub use options::FileOptions;
pub use reopen::Reopen;
pub use stream::ChunkWriter;
