//! Trajectories of particles in GSD files: the schema `hoomd`, as HOOMD-blue and many other
//! programs write and read it (`spec/gsd-hoomd.md`).
//!
//! Nothing here opens a file. A trajectory is read from a [`Source`] and written to a [`Sink`]: an
//! open GSD file, wherever its bytes are. [`File`] is one in any store, and so is
//! [`striae_core::gsd::Writer`]; the crate `striae` brings files of a disk.
//!
//! ```
//! use striae_hoomd::{File, Trajectory};
//!
//! # const BYTES: &[u8] = include_bytes!("../../../tests/golden/gsd/v21_hoomd_full_single.gsd");
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
//! | [`trajectory`], [`frame`] | reading: [`Trajectory`], [`Frame`] |
//! | [`fallback`] | what frames take from frame 0 |
//! | [`logs`] | logged quantities over many frames ([`Logs`]) |
//! | [`data`] | frames in memory ([`FrameData`]) |
//! | [`writer`] | writing: [`Writer`] |
//! | [`values`] | values whose types differ from file to file |
//! | [`source`], [`sink`] | open files that are read and written ([`Source`], [`Sink`]) |
//! | [`error`] | what can be wrong |
//!
//! What any GSD file needs in memory, whatever its schema:
//!
//! | module | holds |
//! |---|---|
//! | [`names`], [`shown`] | its names; names in messages |
//! | [`element`] | types of values in memory |
//! | [`room`] | how many bytes its chunks can have |
//!
//! # Promises
//!
//! - `#![no_std]`, `#![forbid(unsafe_code)]`; it needs an allocator.
//! - A file may hold any bytes: the answer is a correct reading or a typed error, never a panic,
//!   and memory is bounded by the length of the file.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod data;
pub mod element;
pub mod error;
pub mod fallback;
pub mod frame;
mod glob;
pub mod logs;
pub mod names;
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
pub use frame::{Bonds, Constraints, Frame, Particles};
pub use logs::{Logs, Series};
pub use names::{Name, NameList};
pub use sink::Sink;
pub use source::{File, Open, Refresh, Source};
pub use trajectory::{Frames, Trajectory};
pub use values::{Floats, Precision, Quantity, Values};
pub use writer::{Start, Writer};
