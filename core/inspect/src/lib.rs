//! Verifies, recovers and dumps SIONlib, GSD and ffrecord files, wherever their bytes are.
//!
//! Opening a file stops at the first thing that is wrong. Inspecting goes on after it, and tells
//! all that it finds. What a file *is* gets decided in `striae-core`, once, for both.
//!
//! A file to be inspected is a [`Subject`](subject::Subject): a store, and how its data are read
//! and summed up. A byte slice is one; adapters bring files that are read by many threads, or past
//! the page cache.
//!
//! | module | holds |
//! |---|---|
//! | [`dump`] | every metadata field of a file, as a line |
//! | [`finding`] | what is found, as values and as text, whatever the format |
//! | [`subject`] | what is inspected |
#![cfg_attr(feature = "sion", doc = "| [`sion`] | SIONlib files |")]
#![cfg_attr(feature = "gsd", doc = "| [`gsd`] | GSD files |")]
#![cfg_attr(feature = "ffrecord", doc = "| [`ffrecord`] | ffrecord files |")]
//!
//! It needs an allocator, and nothing of an operating system. Memory is bounded by the length of
//! the file, whatever the file says; the module of a format says by how much.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(any(feature = "sion", feature = "gsd", feature = "ffrecord")),
    allow(dead_code, unused_macros, reason = "without a format nobody uses them")
)]

extern crate alloc;

pub mod dump;
pub mod finding;
pub mod subject;

#[cfg(feature = "ffrecord")]
pub mod ffrecord;
#[cfg(feature = "gsd")]
pub mod gsd;
#[cfg(feature = "sion")]
pub mod sion;
