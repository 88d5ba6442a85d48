//! GSD files of the schema `hoomd`: trajectories of particles, as HOOMD-blue and many other programs
//! write and read them (`spec/gsd-hoomd.md`).
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | the chunks: names, types, shapes, defaults |
//! | [`trajectory`], [`frame`] | reading: [`Trajectory`], [`Frame`] |
//! | `fallback` | what frames take from frame 0 |
//! | [`logs`] | logged quantities over many frames ([`Logs`]) |
//! | [`data`] | frames in memory ([`FrameData`]) |
//! | [`writer`] | writing: [`Writer`] |
//! | [`values`] | values whose types differ from file to file |
//! | [`error`] | what can be wrong |

pub mod data;
pub mod error;
pub(super) mod fallback;
pub mod frame;
mod glob;
pub mod logs;
pub mod schema;
pub mod trajectory;
pub(super) mod value;
pub mod values;
pub mod writer;

pub use data::{BondData, ConfigurationData, ConstraintData, FrameData, ParticleData};
pub use error::Error;
pub use frame::{Bonds, Constraints, Frame, Particles};
pub use logs::{Logs, Series};
pub use trajectory::{Frames, Trajectory};
pub use values::{Floats, Precision, Quantity, Values};
pub use writer::{Builder, Writer};
