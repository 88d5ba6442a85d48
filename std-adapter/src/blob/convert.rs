//! Makes the canonical file of a set.

mod images;

use super::set::Set;
use super::tasks::Scratch;
use crate::each::for_each;
use crate::error::blob::ErrorKind;
use crate::error::{Error, ErrorKind as AnyError};
use crate::posix::PosixFile;
use crate::verb::{Options, Output};
use images::{Image, Images};
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Range;
use std::path::Path;
use striae_core::cdf::Type;
use striae_core::cdf::layout::padded;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Variable;

/// Makes the canonical CDF-5 file of a set: the dimensions, attributes and variables of the file
/// that its writer would have made without blobs.
///
/// Each subfile is read from start to end, and the new file is written from start to end, in as
/// many turns as the [memory](super::OpenOptions::buffer) makes necessary. Elements that no subfile
/// has get the fill value of the variable.
pub type Convert = Options<How>;

/// The options that only blob files have.
#[derive(Debug, Clone, Default)]
#[expect(unnameable_types, reason = "the methods of its builder set it")]
pub struct How {
    fill: Option<Box<str>>,
}

/// What [`Convert`] has made.
#[derive(Debug, Clone, Copy)]
pub struct Converted {
    /// The length of the new file in bytes.
    pub bytes: u64,
}

impl Convert {
    /// Sets the value of elements of decomposed variables that no subfile has, as text. Default:
    /// the fill value of the variable.
    #[must_use]
    pub fn fill(mut self, fill: Option<&str>) -> Self {
        self.how.fill = fill.map(Box::from);
        self
    }

    /// Makes `out`. `progress` is told the length of each piece that was written.
    ///
    /// The values of subfiles that are missing or damaged are filled; [`Set::lost`] names them.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if a header claims more values than the
    /// subfiles justify; [`NoRoom`](crate::error::ErrorKind::NoRoom);
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
        let pieces = self.pieces(set, out)?;
        let like = set.subfiles().next().map(|(_, path)| path);
        self.output.make(out, NonZeroU32::MIN, like.as_deref(), |publish| {
            let path = publish.hidden(0);
            let file = PosixFile::create(&path, false).map_err(|error| Error::new(&path, error))?;
            pieces.begin((&file, &path))?;
            pieces.write(0..pieces.count(), (&file, &path), progress)?;
            pieces.end((&file, &path))?;
            Ok(Converted { bytes: pieces.bytes() })
        })
    }

    /// The canonical file of `set` in pieces, for callers that make the file themselves, as the
    /// ranks of a parallel program do. Only the fill value and the number of threads count, not how
    /// files are made.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for those of the new file.
    pub fn pieces<'s>(&self, set: &'s Set, out: &Path) -> Result<Pieces<'s>, Error> {
        if set.names().has(out) {
            return Err(Error::new(out, AnyError::Source));
        }
        let fill = |variable| set.fill_from(variable, self.how.fill.as_deref());
        let fills = set.header().variables().map(fill).collect::<Result<Vec<_>, _>>()?;
        let parts = set.header().variables().map(|variable| (variable, variable.len()));
        let existing = set.admit(&self.output, parts)?; // before anything is counted
        let threads = self.output.nthreads();
        let most = set.options.memory().checked_div(threads.get()).unwrap_or(0).max(1 << 16);
        let mut pieces =
            Pieces { set, fills, threads, room: set.at_once().min(most), most, count: 0, existing };
        pieces.count = usize_to_u64(pieces.images().count());
        Ok(pieces)
    }
}

/// The canonical file of a set in pieces, which can be written in any order and by many processes:
/// first [`begin`](Self::begin), once, then each piece, then [`end`](Self::end), once.
///
/// All processes that open the same set with equal options have the same pieces. A piece has whole
/// variables of a record, or as many as fit into the memory; a longer variable is cut. So almost
/// all values of the subfiles are read for one piece only.
#[derive(Debug)]
pub struct Pieces<'s> {
    set: &'s Set,
    fills: Vec<[u8; 8]>,
    threads: NonZeroUsize,
    room: usize,
    most: usize,
    count: u64,
    /// The bytes of the subfiles that exist.
    existing: u64,
}

impl Pieces<'_> {
    /// The number of pieces, which are in the order of the file and nearly equal in length.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Numbers by which pieces are cut: ranks whose numbers differ have other pieces.
    #[doc(hidden)]
    #[must_use]
    pub const fn cut(&self) -> (u64, usize, usize) {
        (self.count, self.room, self.most)
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        end_of(self.set)
    }

    /// Writes the header to a new file, and reserves room for the pieces. The path is that of
    /// errors, here and in the other methods.
    ///
    /// # Errors
    /// [`NoRoom`](crate::error::ErrorKind::NoRoom); the operating system's.
    pub fn begin(&self, (file, path): (&PosixFile, &Path)) -> Result<(), Error> {
        Output::has_room(path, self.bytes())?;
        // What is longer than the subfiles has holes.
        let room = if self.bytes() <= self.existing { self.bytes() } else { 0 };
        let made = file.preallocate_new(room);
        let made = made.and_then(|()| file.write_all_at(0, self.set.header().bytes()));
        made.map_err(|error| Error::new(path, error))
    }

    /// Writes pieces, by their numbers from 0. `progress` is told the length of each.
    ///
    /// The values of subfiles that are missing or damaged are filled; [`Set::lost`] names them.
    ///
    /// # Errors
    /// The operating system's.
    pub fn write(
        &self,
        pieces: Range<u64>,
        (file, path): (&PosixFile, &Path),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let images = self.images().skip(narrow(pieces.start));
        let images = images.take(narrow(pieces.end.saturating_sub(pieces.start)));
        for_each(images.map(Ok), self.threads, || {
            let (mut memory, mut scratch) = (Vec::new(), Scratch::default());
            move |image: Image| {
                let bytes = image.read(self.set, &mut memory, &mut scratch)?;
                // Zeros of a new file need no write.
                if bytes.iter().any(|&byte| byte != 0) {
                    let written = file.write_all_at(image.span.offset(), bytes);
                    written.map_err(|error| Error::new(path, error))?;
                }
                progress(image.span.len());
                Ok(())
            }
        })
    }

    /// Gives the file its length.
    ///
    /// # Errors
    /// The operating system's.
    pub fn end(&self, (file, path): (&PosixFile, &Path)) -> Result<(), Error> {
        file.set_size(self.bytes()).map_err(|error| Error::new(path, error))
    }

    fn images(&self) -> Images {
        Images::new(self.set, &self.fills, self.room, self.most)
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
    // A number that is too large for the type is no infinity, which is written `inf`.
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    macro_rules! of_real {
        ($T:ty) => {
            match text.parse::<$T>() {
                Ok(value) if value.is_infinite() && has_digit => Err(none()),
                value => value.map(|value| value.to_be_bytes().to_vec()).map_err(|_| none()),
            }
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
        Type::Float => of_real!(f32),
        Type::Double => of_real!(f64),
    }?;
    let mut value = [0; 8];
    value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    Ok(value)
}
