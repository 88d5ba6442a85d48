//! GSD files of the schema `hoomd`: trajectories of particles, as HOOMD-blue and many other
//! programs write and read them (`spec/gsd-hoomd.md`).
//!
//! [`striae_hoomd`] implements the schema; this module opens and writes its trajectories as
//! [files](super::File).
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/v21_hoomd_full_single.gsd");
//! let trajectory = striae::gsd::hoomd::Trajectory::open(path)?;
//! for frame in trajectory.frames(1..) {
//!     let frame = frame?;
//!     let positions = frame.particles().position()?.into_f32(); // x, y, z, x, y, z, ...
//!     assert_eq!(positions.len() as u32, 3 * frame.particles().n()?);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
pub mod writer;

use super::File;
pub use striae_hoomd::{
    BondData, ConfigurationData, ConstraintData, Error, Floats, Found, FrameData, ParticleData,
    Precision, Quantity, Series, Values, data, error, schema, values,
};
pub use writer::{Builder, Writer};

/// A trajectory in a file, which is [opened](striae_hoomd::Trajectory::open) by its path.
pub type Trajectory = striae_hoomd::Trajectory<File>;

/// Some frames of a [`Trajectory`].
pub type Frames<'a> = striae_hoomd::Frames<'a, File>;

/// A frame of a [`Trajectory`].
pub type Frame<'a> = striae_hoomd::Frame<'a, File>;

/// The particles of a [`Frame`].
pub type Particles<'a> = striae_hoomd::Particles<'a, File>;

/// Bonds, angles, dihedrals, impropers or special pairs of a [`Frame`].
pub type Bonds<'a> = striae_hoomd::Bonds<'a, File>;

/// Constraints of a [`Frame`].
pub type Constraints<'a> = striae_hoomd::Constraints<'a, File>;

/// A selection of logged quantities and frames of a [`Trajectory`].
pub type Logs<'a> = striae_hoomd::Logs<'a, File>;
