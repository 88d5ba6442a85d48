//! A frame of a trajectory; each quantity is read when it is asked for.

pub use crate::groups::{Bonds, Constraints, Particles};

use crate::element::Element;
use crate::error::{Error, Fault};
use crate::names::Name;
use crate::schema::{self, Field, Group, Initial, Rows};
use crate::source::{Source, read};
use crate::trajectory::Trajectory;
use crate::values::{Floats, Quantity, Values, repeated};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::store::usize_to_u64;

/// A frame of a [`Trajectory`].
///
/// All methods return an [`Error`] if a chunk does not follow the schema, or an error of the
/// [source](Source).
#[derive(Debug)]
pub struct Frame<'a, F> {
    trajectory: &'a Trajectory<F>,
    number: u64,
    chunks: Vec<Chunk>,
}

impl<F> Clone for Frame<'_, F> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), ..*self }
    }
}

impl<'a, F: Source> Frame<'a, F> {
    pub(crate) const fn new(
        trajectory: &'a Trajectory<F>,
        number: u64,
        chunks: Vec<Chunk>,
    ) -> Self {
        Self { trajectory, number, chunks }
    }

    /// The number of the frame, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The trajectory of the frame.
    #[must_use]
    pub const fn trajectory(&self) -> &'a Trajectory<F> {
        self.trajectory
    }

    /// The chunks of this frame itself, without those from frame 0.
    #[must_use]
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Step of the simulation.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn step(&self) -> Result<u64, F::Error> {
        Ok(self.numbers::<u64>(&schema::STEP)?.first().copied().unwrap_or(0))
    }

    /// Dimensions of space, 2 or 3.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn dimensions(&self) -> Result<u8, F::Error> {
        Ok(self.numbers::<u8>(&schema::DIMENSIONS)?.first().copied().unwrap_or(0))
    }

    /// The box: lengths lx, ly, lz, then tilt factors xy, xz, yz. 32-bit numbers are widened
    /// without loss. The schema calls it `box`, which is a reserved word in Rust.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn box_(&self) -> Result<[f64; 6], F::Error> {
        let values = self.floats(&schema::BOX)?;
        let mut lengths = [0.0; 6];
        for (number, length) in lengths.iter_mut().enumerate() {
            *length = values.get(number).unwrap_or(0.0);
        }
        Ok(lengths)
    }

    /// The particles.
    #[must_use]
    pub const fn particles(&self) -> Particles<'_, F> {
        Particles { frame: self }
    }

    /// Bonds of two particles.
    #[must_use]
    pub const fn bonds(&self) -> Bonds<'_, F> {
        Bonds { frame: self, fields: &schema::BONDS }
    }

    /// Angles of three particles.
    #[must_use]
    pub const fn angles(&self) -> Bonds<'_, F> {
        Bonds { frame: self, fields: &schema::ANGLES }
    }

    /// Dihedrals of four particles.
    #[must_use]
    pub const fn dihedrals(&self) -> Bonds<'_, F> {
        Bonds { frame: self, fields: &schema::DIHEDRALS }
    }

    /// Impropers of four particles.
    #[must_use]
    pub const fn impropers(&self) -> Bonds<'_, F> {
        Bonds { frame: self, fields: &schema::IMPROPERS }
    }

    /// Special pairs of particles.
    #[must_use]
    pub const fn pairs(&self) -> Bonds<'_, F> {
        Bonds { frame: self, fields: &schema::PAIRS }
    }

    /// Distances that are constrained.
    #[must_use]
    pub const fn constraints(&self) -> Constraints<'_, F> {
        Constraints { frame: self }
    }

    /// A logged quantity, by its name without `log/`; `None` if neither this frame nor frame 0 has
    /// it.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn log(&self, name: impl AsRef<[u8]>) -> Result<Option<Quantity>, F::Error> {
        let chunk = self.logged(&[b"log/", name.as_ref()].concat())?;
        chunk.map(|chunk| self.quantity(chunk)).transpose()
    }

    /// The chunk of a logged quantity, of the frame itself or of frame 0.
    pub(crate) fn logged(&self, name: &[u8]) -> Result<Option<&Chunk>, F::Error> {
        match self.own(name)? {
            Some(chunk) => Ok(Some(chunk)),
            None => self.trajectory.named(self.trajectory.first()?, name),
        }
    }

    /// The names of its logged quantities without `log/`, in the order of their ids.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn log_names(&self) -> Result<Vec<Name<'a>>, F::Error> {
        let first = self.trajectory.first()?;
        self.names_behind(b"log/", self.chunks.iter().chain(first))
    }

    /// A state of an integrator, by its name without `state/`; `None` if this frame does not have
    /// it, because state has no defaults. Versions 1.2 to 1.4 of the schema define some names.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn state(&self, name: impl AsRef<[u8]>) -> Result<Option<Quantity>, F::Error> {
        let name = [b"state/", name.as_ref()].concat();
        let Some(chunk) = self.own(&name)? else { return Ok(None) };
        if let Some(field) = schema::by_name(&name) {
            self.trajectory.check(chunk, field, 1)?;
        }
        self.quantity(chunk).map(Some)
    }

    /// The names of this frame's state without `state/`, in the order of their ids.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn state_names(&self) -> Result<Vec<Name<'a>>, F::Error> {
        self.names_behind(b"state/", self.chunks.iter())
    }

    /// The names of these chunks without `prefix`. If the list has a name twice, readers find the
    /// chunks of the first one, so only the first one counts.
    fn names_behind<'c>(
        &self,
        prefix: &'static [u8],
        chunks: impl Iterator<Item = &'c Chunk>,
    ) -> Result<Vec<Name<'a>>, F::Error> {
        let all = self.trajectory.file().names()?;
        let ids: BTreeSet<u16> = chunks.map(|chunk| chunk.id).collect();
        let names = all.with_prefix(prefix);
        let names = names.filter(|&(id, name)| ids.contains(&id) && all.id(name.0) == Some(id));
        Ok(names.map(|(_, name)| Name(name.0.get(prefix.len()..).unwrap_or_default())).collect())
    }

    fn quantity(&self, chunk: &Chunk) -> Result<Quantity, F::Error> {
        let values = Values::read(self.trajectory.file(), chunk)?;
        Ok(Quantity::of(chunk, values))
    }

    /// The chunk with this name that the frame itself has.
    pub(crate) fn own(&self, name: impl AsRef<[u8]>) -> Result<Option<&Chunk>, F::Error> {
        self.trajectory.named(&self.chunks, name)
    }

    /// N of a group, as a `u32`.
    pub(crate) fn members(&self, group: Group) -> Result<u32, F::Error> {
        self.count(group).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// N of a group.
    fn count(&self, group: Group) -> Result<u64, F::Error> {
        self.trajectory.members(&self.chunks, group)
    }

    /// The chunk that holds the values of a field, after a check, and the number of its rows (or 0
    /// if only the chunk tells). Without a chunk, all rows have the default value.
    pub(crate) fn find(&self, field: &Field) -> Result<(u64, Option<Chunk>), F::Error> {
        let group = field.rows.group();
        let n = match field.rows {
            Rows::Fixed(n) => n,
            Rows::Each(group) => self.count(group)?,
            Rows::Types | Rows::Sum => 0,
        };
        let trajectory = self.trajectory;
        let mut chunk = self.own(field.name)?;
        // Values of frame 0 are those of as many members.
        let is_alike = || group.map_or(Ok(true), |of| Ok(trajectory.first_count(of)? == n));
        if chunk.is_none() && self.number != 0 && is_alike()? {
            chunk = trajectory.named(trajectory.first()?, field.name)?;
        }
        if let Some(chunk) = chunk {
            trajectory.check(chunk, field, n)?;
        } else if let Some(group) = group {
            self.check_claim(n, group)?;
        }
        Ok((n, chunk.copied()))
    }

    /// Refuses a number of members that the length of the file does not allow.
    fn check_claim(&self, n: u64, group: Group) -> Result<(), F::Error> {
        let max = self.trajectory.most();
        if n <= max {
            return Ok(());
        }
        let name = group.count().name.as_bytes().into();
        let members = Error::Members { name, frame: self.number, value: n, max };
        Err(self.trajectory.error(members))
    }

    /// The values of a field of integers.
    pub(crate) fn numbers<T: Element + TryFrom<i8>>(
        &self,
        field: &Field,
    ) -> Result<Vec<T>, F::Error> {
        match self.find(field)? {
            (_, Some(chunk)) => read(self.trajectory.file(), &chunk),
            (n, None) => self.defaults(field, n, |value| T::try_from(value).ok()),
        }
    }

    pub(crate) fn floats(&self, field: &Field) -> Result<Floats, F::Error> {
        let file = self.trajectory.file();
        match self.find(field)? {
            (_, Some(chunk)) if chunk.kind == ChunkType::F64 => read(file, &chunk).map(Floats::F64),
            (_, Some(chunk)) => read(file, &chunk).map(Floats::F32),
            (n, None) => self.defaults(field, n, |value| Some(f32::from(value))).map(Floats::F32),
        }
    }

    /// Particle tags; tags that were written as `int32` have the same bits.
    pub(crate) fn tags(&self, field: &Field) -> Result<Vec<u32>, F::Error> {
        match self.find(field)? {
            (_, Some(chunk)) if chunk.kind == ChunkType::I32 => {
                let tags: Vec<i32> = read(self.trajectory.file(), &chunk)?;
                Ok(tags.into_iter().map(i32::cast_unsigned).collect())
            }
            (_, Some(chunk)) => read(self.trajectory.file(), &chunk),
            (n, None) => self.defaults(field, n, |value| u32::try_from(value).ok()),
        }
    }

    pub(crate) fn texts(&self, field: &Field) -> Result<Vec<String>, F::Error> {
        let Some(chunk) = self.find(field)?.1 else {
            let Initial::Texts(texts) = field.default else { return Ok(Vec::new()) };
            return Ok(texts.iter().copied().map(String::from).collect());
        };
        let bytes = read::<u8, F>(self.trajectory.file(), &chunk)?;
        let width = usize::try_from(chunk.m).unwrap_or(usize::MAX).max(1);
        let texts = (0..).zip(bytes.chunks(width)).map(|(row, bytes)| {
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            let text = bytes.get(..len).unwrap_or_default();
            String::from_utf8(text.to_vec()).map_err(|error| {
                let at = usize_to_u64(error.utf8_error().valid_up_to());
                let (name, frame) = (field.name.as_bytes().into(), chunk.frame);
                self.trajectory.error(Error::NotText { name, frame, row, at })
            })
        });
        texts.collect()
    }

    /// `n` times the default row.
    fn defaults<T: Copy>(
        &self,
        field: &Field,
        n: u64,
        of: impl Fn(i8) -> Option<T>,
    ) -> Result<Vec<T>, F::Error> {
        let Initial::Values(row) = field.default else { return Ok(Vec::new()) };
        let row: Vec<T> = row.iter().filter_map(|&value| of(value)).collect();
        let times = if matches!(field.rows, Rows::Fixed(_)) { 1 } else { n };
        let memory = || self.trajectory.error(Fault::Memory);
        let times = usize::try_from(times).map_err(|_| memory())?;
        repeated(&row, times).ok_or_else(memory)
    }
}
