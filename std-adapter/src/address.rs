//! Addresses of streams, chunks, samples and variables in a file, as text.
//!
//! | format | address | meaning |
//! |---|---|---|
//! | SIONlib | `task/3` | the stream of task 3 |
//! | | `task/3/chunk/1` | chunk 1 of it |
//! | | `task/3/key/7` | the value of key 7 in it: all of its records |
//! | | `rank/42`, `rank/42/chunk/1`, `rank/42/key/7` | as above, of the task with global rank 42 |
//! | GSD | `frame/9/particles/position` | the chunk `particles/position` of frame 9 |
//! | ffrecord | `sample/7` | sample 7 |
//! | netCDF | `variable/T` | the variable `T` |
//!
//! Numbers of tasks, frames and samples count from 0; negative numbers count from the end: `-1` is
//! the last one. The number after `rank/` is the global rank itself, which may be negative. Chunks
//! count from 0, and keys are numbers of at least 0.
//!
//! The name of a GSD chunk is the whole rest after `frame/9/`, including slashes, and the name of a
//! variable that after `variable/`. An address is
//! written with ASCII letters, ASCII digits and `/ . _ - + , : @ =` only, so that a shell needs no
//! quotes. Other bytes of a name, also `%` and space, are written as `%` and two hexadecimal
//! digits. Parsing also accepts these bytes as they are, except for `%`.
//!
//! A [`Pattern`] stands for several addresses: `task/[0-9]*`, `frame/*/particles/*`.

mod pattern;

pub use pattern::{Pattern, Selection};

use crate::formats::Format;
use crate::shown::Shown;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::LazyLock;
use striae_core::texts;

/// The address of one stream, chunk or sample. The [module](self) describes its text.
///
/// ```
/// use striae::address::{Address, Index};
///
/// let address: Address = "frame/-1/log/my%20value".parse()?;
/// assert_eq!(address, Address::Chunk(Index::END, b"log/my value"[..].into()));
/// assert_eq!(address.to_string(), "frame/-1/log/my%20value");
/// # Ok::<(), striae::address::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `task/N`: a task of a SIONlib set, or a part of it.
    Task(Index, Part),
    /// `rank/R`: the task that has this global rank, or a part of it.
    Rank(i64, Part),
    /// `frame/N/NAME`: a chunk of a GSD file.
    Chunk(Index, Box<[u8]>),
    /// `sample/N`: a sample of an ffrecord file.
    Sample(Index),
    /// `variable/NAME`: a variable of a netCDF file.
    Variable(Box<str>),
}

/// The addressed part of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Its whole stream.
    All,
    /// `chunk/C`: one chunk.
    Chunk(u64),
    /// `key/K`: the value of one key.
    Key(u64),
}

/// The number of a task, frame or sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// Counted from 0.
    FromStart(u64),
    /// Counted from the end: 1 is the last one.
    FromEnd(NonZeroU64),
}

impl Index {
    /// The last one.
    pub const END: Self = Self::FromEnd(NonZeroU64::MIN);

    /// The number from the start, if it is less than `count`.
    #[must_use]
    pub fn of(self, count: u64) -> Option<u64> {
        match self {
            Self::FromStart(n) => Some(n).filter(|&n| n < count),
            Self::FromEnd(n) => count.checked_sub(n.get()),
        }
    }
}

texts! {
    /// Why a text is not an address, or why an address does not fit a file.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Error;

    /// The text is not an address.
    Form {
        /// The text.
        text: String,
        /// The required form.
        must: &'static str,
    } => "{}: must be {must}", Shown::new(text);
    /// The address belongs to another format.
    NotOf {
        /// The address.
        address: String,
        /// The format of the file.
        format: Format,
    } =>
        "{}: addresses in {} are {}", Shown::new(address), format.a_file(), format.addresses();
    /// The number in the address is too large for the file.
    OutOfRange {
        /// The address.
        address: String,
        /// The format of the file.
        format: Format,
        /// Number of tasks, frames or samples in the file.
        count: u64,
    } => |f| {
        let (address, thing) = (Shown::new(address), format.thing());
        match count.checked_sub(1) {
            None => write!(f, "{address}: the file has no {thing}s"),
            Some(0) => write!(f, "{address}: the file has 1 {thing}, 0"),
            Some(last) => write!(f, "{address}: the file has {count} {thing}s, 0 to {last}"),
        }
    };
    /// Nothing in the file has this address or matches this pattern.
    NoMatch {
        /// The address or the pattern.
        pattern: String,
        /// The format of the file.
        format: Format,
    } =>
        "{}: nothing has such an address; addresses in {} are {}",
        Shown::new(pattern), format.a_file(), format.addresses();
}

impl std::error::Error for Error {}

impl Address {
    /// The format that the address belongs to.
    #[must_use]
    pub const fn format(&self) -> Format {
        match self {
            Self::Task(..) | Self::Rank(..) => Format::Sion,
            Self::Chunk(..) => Format::Gsd,
            Self::Sample(_) => Format::Ffrecord,
            Self::Variable(_) => Format::Cdf,
        }
    }

    /// Returns the address with its number counted from the start, for a file of `format` with
    /// `count` tasks, frames or samples. A rank stays as it is.
    ///
    /// # Errors
    /// [`Error::NotOf`], [`Error::OutOfRange`].
    pub fn resolve(&self, format: Format, count: u64) -> Result<Self, Error> {
        if self.format().addresses() != format.addresses() {
            return Err(Error::NotOf { address: self.to_string(), format });
        }
        let at = |index: Index| {
            let out = || Error::OutOfRange { address: self.to_string(), format, count };
            index.of(count).map(Index::FromStart).ok_or_else(out)
        };
        Ok(match self {
            Self::Task(index, part) => Self::Task(at(*index)?, *part),
            Self::Rank(rank, part) => Self::Rank(*rank, *part),
            Self::Chunk(index, name) => Self::Chunk(at(*index)?, name.clone()),
            Self::Sample(index) => Self::Sample(at(*index)?),
            Self::Variable(name) => Self::Variable(name.clone()),
        })
    }

    /// Whether this is the address of a part of a task.
    const fn is_part(&self) -> bool {
        matches!(self, Self::Task(_, part) | Self::Rank(_, part) if !matches!(part, Part::All))
    }

    /// Whether this is the address of a chunk of a task.
    const fn is_chunk_of_task(&self) -> bool {
        matches!(self, Self::Task(_, Part::Chunk(_)) | Self::Rank(_, Part::Chunk(_)))
    }

    /// The address of a task.
    #[must_use]
    pub const fn task(task: u64) -> Self {
        Self::Task(Index::FromStart(task), Part::All)
    }

    /// The address of a chunk of a GSD file.
    #[must_use]
    pub fn chunk(frame: u64, name: impl Into<Box<[u8]>>) -> Self {
        Self::Chunk(Index::FromStart(frame), name.into())
    }

    /// The address of a sample of an ffrecord file.
    #[must_use]
    pub const fn sample(sample: u64) -> Self {
        Self::Sample(Index::FromStart(sample))
    }

    /// The address of a variable of a netCDF file.
    #[must_use]
    pub fn variable(name: impl Into<Box<str>>) -> Self {
        Self::Variable(name.into())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(index, part) => write!(f, "task/{index}{part}"),
            Self::Rank(rank, part) => write!(f, "rank/{rank}{part}"),
            Self::Chunk(index, name) => write!(f, "frame/{index}/{}", Encoded(name)),
            Self::Sample(index) => write!(f, "sample/{index}"),
            Self::Variable(name) => write!(f, "variable/{}", Encoded(name.as_bytes())),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Chunk(chunk) => write!(f, "/chunk/{chunk}"),
            Self::Key(key) => write!(f, "/key/{key}"),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromStart(n) => n.fmt(f),
            Self::FromEnd(n) => write!(f, "-{n}"),
        }
    }
}

/// Displays a name in the encoding of addresses.
#[derive(Debug, Clone, Copy)]
pub struct Encoded<'a>(pub &'a [u8]);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.iter().try_for_each(|&byte| match byte {
            plain if is_plain(plain) => f.write_char(plain.into()),
            other => write!(f, "%{other:02X}"),
        })
    }
}

/// Whether a byte has no special meaning in a shell, in a pattern and on a terminal.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b',' | b':' | b'@' | b'=')
}

/// Decodes a name; `None` if a `%` is not followed by two hexadecimal digits.
fn decode(text: &str) -> Option<Box<[u8]>> {
    let mut name = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    let digit = |bytes: &mut std::str::Bytes<'_>| char::from(bytes.next()?).to_digit(16);
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let (high, low) = (digit(&mut bytes)?, digit(&mut bytes)?);
                u8::try_from(high << 4 | low).ok()?
            }
            plain => plain,
        });
    }
    Some(name.into())
}

/// Parses a number that consists of digits only.
fn number<T: FromStr>(digits: &str) -> Option<T> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

impl FromStr for Index {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let index = match text.strip_prefix('-') {
            Some(digits) => number(digits).map(Self::FromEnd),
            None => number(text).map(Self::FromStart),
        };
        let must = "a number: from 0 on, or -1 for the last and so on";
        index.ok_or_else(|| Error::Form { text: text.to_owned(), must })
    }
}

/// The shortest form of each kind of address.
static KINDS: LazyLock<String> = LazyLock::new(|| {
    let kinds = Format::ALL.into_iter().flat_map(|format| format.row().kinds);
    let mut kinds: Vec<_> = kinds.filter_map(|(_, must)| must.split(',').next()).collect();
    kinds.dedup();
    let last = kinds.pop().unwrap_or_default();
    format!("{} or {last}", kinds.join(", "))
});

/// The format whose addresses start with this word, and what such an address must be.
fn format_of(kind: &str) -> Option<(Format, &'static str)> {
    let of = |format: Format| format.row().kinds.iter().find(|(word, _)| *word == kind);
    Format::ALL.into_iter().find_map(|format| Some((format, of(format)?.1)))
}

/// Parses the text after the number of a task.
fn part(text: &str) -> Option<Part> {
    match text.split_once('/') {
        None if text.is_empty() => Some(Part::All),
        Some(("chunk", chunk)) => number(chunk).map(Part::Chunk),
        Some(("key", key)) => number(key).map(Part::Key),
        _ => None,
    }
}

/// Parses the number of a task or its rank, and the part of the task.
fn with_part<T: FromStr>(text: &str) -> Option<(T, Part)> {
    match text.split_once('/') {
        None => Some((text.parse().ok()?, Part::All)),
        Some((_, "")) => None,
        Some((number, rest)) => Some((number.parse().ok()?, part(rest)?)),
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (kind, rest) = text.split_once('/').unwrap_or((text, ""));
        let form = |must| Error::Form { text: text.to_owned(), must };
        let (format, must) = format_of(kind).ok_or_else(|| form(&KINDS))?;
        let address = match format {
            Format::Sion if kind == "rank" => with_part(rest)
                .filter(|_| !rest.starts_with('+'))
                .map(|(rank, part)| Self::Rank(rank, part)),
            Format::Sion => with_part(rest).map(|(index, part)| Self::Task(index, part)),
            Format::Gsd => rest
                .split_once('/')
                .and_then(|(index, name)| Some(Self::Chunk(index.parse().ok()?, decode(name)?))),
            Format::Ffrecord => rest.parse().ok().map(Self::Sample),
            Format::Cdf | Format::Blob => decode(rest)
                .and_then(|name| String::from_utf8(name.into()).ok())
                .map(Self::variable),
            Format::Map => None,
        };
        address.ok_or_else(|| form(must))
    }
}
