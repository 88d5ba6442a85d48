//! Makes the canonical file of a set.

use super::error::ErrorKind;
use super::read::MOST_TASKS;
use super::runs;
use super::set::Set;
use super::tasks::{Scratch, Task};
use crate::each::for_each;
use crate::error::{Error, ErrorKind as AnyError};
use crate::output::Output;
use crate::posix::PosixFile;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::cdf::layout::padded;
use striae_core::cdf::{Layout, Region, Type};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Variable;

/// Makes the canonical CDF-5 file of a set: the dimensions, attributes and variables of the file
/// that its writer would have made without blobs.
///
/// Each subfile is read from start to end, and the new file is written from start to end, in as
/// many turns as the [memory](super::OpenOptions::buffer) makes necessary. Elements that no subfile
/// has get the fill value of the variable.
#[derive(Debug, Clone, Default)]
pub struct Convert {
    output: Output,
    fill: Option<Box<str>>,
}

/// What [`Convert`] has made.
#[derive(Debug, Clone, Copy)]
pub struct Converted {
    /// The length of the new file in bytes.
    pub bytes: u64,
}

impl Convert {
    /// Replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the output file is made. By default no file is replaced.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Sets the value of elements of decomposed variables that no subfile has, as text. Default:
    /// the fill value of the variable.
    #[must_use]
    pub fn fill(mut self, fill: Option<&str>) -> Self {
        self.fill = fill.map(Box::from);
        self
    }

    /// Makes `out`. `progress` is told the length of each piece that was written.
    ///
    /// The values of subfiles that are missing or damaged are filled; [`Set::lost`] names them.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) if `out` is there already;
    /// [`Source`](crate::error::ErrorKind::Source) if it is or would be a subfile of the set, even
    /// if files may be replaced; [`ErrorKind::Value`] if the fill value is none of the type of a
    /// variable; the operating system's.
    pub fn run(
        &self,
        set: &Set,
        out: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Converted, Error> {
        if set.names().has(out) {
            return Err(Error::new(out, AnyError::Source));
        }
        let fill = |variable| set.fill_from(variable, self.fill.as_deref());
        let fills = set.header().variables().map(fill).collect::<Result<Vec<_>, _>>()?;
        let like = set.subfiles().next().map(|(_, path)| path);
        self.output.make(out, NonZeroU32::MIN, like.as_deref(), |publish| {
            let path = publish.hidden(0);
            let at = |error| Error::new(&path, error);
            let file = PosixFile::create(&path, false).map_err(at)?;
            let bytes = end_of(set);
            file.preallocate_new(bytes).map_err(at)?;
            file.write_all_at(0, set.header().bytes()).map_err(at)?;
            let threads = self.output.nthreads();
            let most = set.options.memory().checked_div(threads.get()).unwrap_or(0).max(1 << 16);
            let images = Images::new(set, &fills, set.at_once().min(most), most);
            for_each(images.map(Ok), threads, || {
                let (mut memory, mut scratch) = (Vec::new(), Scratch::default());
                let (file, path) = (&file, &path);
                move |image: Image| {
                    let bytes = image.read(set, &mut memory, &mut scratch)?;
                    let written = file.write_all_at(image.span.offset(), bytes);
                    written.map_err(|error| Error::new(path, error))?;
                    progress(image.span.len());
                    Ok(())
                }
            })?;
            file.set_size(bytes).map_err(at)?;
            Ok(Converted { bytes })
        })
    }
}

/// The end of the canonical file: that of the last record, or of the last variable with padding.
fn end_of(set: &Set) -> u64 {
    let header = set.header();
    let mut end = usize_to_u64(header.bytes().len());
    let records = header.variables().filter(|variable| variable.is_record());
    if let Some(begin) = records.map(Variable::begin).min().filter(|_| header.numrecs() > 0) {
        let records = header.numrecs().saturating_mul(header.head().recsize);
        end = end.max(begin.saturating_add(records));
    }
    for variable in header.variables().filter(|variable| !variable.is_record()) {
        let len = padded(variable.layout().first.len()).unwrap_or(u64::MAX);
        end = end.max(variable.begin().saturating_add(len));
    }
    end
}

/// Some values of a record of a variable, or of a variable without records.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    kind: Kind,
    record: u64,
    /// The first value in the record, and the number of values.
    first: u64,
    count: u64,
    /// Their place in the canonical file.
    span: Span,
}

/// A part of the canonical file that is made in memory.
#[derive(Debug)]
struct Image {
    span: Span,
    chunks: Vec<Chunk>,
}

impl Image {
    /// Makes the bytes, in memory that is used again and again.
    fn read<'m>(
        &self,
        set: &Set,
        memory: &'m mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<&'m [u8], Error> {
        let len = usize::try_from(self.span.len()).unwrap_or(usize::MAX);
        if memory.len() < len {
            runs::resize(memory, self.span.len()).map_err(|error| set.error(error))?;
        }
        let bytes = memory.get_mut(..len).unwrap_or_default();
        let (mut plans, mut end) = (Vec::new(), 0_usize);
        for chunk in &self.chunks {
            let at = self.place(chunk);
            bytes.get_mut(end..at).unwrap_or_default().fill(0); // padding
            let len = usize::try_from(chunk.span.len()).unwrap_or(usize::MAX);
            end = at.saturating_add(len);
            let Kind { index, total, decomposition, fill, .. } = chunk.kind;
            let Some(decomposition) = decomposition else {
                let spans = |layout: Layout| {
                    let values = match layout.recsize {
                        Some(_) => layout.record(chunk.record),
                        None => Some(layout.first),
                    };
                    let part = chunk.first.checked_mul(layout.value_len);
                    let span = values.and_then(|values| values.part(part?, chunk.span.len()));
                    let size = striae_core::cdf::Error::Size { begin: layout.first.offset() };
                    Ok(vec![span.ok_or(size)?])
                };
                let room = bytes.get_mut(at..end).unwrap_or_default();
                set.read_whole(index, &spans, (ByteOrder::Big, fill), room)?;
                continue;
            };
            let (start, count) = ([chunk.first], [chunk.count]);
            let region = Region { start: &start, count: &count, stride: None };
            plans.push((*chunk, set.plan(decomposition, &[total], region)?));
        }
        let tasks = plans.iter().map(|(chunk, plan)| Task {
            plan,
            variable: chunk.kind.index,
            record: chunk.record,
            at: self.place(chunk),
            fill: chunk.kind.fill,
        });
        let tasks: Vec<_> = tasks.collect();
        set.read_tasks(&tasks, ByteOrder::Big, bytes, scratch)?;
        Ok(bytes)
    }

    fn place(&self, chunk: &Chunk) -> usize {
        let skip = chunk.span.offset().saturating_sub(self.span.offset());
        usize::try_from(skip).unwrap_or(usize::MAX)
    }
}

/// A variable of the canonical file.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Index of the variable.
    index: usize,
    layout: Layout,
    /// The values in a record.
    total: u64,
    /// Index of its decomposition.
    decomposition: Option<usize>,
    /// What elements get that no subfile has, in big-endian order.
    fill: [u8; 8],
}

impl Kind {
    /// The variables without records, and those with them.
    fn all(set: &Set, fills: &[[u8; 8]]) -> [Vec<Self>; 2] {
        let mut lists = [Vec::new(), Vec::new()];
        for ((index, variable), fill) in set.header().variables().enumerate().zip(fills) {
            let layout = variable.layout();
            let total = layout.first.len().checked_div(layout.value_len).unwrap_or(0);
            let decomposition = set.decomposition(variable).and_then(|id| id.checked_sub(1));
            let [fixed, records] = &mut lists;
            let list = if variable.is_record() { records } else { fixed };
            list.push(Self { index, layout, total, decomposition, fill: *fill });
        }
        lists
    }
}

/// The parts of a canonical file, from the first value to the last one.
struct Images {
    /// The bytes of a part: it has more only if a variable is longer.
    room: u64,
    /// The most bytes of a part. Longer variables are cut.
    most: u64,
    fixed: Vec<Kind>,
    records: Vec<Kind>,
    numrecs: u64,
    /// The chunk that comes next: its variable's place in the list, its record or `None` for fixed
    /// variables, and its first value.
    place: usize,
    record: Option<u64>,
    first: u64,
}

impl Images {
    fn new(set: &Set, fills: &[[u8; 8]], room: usize, most: usize) -> Self {
        let [fixed, records] = Kind::all(set, fills);
        let numrecs = if records.is_empty() { 0 } else { set.header().numrecs() };
        let (room, most) = (usize_to_u64(room), usize_to_u64(most));
        Self { room, most, fixed, records, numrecs, place: 0, record: None, first: 0 }
    }

    /// The next chunk.
    fn chunk(&self) -> Option<Chunk> {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        let kind = *list.get(self.place)?;
        let (layout, left) = (kind.layout, kind.total.saturating_sub(self.first));
        // All variables of a decomposition are cut at the same elements, so that they need the same
        // plans.
        let most = self.most.checked_div(8).unwrap_or(1).max(1);
        let is_long = layout.first.len() > self.most;
        let count = if is_long { left.min(most) } else { left };
        let (first, record) = (self.first, self.record.unwrap_or(0));
        let values = self.record.map_or(Some(layout.first), |record| layout.record(record))?;
        let skip = first.checked_mul(layout.value_len)?;
        let span = values.part(skip, count.checked_mul(layout.value_len)?)?;
        Some(Chunk { kind, record, first, count, span })
    }

    /// Goes to the next list if the current one has ended; `false` after the last one.
    fn settle(&mut self) -> bool {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        if self.place >= list.len() {
            let next = self.record.map_or(0, |record| record.saturating_add(1));
            (self.place, self.first, self.record) = (0, 0, Some(next));
        }
        self.record.is_none_or(|record| record < self.numrecs)
    }

    fn advance(&mut self, chunk: &Chunk) {
        self.first = self.first.saturating_add(chunk.count);
        if self.first >= chunk.kind.total {
            (self.place, self.first) = (self.place.saturating_add(1), 0);
        }
    }
}

impl Iterator for Images {
    type Item = Image;

    fn next(&mut self) -> Option<Image> {
        let mut image: Option<Image> = None;
        while self.settle() {
            let used = image.as_ref().map_or(0, |image| image.span.len());
            let chunk = self.chunk()?;
            let span = match &image {
                None => chunk.span,
                Some(image) => Span::between(image.span.offset(), chunk.span.end())?,
            };
            let is_full = image.as_ref().is_some_and(|image| image.chunks.len() >= MOST_TASKS);
            if is_full || used > 0 && span.len() > self.room {
                break;
            }
            self.advance(&chunk);
            let image = image.get_or_insert_with(|| Image { span, chunks: Vec::new() });
            image.span = span;
            image.chunks.push(chunk);
        }
        image
    }
}

impl Set {
    /// The value of elements that no subfile has, in big-endian order: `text`, if it is given and
    /// the variable is decomposed, else the [fill value](Self::fill_value).
    ///
    /// # Errors
    /// [`ErrorKind::Value`] if the text is no value of the type of the variable.
    pub fn fill_from(&self, variable: Variable<'_>, text: Option<&str>) -> Result<[u8; 8], Error> {
        match text.filter(|_| self.decomposition(variable).is_some()) {
            None => Ok(self.fill_value(variable)),
            Some(text) => parse_fill(text, variable).map_err(|error| self.error(error)),
        }
    }
}

/// A value of the type of a variable from text, in big-endian order.
fn parse_fill(text: &str, variable: Variable<'_>) -> Result<[u8; 8], ErrorKind> {
    let nc_type = variable.nc_type();
    let none = || ErrorKind::Value { name: variable.name().into(), text: text.into(), nc_type };
    macro_rules! of {
        ($T:ty) => {
            text.parse::<$T>().map(|value| value.to_be_bytes().to_vec()).map_err(|_| none())
        };
    }
    let bytes = match nc_type {
        Type::Byte => of!(i8),
        Type::Ubyte => of!(u8),
        Type::Char => match text.as_bytes() {
            &[byte] if !byte.is_ascii_digit() => Ok(vec![byte]),
            _ => of!(u8),
        },
        Type::Short => of!(i16),
        Type::Ushort => of!(u16),
        Type::Int => of!(i32),
        Type::Uint => of!(u32),
        Type::Int64 => of!(i64),
        Type::Uint64 => of!(u64),
        Type::Float => of!(f32),
        Type::Double => of!(f64),
    }?;
    let mut value = [0; 8];
    value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    Ok(value)
}
