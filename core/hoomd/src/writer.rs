//! Writes a file of the schema.

use crate::data::{FrameData, log_name};
use crate::error::{Error, Fault};
use crate::frame::Frame;
use crate::schema::{self, Field, Kind};
use crate::sink::Sink;
use crate::source::Source;
use crate::trajectory::Trajectory;
use crate::value::{Value, padded};
use crate::values::{Precision, Quantity, Values};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use striae_core::gsd::error::BadName;
use striae_core::gsd::{self, ChunkType, Version};
use striae_core::integrity::crc32c;

/// Writes a trajectory, frame by frame.
///
/// A chunk is left out if frame 0 has the same value, or if the value is the default and frame 0
/// has no such chunk: readers still get the right value (`spec/gsd-hoomd.md#writing`). For this,
/// the values of frame 0 are kept in memory.
///
/// ```
/// use striae_core::gsd::{Attributes, Slot};
/// use striae_hoomd::{File, FrameData, Precision, Start, Trajectory, Writer, schema};
/// # let mut card = [0; 16384];
/// # let card = card.as_mut_slice();
/// let (schema, schema_version) = (schema::NAME, schema::VERSION);
/// let about = Attributes { schema, schema_version, ..Attributes::default() };
/// let file = striae_core::gsd::Writer::create(&mut *card, &about, [Slot::EMPTY; 64])?;
/// let mut writer = Writer::new(file, Start::new(schema::VERSION, Precision::Single)?);
/// let mut frame = FrameData::default();
/// frame.configuration = frame.configuration.with_box([10.0, 10.0, 10.0, 0.0, 0.0, 0.0]);
/// frame.particles.n = 2;
/// for step in 0..3 {
///     frame.configuration.step = Some(step);
///     frame.particles.position = Some(vec![0.0_f32, 0.0, 0.0, step as f32, 0.0, 0.0].into());
///     writer.append(&frame)?;
/// }
/// writer.commit()?;
/// assert_eq!(Trajectory::<File<&[u8]>>::open(card)?.frame(2)?.step()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    file: W,
    start: Start,
    /// The chunks already written of a frame that failed: name and checksum.
    begun: Vec<(Box<[u8]>, u32)>,
}

/// The state of a file that a writer must know before it adds frames: precision and frame 0.
#[derive(Debug)]
pub struct Start {
    precision: Precision,
    first: Option<First>,
}

/// The contents of frame 0.
#[derive(Debug)]
struct First {
    values: Vec<(&'static str, Value<'static>)>,
    /// Names of logged quantities.
    logs: Vec<Box<[u8]>>,
}

/// A chunk to be written.
enum Item<'a> {
    Value(&'static Field, Value<'a>),
    Log(Box<[u8]>, &'a Quantity),
}

impl Start {
    /// The start of a new file, whose header has the schema's [name](schema::NAME) and this
    /// version; its numbers have this precision.
    ///
    /// # Errors
    /// [`Error::Precision`] if the version does not allow this precision.
    pub fn new(version: Version, precision: Precision) -> Result<Self, Error> {
        precision.check(version)?;
        Ok(Self { precision, first: None })
    }

    /// The start of a file that has the frames of this trajectory, written by any program. Reads
    /// frame 0.
    ///
    /// # Errors
    /// [`Error::Precision`] if the version does not allow this precision; the errors of reading
    /// frame 0.
    pub fn of<F: Source>(
        trajectory: &Trajectory<F>,
        precision: Precision,
    ) -> Result<Self, F::Error> {
        precision.check(trajectory.schema_version()).map_err(|error| trajectory.error(error))?;
        let first = match trajectory.is_empty() {
            true => None,
            false => Some(First::read(&trajectory.frame(0)?)?),
        };
        Ok(Self { precision, first })
    }
}

impl<W: Sink> Writer<W> {
    /// Makes a writer that adds frames to `file`, whose state is `start`.
    #[must_use]
    pub const fn new(file: W, start: Start) -> Self {
        Self { file, start, begun: Vec::new() }
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &W {
        &self.file
    }

    /// Returns the file, which is not closed.
    #[must_use]
    pub fn into_file(self) -> W {
        self.file
    }

    /// Number of frames, including uncommitted ones.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.file.frames()
    }

    /// Precision of the numbers that are written.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.start.precision
    }

    /// Adds a frame and returns its number. The next [`commit`](Self::commit) makes it part of the
    /// file.
    ///
    /// # Errors
    /// The errors of [`FrameData::check`]; [`Error::NotInFrame0`] for a quantity that frame 0 does
    /// not have; an error for a name or text that the file cannot hold. Then nothing of the frame
    /// is written. After an error of the [sink](Sink), call this again with the same frame,
    /// otherwise it returns [`Error::OtherFrame`].
    pub fn append(&mut self, frame: &FrameData) -> Result<u64, W::Error> {
        let items = self.items(frame)?;
        let mut is_begun = self.begun.iter();
        for (done, item) in items.iter().enumerate() {
            if let Some((name, crc)) = is_begun.next() {
                if **name != *item.name() || *crc != item.checksum() {
                    let frame = self.file.frames();
                    return Err(self.error(Error::OtherFrame { frame }));
                }
                continue;
            }
            let Raw { name, kind, m, bytes } = item.raw();
            if let Err(error) = self.file.write_chunk(name, kind, m, &bytes) {
                let done = items.iter().take(done);
                self.begun = done.map(|item| (item.name().into(), item.checksum())).collect();
                return Err(error);
            }
        }
        if is_begun.next().is_some() {
            let frame = self.file.frames();
            return Err(self.error(Error::OtherFrame { frame })); // what is begun has more
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
        if self.start.first.is_none() {
            self.start.first = Some(First::of(items));
        }
        Ok(number)
    }

    /// Makes all frames part of the file, with the durability of the sink.
    ///
    /// # Errors
    /// The errors of [`Sink::commit`].
    pub fn commit(&mut self) -> Result<(), W::Error> {
        self.file.commit()
    }

    /// Commits for the last time and cuts the file after its last chunk.
    ///
    /// # Errors
    /// The errors of [`Sink::close`].
    pub fn close(&mut self) -> Result<(), W::Error> {
        self.file.close()
    }

    /// Removes all frames.
    ///
    /// # Errors
    /// The errors of [`Sink::truncate`].
    pub fn truncate(&mut self) -> Result<(), W::Error> {
        self.file.truncate()?;
        self.start.first = None;
        self.begun.clear();
        Ok(())
    }

    fn error(&self, fault: impl Into<Fault>) -> W::Error {
        self.file.error(fault.into())
    }

    /// The chunks that the frame needs, after a check that all can be written.
    fn items<'a>(&self, frame: &'a FrameData) -> Result<Vec<Item<'a>>, W::Error> {
        frame.check().map_err(|error| self.error(error))?;
        let mut items = Vec::new();
        let mut step = None;
        for (field, value) in frame.values() {
            if field.name == schema::STEP.name {
                step = Some(value.clone());
            }
            if self.needs(field, &value) {
                // Rounded, it may be frame 0's.
                let value = value.of_precision(self.start.precision);
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
            let step = step.unwrap_or(Value::integers(&[0_u64]));
            items.push(Item::Value(&schema::STEP, step));
        }
        Ok(items)
    }

    /// The value of a field in frame 0.
    fn first_value(&self, field: &Field) -> Option<&Value<'static>> {
        let first = self.start.first.as_ref()?;
        first.values.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value)
    }

    /// Whether readers would get another value if this one were left out.
    fn needs(&self, field: &Field, value: &Value<'_>) -> bool {
        match self.first_value(field) {
            Some(first) => !first.is_same(value),
            None => !value.is_default(field),
        }
    }

    /// Checks that the file can hold a quantity, before anything of its frame is written.
    fn check_log(&self, name: &[u8], quantity: &Quantity) -> Result<(), W::Error> {
        if self
            .start
            .first
            .as_ref()
            .is_some_and(|first| !first.logs.iter().any(|log| **log == *name))
        {
            return Err(self.error(Error::NotInFrame0 { name: name.into() }));
        }
        let (version, frame) = (self.file.version(), self.file.frames());
        let long = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let kind = quantity.values.kind();
        let error = if let Some(at) = name.iter().position(|&byte| byte == 0) {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            gsd::Error::BadName(BadName::Nul { at })
        } else if !version.is_sorted() && long > SLOT {
            gsd::Error::BadName(BadName::Long { len: long, max: SLOT })
        } else if !version.is_sorted() && kind == ChunkType::Character {
            gsd::Error::Layer { gsd_version: version.number(), kind: Some(kind) }
        } else {
            return Ok(());
        };
        Err(self.error(Fault::Chunk { frame, name: name.into(), error }))
    }
}

/// The longest name in bytes in a file of layer 1.
const SLOT: u32 = 63;

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

    fn read<F: Source>(frame: &Frame<'_, F>) -> Result<Self, F::Error> {
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

impl<F: Source> Frame<'_, F> {
    /// The value of a field, in the form that the writer compares.
    fn value(&self, field: &Field) -> Result<Value<'static>, F::Error> {
        Ok(match field.kind {
            Kind::U8 => Value::integers(&self.numbers::<u8>(field)?).into_owned(),
            Kind::U32 => Value::integers(&self.numbers::<u32>(field)?).into_owned(),
            Kind::U64 => Value::integers(&self.numbers::<u64>(field)?).into_owned(),
            Kind::I32 => Value::integers(&self.numbers::<i32>(field)?).into_owned(),
            Kind::Tag => Value::integers(&self.tags(field)?).into_owned(),
            Kind::Text => Value::Texts(Cow::Owned(self.texts(field)?)),
            Kind::Float | Kind::F64 => Value::Floats(Cow::Owned(self.floats(field)?)),
        })
    }
}

/// A chunk in the form in which it is written.
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
                let m = if let Values::Text(_) = values { 1 } else { *m };
                Raw { name, kind: values.kind(), m, bytes: values.bytes() }
            }
        }
    }

    /// A checksum of its type, columns and bytes, to compare it with another chunk of the same
    /// name.
    fn checksum(&self) -> u32 {
        let Raw { kind, m, bytes, .. } = self.raw();
        let crc = crc32c(0, &bytes);
        let crc = crc32c(crc, &m.to_le_bytes());
        crc32c(crc, &[kind.number()])
    }
}
