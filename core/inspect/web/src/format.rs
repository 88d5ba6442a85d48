//! The format of a file, and the files of its set.

use crate::file::{Named, Store, Wrong};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::ops::Range;
use striae_core::cdf::Version;
use striae_core::ffrecord::{Head, Reader};
use striae_core::integrity::crc32;
use striae_core::sion::Meta1;
use striae_core::sion::filename::Sibling;
use striae_core::store::ReadAt;
use striae_core::{gsd, step::DriveError};
use striae_inspect::blob::map::TEXT_MAGIC;
use striae_inspect::blob::subfile::{HDF5_MAGIC, is_blob};
use striae_inspect::finding::is_mostly;
use striae_inspect::sion;
use striae_inspect::subject::Files;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// SIONlib.
    Sion,
    /// GSD.
    Gsd,
    /// ffrecord.
    Ffrecord,
    /// Classic netCDF.
    Cdf,
    /// A subfile of an E3SM-IO blob set.
    Blob,
    /// A decomposition map as text.
    Map,
}

impl Format {
    /// Its name, as the program prints it for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sion => "sion",
            Self::Gsd => "gsd",
            Self::Ffrecord => "ffrecord",
            Self::Cdf => "cdf",
            Self::Blob => "blob",
            Self::Map => "map",
        }
    }

    /// Recognizes a file by its first bytes, its name or its tables, as the program does.
    pub(crate) fn of<S: Store>(file: &Named<S>) -> Result<Self, Wrong> {
        const GSD_MAGIC: [u8; 8] = gsd::raw::Header::MAGIC.to_le_bytes();
        let wrong = |error: S::Error| Wrong::new(&file.name, error);
        let mut start = [0; 8];
        let len = file.store.read_at(0, &mut start).map_err(wrong)?;
        let bytes = start.get(..len).unwrap_or_default();
        // An ffrecord file starts with a checksum, which may be most of another magic.
        let is_whole = bytes.starts_with(b"sion")
            || bytes == GSD_MAGIC
            || Version::ALL.iter().any(|version| bytes.starts_with(&version.magic()));
        let is_cdf = |version: Version| is_mostly(&[b'C', b'D', b'F', version.number()], bytes);
        let is_like = is_mostly(b"sion", bytes)
            || is_mostly(&GSD_MAGIC, bytes)
            || Version::ALL.into_iter().any(is_cdf);
        if is_like && !is_whole && is_ffrecord(&file.store).map_err(wrong)? {
            return Ok(Self::Ffrecord);
        } else if is_mostly(b"sion", bytes) {
            return Ok(Self::Sion);
        } else if is_mostly(&GSD_MAGIC, bytes) {
            return Ok(Self::Gsd);
        } else if Version::ALL.into_iter().any(is_cdf) {
            return Ok(if is_blob(&file.store) { Self::Blob } else { Self::Cdf });
        } else if bytes == TEXT_MAGIC {
            return Ok(Self::Map);
        } else if bytes == HDF5_MAGIC {
            return Ok(Self::Blob);
        }
        let is_named = file.name.rsplit_once('.').is_some_and(|(_, ending)| ending == "ffr");
        if is_named || is_ffrecord(&file.store).map_err(wrong)? {
            return Ok(Self::Ffrecord);
        }
        let what = "is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it";
        Err(Wrong::new(
            &file.name,
            match bytes {
                [] => format!("{what} is empty"),
                bytes => format!("{what} starts with \"{}\"", bytes.escape_ascii()),
            },
        ))
    }
}

fn is_ffrecord<S: ReadAt>(store: &S) -> Result<bool, S::Error> {
    let mut window = vec![0; 1 << 16];
    let reader = Reader::open(store, window.get_mut(..Head::LEN).unwrap_or_default());
    match reader.and_then(|reader| reader.is_consistent(&mut window, crc32)) {
        Ok(is) => Ok(is),
        Err(DriveError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// The files of a set among those that were chosen, by number.
#[derive(Debug)]
pub(crate) struct Set<'a, S> {
    /// The file that was asked about.
    pub(crate) first: &'a Named<S>,
    /// The name, to which the number is added.
    base: String,
    files: Vec<(u32, &'a Named<S>)>,
    named: Option<u32>,
}

impl<'a, S: Store> Set<'a, S> {
    /// The SIONlib set whose first file is `first`; a later file is alone.
    pub(crate) fn sion(all: &'a [Named<S>], first: &'a Named<S>) -> Self {
        let number = |file: &'a Named<S>| {
            let suffix = file.name.strip_prefix(first.name.as_str())?;
            let number = Sibling::of_name(suffix);
            (number.to_string() == suffix).then_some((number.0, file))
        };
        let files = all.iter().filter_map(number).collect();
        let named = Some(Sibling::of_name(&first.name).0);
        Self { first, base: first.name.clone(), files, named }
    }

    /// The blob set of which `first` is a subfile.
    pub(crate) fn blob(all: &'a [Named<S>], first: &'a Named<S>) -> Self {
        let base = subfile(&first.name).map_or(first.name.as_str(), |(base, _)| base);
        let number = |file: &'a Named<S>| {
            let (name, number) = subfile(&file.name)?;
            (name == base).then_some((number, file))
        };
        let mut files: Vec<_> = all.iter().filter_map(number).collect();
        files.sort_by_key(|(number, _)| *number);
        Self { first, base: base.to_string(), files, named: None }
    }

    /// How many files the SIONlib set has, whose first file has this META1.
    pub(crate) fn files_of(&self, meta1: &Meta1) -> u32 {
        let has = |numbers: Range<u32>| {
            Ok::<_, Infallible>(self.files.iter().any(|(number, _)| numbers.contains(number)))
        };
        let Ok(nfiles) = sion::files_of(meta1, self.named.unwrap_or(0), has);
        nfiles
    }

    /// The files that there are, in order.
    pub(crate) fn files(&self) -> &[(u32, &'a Named<S>)] {
        &self.files
    }

    /// The file with this number.
    pub(crate) fn file(&self, number: u32) -> Option<&'a Named<S>> {
        self.files.iter().find(|(other, _)| *other == number).map(|(_, file)| *file)
    }

    /// The name of a file of the set, whether it is there or not.
    pub(crate) fn name(&self, number: u32) -> String {
        match self.named {
            Some(_) => format!("{}{}", self.base, Sibling(number)),
            None => format!("{}.{number:04}", self.base),
        }
    }

    /// The name of the set.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }
}

impl<'a, S: Store> Files for Set<'a, S> {
    type Subject = &'a S;

    fn open(&self, number: u32) -> Result<Self::Subject, S::Error> {
        Ok(&self.file(number).unwrap_or(self.first).store)
    }

    fn there(&self) -> Result<BTreeSet<u32>, S::Error> {
        Ok(self.files.iter().map(|(number, _)| *number).collect())
    }

    fn named(&self) -> Option<u32> {
        self.named
    }
}

/// A name of a subfile: that of its set, and its number.
pub(crate) fn subfile(name: &str) -> Option<(&str, u32)> {
    let (base, digits) = name.rsplit_once('.')?;
    let is_number = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = Some(digits).filter(|_| is_number)?.parse().ok()?;
    (format!("{number:04}") == digits).then_some((base, number))
}
