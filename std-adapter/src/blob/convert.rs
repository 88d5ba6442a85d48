//! Makes the canonical file of a set.

use super::error::ErrorKind;
use super::read::{MOST_TASKS, fill_with};
use super::set::{Scratch, Set, Task};
use crate::each::for_each;
use crate::error::Error;
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

/// Bytes of the canonical file that are made at once if it does not matter.
const CACHED: usize = 1 << 21;

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

    /// Sets the value of elements that no subfile has, as text. Default: the fill value of the
    /// variable.
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
    /// [`Exists`](crate::error::ErrorKind::Exists) if `out` is there already; [`ErrorKind::Value`]
    /// if the fill value is none of the type of a variable; the operating system's.
    pub fn run(
        &self,
        set: &Set,
        out: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Converted, Error> {
        let mut fills = Vec::new();
        for variable in set.header().variables() {
            let own = || Ok(set.fill_value(variable));
            let given = |text| parse_fill(text, variable.nc_type());
            let fill = self.fill.as_deref().map_or_else(own, given);
            fills.push(fill.map_err(|error| set.error(error))?);
        }
        let like = set.subfiles().next().map(|(_, path)| path);
        self.output.make(out, NonZeroU32::MIN, like.as_deref(), |publish| {
            let path = publish.hidden(0);
            let at = |error| Error::new(&path, error);
            let file = PosixFile::create(&path, false).map_err(at)?;
            file.write_all_at(0, set.header().bytes()).map_err(at)?;
            let threads = self.output.nthreads();
            let room = set.options.memory().checked_div(threads.get()).unwrap_or(0);
            // What fits into a processor's cache is made faster. It takes more turns, which cost
            // nothing if the subfiles stay open.
            let room = if set.stays_open() { room.min(CACHED) } else { room };
            let images = Images::new(set, room.max(1 << 16));
            for_each(images.map(Ok), threads, || {
                let (mut bytes, mut scratch) = (Vec::new(), Scratch::default());
                let (file, path, fills) = (&file, &path, &fills);
                move |image: Image| {
                    image.read(set, fills, &mut bytes, &mut scratch)?;
                    let written = file.write_all_at(image.span.offset(), &bytes);
                    written.map_err(|error| Error::new(path, error))?;
                    progress(image.span.len());
                    Ok(())
                }
            })?;
            let bytes = end_of(set);
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
    variable: usize,
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
    /// Makes the bytes.
    fn read(
        &self,
        set: &Set,
        fills: &[[u8; 8]],
        bytes: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        bytes.clear();
        bytes.resize(usize::try_from(self.span.len()).unwrap_or(usize::MAX), 0);
        let mut plans = Vec::new();
        for chunk in &self.chunks {
            let Some(variable) = variable(set, chunk.variable) else { continue };
            let at = self.place(chunk);
            let room = bytes.get_mut(at..).unwrap_or_default();
            let len = usize::try_from(chunk.span.len()).unwrap_or(usize::MAX);
            let room = room.get_mut(..len).unwrap_or_default();
            let fill = fills.get(chunk.variable).copied().unwrap_or_default();
            let width = variable.nc_type().size();
            fill_with(room, fill, width, ByteOrder::Big);
            let Some(decomposition) = set.decomposition(variable) else {
                let spans = |layout: Layout| {
                    let values = match layout.recsize {
                        Some(_) => layout.record(chunk.record),
                        None => Some(layout.first),
                    };
                    let part = chunk.first.checked_mul(width);
                    let span = values.and_then(|values| values.part(part?, chunk.span.len()));
                    let size = striae_core::cdf::Error::Size { begin: layout.first.offset() };
                    Ok(vec![span.ok_or(size)?])
                };
                set.read_whole(chunk.variable, &spans, ByteOrder::Big, room)?;
                continue;
            };
            let total = chunk_total(variable);
            let (start, count) = ([chunk.first], [chunk.count]);
            let region = Region { start: &start, count: &count, stride: None };
            plans.push((*chunk, set.plan(decomposition.saturating_sub(1), &[total], region)?));
        }
        let tasks = plans.iter().map(|(chunk, plan)| Task {
            plan,
            variable: chunk.variable,
            record: chunk.record,
            at: self.place(chunk),
        });
        let tasks: Vec<_> = tasks.collect();
        set.read_tasks(&tasks, ByteOrder::Big, bytes, scratch)
    }

    fn place(&self, chunk: &Chunk) -> usize {
        let skip = chunk.span.offset().saturating_sub(self.span.offset());
        usize::try_from(skip).unwrap_or(usize::MAX)
    }
}

fn variable(set: &Set, index: usize) -> Option<Variable<'_>> {
    set.header().variables().nth(index)
}

/// The values of a variable in a record.
fn chunk_total(variable: Variable<'_>) -> u64 {
    let layout = variable.layout();
    layout.first.len().checked_div(layout.value_len).unwrap_or(0)
}

/// The parts of a canonical file, from the first value to the last one.
struct Images<'a> {
    set: &'a Set,
    /// The most bytes of a part.
    room: u64,
    /// Indices of the fixed variables, then of the record variables.
    fixed: Vec<usize>,
    records: Vec<usize>,
    /// The chunk that comes next: its variable's place in the list, its record or `None` for fixed
    /// variables, and its first value.
    place: usize,
    record: Option<u64>,
    first: u64,
}

impl<'a> Images<'a> {
    fn new(set: &'a Set, room: usize) -> Self {
        let (mut fixed, mut records) = (Vec::new(), Vec::new());
        for (index, variable) in set.header().variables().enumerate() {
            if variable.is_record() { &mut records } else { &mut fixed }.push(index);
        }
        let room = usize_to_u64(room);
        Self { set, room, fixed, records, place: 0, record: None, first: 0 }
    }

    /// The next chunk of at most `room` bytes, or of one value.
    fn chunk(&self, room: u64) -> Option<Chunk> {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        let index = *list.get(self.place)?;
        let variable = variable(self.set, index)?;
        let layout = variable.layout();
        let left = chunk_total(variable).saturating_sub(self.first);
        let most = room.checked_div(layout.value_len).unwrap_or(1).max(1);
        let (count, record) = (left.min(most), self.record.unwrap_or(0));
        let values = self.record.map_or(Some(layout.first), |record| layout.record(record))?;
        let skip = self.first.checked_mul(layout.value_len)?;
        let span = values.part(skip, count.checked_mul(layout.value_len)?)?;
        Some(Chunk { variable: index, record, first: self.first, count, span })
    }

    /// Goes to the next list if the current one has ended; `false` after the last one.
    fn settle(&mut self) -> bool {
        let list = if self.record.is_some() { &self.records } else { &self.fixed };
        if self.place >= list.len() {
            let next = self.record.map_or(0, |record| record.saturating_add(1));
            (self.place, self.first, self.record) = (0, 0, Some(next));
        }
        let numrecs = if self.records.is_empty() { 0 } else { self.set.header().numrecs() };
        self.record.is_none_or(|record| record < numrecs)
    }

    fn advance(&mut self, chunk: &Chunk) {
        self.first = self.first.saturating_add(chunk.count);
        let total = variable(self.set, chunk.variable).map_or(0, chunk_total);
        if self.first >= total {
            (self.place, self.first) = (self.place.saturating_add(1), 0);
        }
    }
}

impl Iterator for Images<'_> {
    type Item = Image;

    fn next(&mut self) -> Option<Image> {
        let mut image: Option<Image> = None;
        while self.settle() {
            let used = image.as_ref().map_or(0, |image| image.span.len());
            // A variable is cut only if it is longer than the memory.
            let chunk = self.chunk(self.room)?;
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

/// A value of a type from text, in big-endian order.
///
/// # Errors
/// [`ErrorKind::Value`] if the text is no value of the type.
pub fn parse_fill(text: &str, nc_type: Type) -> Result<[u8; 8], ErrorKind> {
    let none = || ErrorKind::Value { text: text.into(), nc_type };
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
