//! Trajectories of particles in GSD files: reads and writes the schema `hoomd` of HOOMD-blue and
//! many other programs (`spec/gsd-hoomd.md`).
//!
//! This crate opens no file. It reads a trajectory from a [`Source`] and writes one to a [`Sink`];
//! both are open GSD files. [`File`] is a source in any store, and [`striae_core::gsd::Writer`] is
//! a sink; the crate `striae` adds files on a disk.
//!
//! ```
//! use striae_hoomd::{File, Trajectory};
//!
//! # const BYTES: &[u8] = include_bytes!("../doc/v21_hoomd_full_single.gsd");
//! let trajectory = Trajectory::<File<&[u8]>>::open(BYTES)?;
//! for frame in trajectory.frames(1..) {
//!     let frame = frame?;
//!     let positions = frame.particles().position()?.into_f32(); // x, y, z, x, y, z, ...
//!     assert_eq!(positions.len() as u32, 3 * frame.particles().n()?);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | the chunks: names, types, shapes, defaults |
//! | [`trajectory`], [`frame`], [`frames`] | reading: [`Trajectory`], [`Frame`], [`Frames`] |
//! | [`fallback`] | the values that frames take from frame 0 |
//! | [`logs`] | logged quantities over many frames ([`Logs`]) |
//! | [`data`] | frames in memory ([`FrameData`]) |
//! | [`writer`] | writing: [`Writer`] |
//! | [`values`] | values whose types differ from file to file |
//! | [`source`], [`sink`] | open files that are read and written ([`Source`], [`Sink`]) |
//! | [`error`] | errors |
//!
//! Parts for any GSD file, whatever its schema:
//!
//! | module | holds |
//! |---|---|
//! | [`names`], [`shown`] | the names of a file; names in messages |
//! | [`glob`] | patterns of names |
//! | [`element`] | types of values in memory |
//! | [`room`] | a limit for the bytes of chunks |
//!
//! # Promises
//!
//! - `#![no_std]`, `#![forbid(unsafe_code)]`; it needs an allocator.
//! - A file may hold any bytes: the result is a correct value or a typed error, never a panic. The
//!   length of the file bounds the memory.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod check;
pub mod data;
pub mod element;
pub mod error;
pub mod fallback;
mod found;
pub mod frame;
pub mod frames;
pub mod glob;
mod groups;
pub mod logs;
pub mod names;
mod precision;
pub mod room;
pub mod schema;
pub mod shown;
pub mod sink;
pub mod source;
pub mod trajectory;
mod value;
pub mod values;
pub mod writer;

pub use data::{BondData, ConfigurationData, ConstraintData, FrameData, ParticleData};
pub use element::Element;
pub use error::{Error, Fault};
pub use found::Found;
pub use frame::{Bonds, Constraints, Frame, Particles};
pub use frames::Frames;
pub use logs::{Logs, Series};
pub use names::{Name, NameList};
pub use sink::Sink;
pub use source::{File, Open, Refresh, Source};
pub use striae_core; // its types are in the interfaces here
pub use trajectory::Trajectory;
pub use values::{Floats, Precision, Quantity, Values};
pub use writer::{Start, Writer};
