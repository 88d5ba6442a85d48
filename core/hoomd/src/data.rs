//! Frames in memory, in the form in which they are written.

pub use crate::groups::{BondData, ConstraintData, ParticleData};

use crate::error::Error;
use crate::frame::Frame;
use crate::groups::Entry;
use crate::schema;
use crate::source::Source;
use crate::value::Value;
use crate::values::{Floats, Quantity};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::slice::from_ref;
use striae_core::gsd::Chunk;

/// A frame in memory.
///
/// A field that is `None` is not written, so a reader takes the value of frame 0 or the default.
/// Arrays hold their rows one after another.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameData {
    /// Step, dimensions, box.
    pub configuration: ConfigurationData,
    /// The particles.
    pub particles: ParticleData,
    /// Bonds of two particles.
    pub bonds: BondData,
    /// Angles of three.
    pub angles: BondData,
    /// Dihedrals of four.
    pub dihedrals: BondData,
    /// Impropers of four.
    pub impropers: BondData,
    /// Distances that are constrained.
    pub constraints: ConstraintData,
    /// Special pairs.
    pub pairs: BondData,
    /// Logged quantities by their names without `log/`.
    pub log: Vec<(String, Quantity)>,
}

/// The step, the dimensions and the box of a frame.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigurationData {
    /// Step of the simulation.
    pub step: Option<u64>,
    /// Dimensions of space, 2 or 3.
    pub dimensions: Option<u8>,
    /// The box: lengths lx, ly, lz, then tilt factors xy, xz, yz. `box` in the schema, which Rust
    /// reserves.
    pub box_: Option<[f64; 6]>,
}

impl ConfigurationData {
    /// Sets the box, and the dimensions: two if `lz` is 0, else three.
    #[must_use]
    pub fn with_box(mut self, lengths: [f64; 6]) -> Self {
        let [_, _, lz, ..] = lengths;
        self.box_ = Some(lengths);
        self.dimensions = Some(if lz == 0.0 { 2 } else { 3 });
        self
    }

    fn values<'a>(&'a self, to: &mut Vec<Entry<'a>>) {
        let Self { step, dimensions, box_ } = self;
        let lengths = box_.map(|lengths| Cow::Owned(Floats::F64(lengths.to_vec())));
        let step = step.as_ref().map(|step| Value::integers(from_ref(step)));
        let dimensions = dimensions.as_ref().map(|of| Value::integers(from_ref(of)));
        to.extend(step.map(|step| (&schema::STEP, step)));
        to.extend(dimensions.map(|dimensions| (&schema::DIMENSIONS, dimensions)));
        to.extend(lengths.map(|lengths| (&schema::BOX, Value::Floats(lengths))));
    }
}

impl FrameData {
    /// All values that are set, in the order in which gsd writes them.
    pub(crate) fn values(&self) -> Vec<Entry<'_>> {
        let mut values = Vec::new();
        self.configuration.values(&mut values);
        self.particles.values(&mut values);
        self.bonds.values(&schema::BONDS, &mut values);
        self.angles.values(&schema::ANGLES, &mut values);
        self.dihedrals.values(&schema::DIHEDRALS, &mut values);
        self.impropers.values(&schema::IMPROPERS, &mut values);
        self.constraints.values(&mut values);
        self.pairs.values(&schema::PAIRS, &mut values);
        values
    }

    /// Number of members of the group of a field, if it belongs to one.
    pub(crate) const fn count(&self, group: schema::Group) -> u32 {
        use schema::Group;
        match group {
            Group::Particles => self.particles.n,
            Group::Bonds => self.bonds.n,
            Group::Angles => self.angles.n,
            Group::Dihedrals => self.dihedrals.n,
            Group::Impropers => self.impropers.n,
            Group::Constraints => self.constraints.n,
            Group::Pairs => self.pairs.n,
        }
    }

    /// Checks the frame for values that no reader could read back.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of rows is not N; [`Error::Nul`] for a text with a NUL;
    /// [`Error::SameType`] for two types of one name; [`Error::SameName`] for two logged quantities
    /// of one name.
    pub fn check(&self) -> Result<(), Error> {
        for (field, value) in self.values() {
            value.check(field, |group| self.count(group))?;
        }
        for (number, (name, quantity)) in self.log.iter().enumerate() {
            let is_same = |(other, _): &&(String, Quantity)| other == name;
            if self.log.iter().take(number).any(|other| is_same(&other)) {
                return Err(Error::SameName { name: log_name(name) });
            }
            quantity.check(|| log_name(name))?;
        }
        Ok(())
    }
}

/// The name of a quantity in the file.
pub(crate) fn log_name(name: &str) -> Box<[u8]> {
    [b"log/", name.as_bytes()].concat().into()
}

impl<F: Source> Frame<'_, F> {
    /// All values of the frame, including those from frame 0 and defaults, but without `state/`.
    ///
    /// # Errors
    /// [`Shared`](striae_core::gsd::Error::Shared) if they have more bytes than the file; the
    /// errors of [`Frame`].
    pub fn read(&self) -> Result<FrameData, F::Error> {
        self.announce()?;
        let configuration = ConfigurationData {
            step: Some(self.step()?),
            dimensions: Some(self.dimensions()?),
            box_: Some(self.box_()?),
        };
        let mut log = Vec::new();
        for name in self.log_names()? {
            if let Some(quantity) = self.log(name.0)? {
                log.push((name.to_string(), quantity));
            }
        }
        Ok(FrameData {
            configuration,
            particles: self.particles().read()?,
            bonds: self.bonds().read()?,
            angles: self.angles().read()?,
            dihedrals: self.dihedrals().read()?,
            impropers: self.impropers().read()?,
            constraints: self.constraints().read()?,
            pairs: self.pairs().read()?,
            log,
        })
    }

    /// Refuses chunks that share bytes and would need more memory than the file has bytes, and says
    /// to the file that the others will be read.
    fn announce(&self) -> Result<(), F::Error> {
        let (trajectory, mut room) = (self.trajectory(), self.trajectory().room());
        let first = if self.number() == 0 { &[] } else { trajectory.first()? };
        // Its own are in the order of their ids.
        let (own, mut chunks) = (self.chunks(), Vec::new());
        let is_own = |chunk: &Chunk| own.binary_search_by_key(&chunk.id, |own| own.id).is_ok();
        for chunk in self.chunks().iter().chain(first) {
            if !trajectory.name(chunk)?.as_bytes().starts_with(b"state/") {
                room.take(chunk).map_err(|error| trajectory.error(error))?;
                // Of frame 0, what the frame itself has not is read, and the number of members.
                if chunk.frame == self.number() || chunk.span.len() <= 8 || !is_own(chunk) {
                    chunks.push(*chunk);
                }
            }
        }
        trajectory.file().will_read(&chunks);
        Ok(())
    }
}
