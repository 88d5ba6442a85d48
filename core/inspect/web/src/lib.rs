//! Looks into files on a page of a browser: answers to the page's questions, as JSON.
//!
//! The page has files, of which it reads slices; this crate computes what `striae info`, `ls`,
//! `verify`, `dump`, `map` and `recover` say of them. Everything but the module `boundary` is safe
//! code over any store, and runs in ordinary tests.
//!
//! | module | holds |
//! |---|---|
//! | `address` | addresses of things in files |
//! | `json` | values, printed as JSON |
//! | `file` | files by name, and errors with the name of the file |
//! | `format` | the format of a file, and the files of its set |
//! | `sion`, `gsd`, `ffrecord`, `cdf`, `blob`, `decomposition` | info, ls and places, for each format |
//! | `verify`, `dump`, `picture`, `recover` | these verbs, for all formats |
//! | `question` | questions, and who answers them |
//! | `boundary` | the functions of the WebAssembly module |
#![no_std]

extern crate alloc;
#[cfg(any(test, target_arch = "wasm32"))]
extern crate std; // for WebAssembly, its allocator

mod address;
mod blob;
#[cfg(target_arch = "wasm32")]
mod boundary;
mod cdf;
mod decomposition;
mod dump;
mod ffrecord;
pub mod file;
mod format;
mod gsd;
pub mod json;
mod picture;
mod question;
mod recover;
mod sion;
mod verify;

pub use format::Format;
pub use question::answer;
