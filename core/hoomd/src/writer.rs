//! A file of the schema that is written.

use super::data::{FrameData, log_name};
use super::error::Error as HoomdError;
use super::frame::Frame;
use super::schema::{self, Field, Kind};
use super::trajectory::Trajectory;
use super::value::{Value, padded};
use super::values::{Precision, Quantity};
use crate::error::{Error, ErrorKind};
use crate::gsd::{self, FileWriter, Reopen};
use std::borrow::Cow;
use std::path::Path;
use striae_core::gsd::error::BadName;
use striae_core::gsd::{self as core_gsd, ChunkType, Version};

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
    /// A file of version 2.0 of the schema, with numbers of 32 bits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How the file is made: its application, layout, what commits survive, whether it may replace
    /// one. What this says about the schema does not count.
    #[must_use]
    pub fn file(mut self, file: gsd::Builder) -> Self {
        self.file = file;
        self
    }

    /// Bits of all numbers that are float, but for logged ones: 32 unless told.
    #[must_use]
    pub const fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// A file of version 1.4, for readers from before gsd 5.0. Its numbers have 32 bits.
    #[must_use]
    pub const fn version_1(mut self) -> Self {
        self.version = schema::VERSION_1;
        self
    }

    /// Makes a trajectory without frames at `path`.
    ///
    /// # Errors
    /// [`HoomdError::Precision`]; what [`gsd::Builder::create`] says.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer, Error> {
        let path = path.as_ref();
        check_precision(path, self.version, self.precision)?;
        let file = self.file.clone().schema(schema::NAME, self.version).create(path)?;
        Ok(Writer { file, precision: self.precision, first: None, begun: Vec::new() })
    }
}

/// A trajectory that is written, frame by frame.
///
/// A chunk is left out if frame 0 has the same value, or if it is the default and frame 0 has no
/// such chunk, so that readers get the value all the same (`spec/gsd-hoomd.md#writing`). The values
/// of frame 0 are kept in memory for that.
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
pub struct Writer {
    file: FileWriter,
    precision: Precision,
    first: Option<First>,
    /// Chunks of a frame that could not be written to its end: name and checksum.
    begun: Vec<(Box<[u8]>, u32)>,
}

/// What stands in frame 0.
#[derive(Debug)]
struct First {
    values: Vec<(&'static str, Value<'static>)>,
    /// Names of logged quantities.
    logs: Vec<Box<[u8]>>,
}

/// A chunk that is to be written.
enum Item<'a> {
    Value(&'static Field, Value<'a>),
    Log(Box<[u8]>, &'a Quantity),
}

impl Writer {
    /// Makes a trajectory at `path`, where there must be no file: see [`Builder`].
    ///
    /// # Errors
    /// As [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Builder::new().create(path)
    }

    /// Goes on with the trajectory at `path`, one of ours or of any other program, with numbers of
    /// this precision.
    ///
    /// # Errors
    /// As [`reopen_with`](Self::reopen_with).
    pub fn reopen(path: impl AsRef<Path>, precision: Precision) -> Result<Self, Error> {
        Self::reopen_with(path, precision, &Reopen::new())
    }

    /// The same, with more to say about how.
    ///
    /// # Errors
    /// [`HoomdError::Schema`], [`HoomdError::Version`], [`HoomdError::Precision`]; those of frame 0,
    /// which is read; what [`Reopen::open`] says.
    pub fn reopen_with(
        path: impl AsRef<Path>,
        precision: Precision,
        how: &Reopen,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        drop(Trajectory::open(path)?); // before anything is written to a file of another schema
        let file = how.open(path)?;
        let trajectory = Trajectory::open(path)?; // as it is since nobody else may write to it
        check_precision(path, trajectory.schema_version(), precision)?;
        let first = match trajectory.is_empty() {
            true => None,
            false => Some(First::read(&trajectory.frame(0)?)?),
        };
        Ok(Self { file, precision, first, begun: Vec::new() })
    }

    /// The name of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Frames, also such that are not committed.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.file.frames()
    }

    /// Bits of the numbers that are written.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// Adds a frame and returns its number. It is in the file with the next
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// What [`FrameData::check`] says, [`HoomdError::NotInFrame0`], a name or text that the file
    /// cannot have: nothing of the frame is written then. What [`FileWriter`] says of its errors of
    /// the disk: call it again then with the same frame ([`HoomdError::OtherFrame`]).
    pub fn append(&mut self, frame: &FrameData) -> Result<u64, Error> {
        let items = self.items(frame)?;
        let mut is_begun = self.begun.iter();
        for (done, item) in items.iter().enumerate() {
            if let Some((name, crc)) = is_begun.next() {
                if **name != *item.name() || *crc != item.checksum() {
                    let frame = self.file.frames();
                    return Err(self.error(HoomdError::OtherFrame { frame }));
                }
                continue;
            }
            let Raw { name, kind, m, bytes } = item.raw();
            if let Err(error) = self.file.write_bytes(name, kind, m, &bytes) {
                let done = items.iter().take(done);
                self.begun = done.map(|item| (item.name().into(), item.checksum())).collect();
                return Err(error);
            }
        }
        let number = match self.file.end_frame() {
            Ok(number) => number,
            Err(error) => {
                self.begun =
                    items.iter().map(|item| (item.name().into(), item.checksum())).collect();
                return Err(error);
            }
        };
        self.begun.clear();
        if self.first.is_none() {
            self.first = Some(First::of(items));
        }
        Ok(number)
    }

    /// Makes all frames part of the file, as durable as was asked for.
    ///
    /// # Errors
    /// As [`FileWriter::commit`].
    pub fn commit(&mut self) -> Result<(), Error> {
        self.file.commit()
    }

    /// Commits for the last time, and ends the file where the last chunk does.
    ///
    /// # Errors
    /// As [`FileWriter::close`].
    pub fn close(&mut self) -> Result<(), Error> {
        self.file.close()
    }

    /// Removes all frames.
    ///
    /// # Errors
    /// As [`FileWriter::truncate`].
    pub fn truncate(&mut self) -> Result<(), Error> {
        self.file.truncate()?;
        self.first = None;
        self.begun.clear();
        Ok(())
    }

    fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(self.file.path(), kind)
    }

    /// The chunks that the frame needs, of which all can be written.
    fn items<'a>(&self, frame: &'a FrameData) -> Result<Vec<Item<'a>>, Error> {
        frame.check().map_err(|error| self.error(error))?;
        let mut items = Vec::new();
        let mut step = None;
        for (field, value) in frame.values() {
            if field.name == schema::STEP.name {
                step = Some(value.clone());
            }
            if self.needs(field, &value) {
                let value = value.of_precision(self.precision); // rounded, it may be frame 0's
                if self.needs(field, &value) {
                    items.push(Item::Value(field, value));
                }
            }
        }
        for (name, quantity) in &frame.log {
            let name = log_name(name);
            self.check_log(&name, quantity)?;
            items.push(Item::Log(name, quantity));
        }
        if items.is_empty() {
            // A frame without chunks is lost if it is the last one.
            let step = step.or_else(|| self.first_value(&schema::STEP).cloned());
            let step = step.unwrap_or(Value::U64(Cow::Borrowed(&[0])));
            items.push(Item::Value(&schema::STEP, step));
        }
        Ok(items)
    }

    /// What frame 0 has of a field.
    fn first_value(&self, field: &Field) -> Option<&Value<'static>> {
        let first = self.first.as_ref()?;
        first.values.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value)
    }

    /// Whether readers would get another value if this one were left out.
    fn needs(&self, field: &Field, value: &Value<'_>) -> bool {
        match self.first_value(field) {
            Some(first) => !first.is_same(value),
            None => !value.is_default(field),
        }
    }

    /// Refuses a quantity that the file cannot have, before anything of its frame is written.
    fn check_log(&self, name: &[u8], quantity: &Quantity) -> Result<(), Error> {
        if self.first.as_ref().is_some_and(|first| !first.logs.iter().any(|log| **log == *name)) {
            return Err(self.error(HoomdError::NotInFrame0 { name: name.into() }));
        }
        let (version, frame) = (self.file.version(), self.file.frames());
        let long = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let kind = quantity.values.kind();
        let error = if let Some(at) = name.iter().position(|&byte| byte == 0) {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            core_gsd::Error::BadName(BadName::Nul { at })
        } else if !version.is_sorted() && long > SLOT {
            core_gsd::Error::BadName(BadName::Long { len: long, max: SLOT })
        } else if !version.is_sorted() && kind == ChunkType::Character {
            core_gsd::Error::Layer { gsd_version: version.number(), kind: Some(kind) }
        } else {
            return Ok(());
        };
        Err(self.error(ErrorKind::Chunk { frame, name: name.into(), error }))
    }
}

/// Bytes of a name in a file of layer 1.
const SLOT: u32 = 63;

fn check_precision(path: &Path, version: Version, precision: Precision) -> Result<(), Error> {
    match precision {
        Precision::Double if version < schema::VERSION => {
            Err(Error::new(path, HoomdError::Precision { version, precision }))
        }
        _ => Ok(()),
    }
}

impl First {
    fn of(items: Vec<Item<'_>>) -> Self {
        let mut first = Self { values: Vec::new(), logs: Vec::new() };
        for item in items {
            match item {
                Item::Value(field, value) => first.values.push((field.name, value.into_owned())),
                Item::Log(name, _) => first.logs.push(name),
            }
        }
        first
    }

    fn read(frame: &Frame<'_>) -> Result<Self, Error> {
        let mut values = Vec::new();
        for field in schema::FIELDS {
            if field.until.is_none() && frame.own(field.name)?.is_some() {
                values.push((field.name, frame.value(field)?));
            }
        }
        let logs = frame.log_names()?;
        let logs = logs.into_iter().map(|name| [b"log/", name.0].concat().into()).collect();
        Ok(Self { values, logs })
    }
}

impl Frame<'_> {
    /// The values of a field that is written.
    fn value(&self, field: &Field) -> Result<Value<'static>, Error> {
        Ok(match field.kind {
            Kind::U8 => Value::U8(Cow::Owned(self.numbers(field)?)),
            Kind::U32 => Value::U32(Cow::Owned(self.numbers(field)?)),
            Kind::U64 => Value::U64(Cow::Owned(self.numbers(field)?)),
            Kind::I32 => Value::I32(Cow::Owned(self.numbers(field)?)),
            Kind::Tag => Value::U32(Cow::Owned(self.tags(field)?)),
            Kind::Text => Value::Texts(Cow::Owned(self.texts(field)?)),
            Kind::Float | Kind::F64 => Value::Floats(Cow::Owned(self.floats(field)?)),
        })
    }
}

/// A chunk as it is to stand in the file.
struct Raw<'a> {
    name: &'a [u8],
    kind: ChunkType,
    m: u32,
    bytes: Cow<'a, [u8]>,
}

impl Item<'_> {
    fn name(&self) -> &[u8] {
        match self {
            Self::Value(field, _) => field.name.as_bytes(),
            Self::Log(name, _) => name,
        }
    }

    fn raw(&self) -> Raw<'_> {
        let name = self.name();
        match self {
            Self::Value(_, Value::Texts(texts)) => {
                let (bytes, m) = padded(texts);
                Raw { name, kind: ChunkType::I8, m, bytes: Cow::Owned(bytes) }
            }
            Self::Value(field, value) => {
                let (kind, bytes) = value.bytes();
                Raw { name, kind, m: field.columns.unwrap_or(1), bytes }
            }
            Self::Log(_, Quantity { m, values, .. }) => {
                Raw { name, kind: values.kind(), m: *m, bytes: values.bytes() }
            }
        }
    }

    /// What tells it from another of its name.
    fn checksum(&self) -> u32 {
        let Raw { kind, m, bytes, .. } = self.raw();
        let crc = crc32c::crc32c(&bytes);
        let crc = crc32c::crc32c_append(crc, &m.to_le_bytes());
        crc32c::crc32c_append(crc, &[kind.number()])
    }
}
