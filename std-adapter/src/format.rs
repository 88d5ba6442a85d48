//! Which format a file has, found from its first bytes, or from what its tables say of each other.

use crate::error::{Error, ErrorKind};
use crate::ffrecord::is_ffrecord;
use crate::posix::{Pin, PosixFile};
use crate::sion::siblings::copy_if_lost;
use std::fmt;
use std::path::Path;
use striae_core::gsd;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_inspect::finding::is_mostly;

/// What can be done with a file, by the words of the program's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Say in words what it is.
    Info,
    /// List what is in it.
    Ls,
    /// Print every field of its metadata.
    Dump,
    /// Write one thing in it to standard output.
    Cat,
    /// Write each thing in it into a file of its own.
    Extract,
    /// Write it anew.
    Convert,
    /// Save in a new file what is left of it.
    Recover,
    /// Check it.
    Verify,
    /// Draw whose bytes are where.
    Map,
    /// Add to one thing in it.
    Append,
    /// Make one of many files.
    Pack,
}

/// What is known of a format before a file is opened.
struct Row {
    /// In output for programs.
    name: &'static str,
    /// In words.
    display: &'static str,
    /// With its article, in words.
    a_file: &'static str,
    /// What names of files end in, without the dot.
    ending: &'static str,
    /// What files start with; nothing if there is no magic.
    magic: &'static [u8],
    verbs: &'static [Verb],
    /// What is counted in them.
    thing: &'static str,
    /// How what is in them is addressed.
    addresses: &'static str,
}

/// Makes [`Format`] of its table: a row a format, and each row has all fields.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident { $($field:ident: $value:expr),+ $(,)? })+) => {
        /// A format of files.
        ///
        /// Not `non_exhaustive`: whoever does something for each format must see when there is one
        /// more.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $variant,)+
        }

        impl Format {
            /// All that can be told apart.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$variant => &Row { $($field: $value),+ },)+
                }
            }
        }
    };
}

const GSD_MAGIC: [u8; 8] = gsd::raw::Header::MAGIC.to_le_bytes();

formats! {
    /// SIONlib: a set of physical files; each starts with `sion`.
    Sion {
        name: "sion",
        display: "SIONlib",
        a_file: "a SIONlib file",
        ending: "sion",
        magic: b"sion",
        verbs: &[
            Verb::Info, Verb::Ls, Verb::Dump, Verb::Cat, Verb::Extract, Verb::Convert,
            Verb::Recover, Verb::Verify, Verb::Map, Verb::Append, Verb::Pack,
        ],
        thing: "task",
        addresses: "task/N, task/N/chunk/C and task/N/key/K, and rank/R in place of task/N",
    }
    /// GSD: starts with `df 65` four times.
    Gsd {
        name: "gsd",
        display: "GSD",
        a_file: "a GSD file",
        ending: "gsd",
        magic: &GSD_MAGIC,
        verbs: &[
            Verb::Info, Verb::Ls, Verb::Dump, Verb::Cat, Verb::Extract, Verb::Convert,
            Verb::Recover, Verb::Verify, Verb::Map,
        ],
        thing: "frame",
        addresses: "frame/N/NAME",
    }
    /// ffrecord: starts with a checksum, so that it is known by its name or by its tables.
    Ffrecord {
        name: "ffrecord",
        display: "ffrecord",
        a_file: "an ffrecord file",
        ending: "ffr",
        magic: b"",
        verbs: &[
            Verb::Info, Verb::Ls, Verb::Dump, Verb::Cat, Verb::Extract, Verb::Verify, Verb::Map,
            Verb::Pack,
        ],
        thing: "sample",
        addresses: "sample/N",
    }
}

impl Format {
    /// Bytes that tell.
    pub const LEN: usize = 8;

    /// The format of the file at `path`. A file whose first bytes are damaged has the format that
    /// most of them belong to.
    ///
    /// # Errors
    /// [`ErrorKind::NoFormat`] if it has none of them; the operating system's.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        Self::of_open(path, &file)
    }

    /// The format of an open file.
    fn of_open(path: &Path, file: &PosixFile) -> Result<Self, Error> {
        let at = |kind| Error::new(path, kind);
        let mut start = [0; Self::LEN];
        let mut len = 0;
        while let Some(rest) = start.get_mut(len..).filter(|rest| !rest.is_empty()) {
            let offset = usize_to_u64(len);
            match file.read_at(offset, rest).map_err(|error| at(error.into()))? {
                0 => break,
                n => len = len.saturating_add(n),
            }
        }
        let bytes = start.get(..len).unwrap_or_default();
        if let Some(format) = Self::of_bytes(bytes) {
            return Ok(format);
        }
        // ffrecord asks for this name.
        if path.extension().is_some_and(|ending| ending == Self::Ffrecord.ending()) {
            return Ok(Self::Ffrecord);
        }
        // Last, since it looks at more than what a file starts with.
        match is_ffrecord(file).map_err(|error| at(error.into()))? {
            true => Ok(Self::Ffrecord),
            false => Err(at(ErrorKind::NoFormat { start: bytes.into() })),
        }
    }

    /// The format of a file that starts with `bytes`, of which the first [`Format::LEN`] count, if
    /// they tell.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|format| is_mostly(format.magic(), bytes))
    }

    /// The format that a name promises by its ending, in whatever case: `.sion`, `.gsd`, `.ffr`.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let numbered = path.extension()?;
        // NAME.000001 is a later file of the set NAME.
        let is_number =
            numbered.len() == 6 && numbered.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let ending = match is_number {
            true => Path::new(path.file_stem()?).extension()?,
            false => numbered,
        };
        Self::ALL.into_iter().find(|format| ending.eq_ignore_ascii_case(format.ending()))
    }

    /// What names of its files end in, as its own programs have it, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        self.row().ending
    }

    /// What its files start with; nothing if they have no magic.
    #[must_use]
    pub const fn magic(self) -> &'static [u8] {
        self.row().magic
    }

    /// Its name in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// A file of it in words, with the article.
    #[must_use]
    pub const fn a_file(self) -> &'static str {
        self.row().a_file
    }

    /// What is counted in its files: task, frame, sample.
    #[must_use]
    pub const fn thing(self) -> &'static str {
        self.row().thing
    }

    /// How what is in its files is [addressed](crate::address), in words.
    #[must_use]
    pub const fn addresses(self) -> &'static str {
        self.row().addresses
    }

    /// Whether this can be done with its files.
    #[must_use]
    pub fn supports(self, verb: Verb) -> bool {
        self.row().verbs.contains(&verb)
    }
}

/// A file whose format was found.
///
/// While this lives, whatever this crate opens by this path is this file, or an error: another file
/// that got the name meanwhile is not taken for it. That holds for functions that open a path
/// several times, too. It is meant for programs that do one thing with one file.
#[derive(Debug)]
pub struct Recognized {
    format: Format,
    /// Another file cannot have its inode's number as long as it is open.
    _pin: Pin,
}

impl Recognized {
    /// Finds the format of the file at `path`, as [`Format::of_file`] does. If the file is the lost
    /// first file of a SIONlib set, its copy in a buddy set is recognized in its place.
    ///
    /// # Errors
    /// As [`Format::of_file`].
    pub fn new(path: &Path) -> Result<Self, Error> {
        let copy = copy_if_lost(path, 0);
        let path = copy.as_deref().unwrap_or(path);
        let pin = Pin::new(path).map_err(|error| Error::new(path, error))?;
        Ok(Self { format: Format::of_open(path, pin.file())?, _pin: pin })
    }

    /// Its format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().display)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_byte_does_not_hide_a_format_and_foreign_bytes_have_none() {
        for format in [Format::Sion, Format::Gsd] {
            assert_eq!(Format::of_bytes(format.magic()), Some(format));
            for place in 0..format.magic().len() {
                let mut bytes = [format.magic(), b"more"].concat();
                bytes[place] ^= 0x80;
                assert_eq!(Format::of_bytes(&bytes), Some(format), "byte {place} of {format}");
            }
        }
        let swapped = [0x65, 0xdf].repeat(4);
        for foreign in
            [&b""[..], b"s", b"df65df65", b"root:x:0", &[0; 8], b"\x89HDF\r\n\x1a\n", &swapped]
        {
            assert_eq!(Format::of_bytes(foreign), None, "{foreign:?}");
        }
    }
}
