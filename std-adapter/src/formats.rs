//! The formats: their names, and how their files begin.

use std::fmt;
use std::path::Path;
use striae_core::cdf::Version;
use striae_core::gsd;
use striae_inspect::finding::is_mostly;

/// The properties of a format.
pub(crate) struct Row {
    /// The name in output for programs.
    name: &'static str,
    /// The name in text.
    display: &'static str,
    /// "a NAME file" in text, with the right article.
    a_file: &'static str,
    /// "NAME files" in text.
    files: &'static str,
    /// The ending of file names, without the dot.
    ending: &'static str,
    /// The magic bytes at the start of a file; empty if there are none.
    magic: &'static [u8],
    /// What is counted in the files: task, frame, sample, variable.
    thing: &'static str,
    /// The forms of addresses, in text.
    addresses: &'static str,
    /// The first word of each kind of address, and what such an address must be.
    pub(crate) kinds: &'static [(&'static str, &'static str)],
}

/// Defines [`Format`] from a table with one row for each format.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident { $($field:ident: $value:expr),+ $(,)? })+) => {
        /// A file format.
        ///
        /// Not `non_exhaustive`: a new format must cause a compile error where each format is
        /// handled.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $variant,)+
        }

        impl Format {
            /// All formats.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            pub(crate) const fn row(self) -> &'static Row {
                match self {
                    $(Self::$variant => &Row { $($field: $value),+ },)+
                }
            }
        }
    };
}

const GSD_MAGIC: [u8; 8] = gsd::raw::Header::MAGIC.to_le_bytes();
const VARIABLE: (&str, &str) = ("variable", "variable/NAME, with %25 for a % in the name");

formats! {
    /// SIONlib: a set of physical files; each starts with `sion`.
    Sion {
        name: "sion",
        display: "SIONlib",
        a_file: "a SIONlib file",
        files: "SIONlib files",
        ending: "sion",
        magic: b"sion",
        thing: "task",
        addresses: "task/N, task/N/chunk/C and task/N/key/K, and rank/R in place of task/N",
        kinds: &[
            ("task", "task/N, task/N/chunk/C or task/N/key/K"),
            ("rank", "rank/R, rank/R/chunk/C or rank/R/key/K"),
        ],
    }
    /// GSD: starts with `df 65` four times.
    Gsd {
        name: "gsd",
        display: "GSD",
        a_file: "a GSD file",
        files: "GSD files",
        ending: "gsd",
        magic: &GSD_MAGIC,
        thing: "frame",
        addresses: "frame/N/NAME",
        kinds: &[("frame", "frame/N/NAME, with %25 for a % in the name")],
    }
    /// ffrecord: starts with a checksum, so it is recognized by its name or by its tables.
    Ffrecord {
        name: "ffrecord",
        display: "ffrecord",
        a_file: "an ffrecord file",
        files: "ffrecord files",
        ending: "ffr",
        magic: b"",
        thing: "sample",
        addresses: "sample/N",
        kinds: &[("sample", "sample/N")],
    }
    /// Classic netCDF, CDF-1, CDF-2 and CDF-5: starts with `CDF` and the version.
    Cdf {
        name: "cdf",
        display: "netCDF",
        a_file: "a netCDF file",
        files: "netCDF files",
        ending: "nc",
        magic: b"CDF",
        thing: "variable",
        addresses: "variable/NAME",
        kinds: &[VARIABLE],
    }
    /// A subfile of an E3SM-IO blob set, in CDF-5 or in HDF5: its header has the attributes of one.
    Blob {
        name: "blob",
        display: "E3SM-IO blob",
        a_file: "an E3SM-IO blob file",
        files: "E3SM-IO blob files",
        ending: "nc",
        magic: b"",
        thing: "variable",
        addresses: "variable/NAME",
        kinds: &[VARIABLE],
    }
    /// A decomposition map as text, as PIO writes it: starts with `version`. A map in netCDF is a
    /// file of [`Cdf`](Self::Cdf).
    Map {
        name: "map",
        display: "decomposition map",
        a_file: "a decomposition map",
        files: "decomposition maps",
        ending: "dat",
        magic: b"",
        thing: "decomposition",
        addresses: "none",
        kinds: &[],
    }
}

impl Format {
    /// Number of bytes at the start of a file that determine its format.
    pub const LEN: usize = 8;

    /// The format of a file that starts with `bytes`, if they determine it. Only the first
    /// [`Format::LEN`] bytes count.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let is_cdf = |version: Version| {
            let [c, d, f] = *b"CDF";
            is_mostly(&[c, d, f, version.number()], bytes)
        };
        Self::ALL.into_iter().find(|format| match format {
            Self::Cdf => Version::ALL.into_iter().any(is_cdf),
            format => is_mostly(format.magic(), bytes),
        })
    }

    /// The format that belongs to the ending of a name, in upper or lower case: `.sion`, `.gsd`,
    /// `.ffr`, `.nc`. Maps have no ending of their own: also other programs name data `.dat`.
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
        let mut own = Self::ALL.into_iter().filter(|format| *format != Self::Map);
        own.find(|format| ending.eq_ignore_ascii_case(format.ending()))
    }

    /// The usual ending of names of its files, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        self.row().ending
    }

    /// The magic bytes at the start of its files; empty if there are none.
    #[must_use]
    pub const fn magic(self) -> &'static [u8] {
        self.row().magic
    }

    /// Its name in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// A file of this format in text, with the article: "a GSD file".
    #[must_use]
    pub const fn a_file(self) -> &'static str {
        self.row().a_file
    }

    /// Files of this format in text: "GSD files".
    #[must_use]
    pub const fn files(self) -> &'static str {
        self.row().files
    }

    /// What is counted in its files: task, frame, sample, variable.
    #[must_use]
    pub const fn thing(self) -> &'static str {
        self.row().thing
    }

    /// The forms of [addresses](crate::address) in its files, in text.
    #[must_use]
    pub const fn addresses(self) -> &'static str {
        self.row().addresses
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
