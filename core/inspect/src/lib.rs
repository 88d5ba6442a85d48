//! Verifies and dumps files of SIONlib, GSD, ffrecord, classic netCDF and E3SM-IO in any store, and
//! recovers those of SIONlib, GSD, netCDF and maps.
//!
//! Opening a file stops at the first error. Inspecting a file continues after an error and reports
//! everything that it finds. `striae-core` decides what a valid file is, for both.
//!
//! A file to be inspected is a [`Subject`](subject::Subject): a store, with methods that read and
//! checksum its data. A byte slice is one; adapters add files that are read by many threads or past
//! the page cache.
//!
//! | module | holds |
//! |---|---|
//! | [`certainty`] | the words for what a recovery returns, for every format |
//! | [`dump`] | every metadata field of a file, as a line |
//! | [`finding`] | what was found, as values and as text, for every format |
//! | [`map`] | whose bytes are where, as a picture, for every format |
//! | [`recover`] | what recoveries of all formats share |
//! | [`size`] | how large an output may be |
//! | [`subject`] | the file that is inspected |
#![cfg_attr(feature = "sion", doc = "| [`sion`] | SIONlib files |")]
#![cfg_attr(feature = "gsd", doc = "| [`gsd`] | GSD files |")]
#![cfg_attr(feature = "ffrecord", doc = "| [`ffrecord`] | ffrecord files |")]
#![cfg_attr(feature = "cdf", doc = "| [`cdf`] | classic netCDF files |")]
#![cfg_attr(feature = "blob", doc = "| [`blob`] | blob files of E3SM-IO, and their maps |")]
//!
//! It needs an allocator, but no operating system. The length of the file bounds the memory; the
//! module of each format states the bound.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(any(feature = "sion", feature = "gsd", feature = "ffrecord")),
    allow(dead_code, unused_macros, reason = "what these formats share, the others may not use")
)]

extern crate alloc;

// The packages whose types and traits are in the interfaces here.
pub use striae_core;
#[cfg(feature = "gsd")]
pub use striae_hoomd;

pub mod certainty;
pub mod dump;
pub mod finding;
pub mod map;
#[allow(dead_code, reason = "not every format copies")]
pub mod recover;
#[allow(dead_code, unused_macros, reason = "not every format uses it")]
mod report;
pub mod size;
pub mod subject;

#[cfg(feature = "blob")]
pub mod blob;
#[cfg(feature = "cdf")]
pub mod cdf;
#[cfg(feature = "ffrecord")]
pub mod ffrecord;
#[cfg(feature = "gsd")]
pub mod gsd;
#[cfg(feature = "sion")]
pub mod sion;

/// The README's examples run.
#[cfg(all(doctest, feature = "gsd"))]
#[doc = include_str!("../README.md")]
struct Readme;
