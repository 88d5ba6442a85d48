//! Writing a trajectory to a file.

use super::{FrameData, Precision, Trajectory, schema};
use crate::error::Error;
use crate::gsd::{self, FileWriter, Reopen};
use std::path::Path;
use striae_core::gsd::Version;
use striae_hoomd::Start;

/// How a new trajectory is made.
#[derive(Debug, Clone)]
pub struct Builder {
    file: gsd::Builder,
    version: Version,
    precision: Precision,
}

impl Default for Builder {
    fn default() -> Self {
        let program = concat!("striae ", env!("CARGO_PKG_VERSION"));
        let file = gsd::Builder::new().application(program);
        Self { file, version: schema::VERSION, precision: Precision::Single }
    }
}

impl Builder {
    /// Sets version 2.0 of the schema and floats of 32 bits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the file is made: its application, its layout, what commits survive, and whether it
    /// may replace a file. The schema in `file` is ignored.
    #[must_use]
    pub fn file(mut self, file: gsd::Builder) -> Self {
        self.file = file;
        self
    }

    /// Sets the bits of all floats except logged ones; by default 32.
    #[must_use]
    pub const fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets version 1.4 of the schema, for readers older than gsd 5.0. Its floats have 32 bits.
    #[must_use]
    pub const fn version_1(mut self) -> Self {
        self.version = schema::VERSION_1;
        self
    }

    /// Makes a trajectory without frames at `path`.
    ///
    /// # Errors
    /// [`Precision`](super::Error::Precision) if the version does not allow the precision; the
    /// errors of [`gsd::Builder::create`].
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer, Error> {
        let path = path.as_ref();
        let start = Start::new(self.version, self.precision);
        let start = start.map_err(|error| Error::new(path, error))?;
        let file = self.file.clone().schema(schema::NAME, self.version).create(path)?;
        Ok(Writer(striae_hoomd::Writer::new(file, start)))
    }
}

/// A writer of a trajectory, frame by frame: a [`striae_hoomd::Writer`] of a file.
///
/// ```
/// use striae::gsd::hoomd::{FrameData, Trajectory, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.gsd");
/// let mut writer = Writer::create(&path)?;
/// let mut frame = FrameData::default();
/// frame.configuration = frame.configuration.with_box([10.0, 10.0, 10.0, 0.0, 0.0, 0.0]);
/// frame.particles.n = 2;
/// for step in 0..3 {
///     frame.configuration.step = Some(step);
///     frame.particles.position = Some(vec![0.0_f32, 0.0, 0.0, step as f32, 0.0, 0.0].into());
///     writer.append(&frame)?;
/// }
/// writer.close()?;
/// assert_eq!(Trajectory::open(&path)?.frame(2)?.step()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer(striae_hoomd::Writer<FileWriter>);

impl Writer {
    /// Makes a trajectory at `path`, where no file may exist: see [`Builder`].
    ///
    /// # Errors
    /// As [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Builder::new().create(path)
    }

    /// Opens the trajectory at `path` to append frames of this precision. Any program may have
    /// written it.
    ///
    /// # Errors
    /// As [`reopen_with`](Self::reopen_with).
    pub fn reopen(path: impl AsRef<Path>, precision: Precision) -> Result<Self, Error> {
        Self::reopen_with(path, precision, &Reopen::new())
    }

    /// Opens a trajectory to append to, with the options of [`Reopen`].
    ///
    /// # Errors
    /// [`Schema`](super::Error::Schema), [`Version`](super::Error::Version) or
    /// [`Precision`](super::Error::Precision) if the trajectory has another schema or version, or
    /// does not allow the precision; an error in frame 0, which is read; the errors of
    /// [`Reopen::open`].
    pub fn reopen_with(
        path: impl AsRef<Path>,
        precision: Precision,
        how: &Reopen,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        drop(Trajectory::open(path)?); // before anything is written to a file of another schema
        let file = how.open(path)?;
        let trajectory = Trajectory::open(path)?; // as it is since nobody else may write to it
        let start = Start::of(&trajectory, precision)?;
        Ok(Self(striae_hoomd::Writer::new(file, start)))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.file().path()
    }

    /// Number of frames, including frames that are not committed.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.0.frames()
    }

    /// Bits of the floats in new frames.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.0.precision()
    }

    /// Adds a frame and returns its number. The next [`commit`](Self::commit) makes it part of the
    /// file.
    ///
    /// # Errors
    /// The errors of [`FrameData::check`]; [`NotInFrame0`](super::Error::NotInFrame0); an error for
    /// a name or text that the file cannot have. Then nothing of the frame is written.
    /// After an error of the disk (see [`FileWriter`]), call it again with the same frame; another
    /// frame is [`OtherFrame`](super::Error::OtherFrame).
    pub fn append(&mut self, frame: &FrameData) -> Result<u64, Error> {
        self.0.append(frame)
    }

    /// Makes all frames part of the file, as durable as the builder says.
    ///
    /// # Errors
    /// As [`FileWriter::commit`].
    pub fn commit(&mut self) -> Result<(), Error> {
        self.0.commit()
    }

    /// Commits for the last time, and cuts off unused bytes at the end of the file.
    ///
    /// # Errors
    /// As [`FileWriter::close`].
    pub fn close(&mut self) -> Result<(), Error> {
        self.0.close()
    }

    /// Removes all frames.
    ///
    /// # Errors
    /// As [`FileWriter::truncate`].
    pub fn truncate(&mut self) -> Result<(), Error> {
        self.0.truncate()
    }
}
