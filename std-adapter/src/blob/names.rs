//! The names of the subfiles of a set: `NAME.0000`, `NAME.0001`, ...

use super::subfile::{Head, is_blob};
use crate::error::blob::ErrorKind;
use crate::error::{Error, ErrorKind as AnyError};
use crate::posix::PosixFile;
use crate::shown;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The fewest digits of a number, `%04d` in E3SM-IO.
const DIGITS: usize = 4;

/// The subfiles of a set that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// The path without number.
    base: PathBuf,
    /// The numbers of the subfiles, in order.
    numbers: Vec<u32>,
}

impl Names {
    /// The set with this name, or the set of which this is a subfile.
    ///
    /// A name that is a file and ends in a number is that of a subfile. This lists the folder.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        let base = match split(path) {
            Some((base, _)) if path.is_file() => base,
            _ => path.to_owned(),
        };
        let name = base.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder_of(&base))? {
            let found = entry?.file_name();
            let number = split(Path::new(&found)).filter(|(base, _)| base.as_os_str() == name);
            numbers.extend(number.map(|(_, number)| number));
        }
        numbers.sort_unstable();
        match numbers.is_empty() {
            true => {
                let first = shown::path(&Self { base, numbers }.path(0)).to_string();
                let text = format!("there is no subfile {first}, nor one of another number");
                Err(io::Error::new(io::ErrorKind::NotFound, text))
            }
            false => Ok(Self { base, numbers }),
        }
    }

    /// The set with this name, or the set of which this is a subfile. The error says what the file
    /// is if it is neither.
    pub(crate) fn of_set(path: &Path) -> Result<Self, Error> {
        Self::find(path).map_err(|error| no_set(path, error))
    }

    /// The number of a subfile, if `path` is that of a file.
    pub(crate) fn number_of(path: &Path) -> Option<u32> {
        split(path).filter(|_| path.is_file()).map(|(_, number)| number)
    }

    /// The path without number.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// The numbers of the subfiles that there are, in order.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Whether a file of this name is, or would be, a subfile of the set.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let there = std::fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
        let folder = |path: &Path| std::fs::canonicalize(folder_of(path)).ok();
        let is_named = split(path).is_some_and(|(base, _)| {
            base.file_name() == self.base.file_name() && folder(&base) == folder(&self.base)
        });
        let mut own = self.numbers.iter().filter_map(|&number| {
            std::fs::metadata(self.path(number)).ok().map(|own| (own.dev(), own.ino()))
        });
        is_named || there.is_some_and(|there| own.any(|own| own == there))
    }

    /// The path of a subfile.
    pub(crate) fn path(&self, number: u32) -> PathBuf {
        let mut path = OsString::from(&self.base);
        path.push(ending(number));
        path.into()
    }
}

/// The paths of the subfiles of the set with this name, or only `path` if it is a file.
///
/// # Errors
/// An error of the operating system; [`io::ErrorKind::NotFound`] if there is no subfile.
pub fn subfiles_of(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let path = path.as_ref();
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let names = Names::find(path).map_err(|error| Error::new(path, error))?;
    Ok(names.numbers.iter().map(|&number| names.path(number)).collect())
}

/// The first subfile of the set with this name that is one, if no file has this name. If none can
/// be read, the first that there is.
pub(crate) fn first_subfile(path: &Path) -> Option<PathBuf> {
    let names = Names::find(path).ok().filter(|_| !path.exists())?;
    let mut paths = names.numbers.iter().map(|&number| names.path(number));
    let found = paths.clone().find(|path| PosixFile::open(path).is_ok_and(|file| is_blob(&file)));
    found.or_else(|| paths.next())
}

fn ending(number: u32) -> String {
    format!(".{number:0DIGITS$}")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name without the number at its end, and the number.
fn split(path: &Path) -> Option<(PathBuf, u32)> {
    let digits = path.extension().and_then(OsStr::to_str)?;
    let is_number = digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = Some(digits).filter(|_| is_number)?.parse().ok()?;
    // What has more zeros is no subfile.
    let is_ours = ending(number).strip_prefix('.') == Some(digits);
    is_ours.then(|| (path.with_extension(""), number))
}

/// The error for a path that is neither a set nor one of its subfiles.
fn no_set(path: &Path, error: io::Error) -> Error {
    let kind: AnyError = match PosixFile::open(path) {
        Ok(file) => match Head::read(&file) {
            Ok(_) => ErrorKind::NoNumber.into(),
            Err(error) => error.into(),
        },
        Err(_) => error.into(),
    };
    Error::new(path, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_by_its_name_and_by_each_subfile() {
        let dir = tempfile::tempdir().unwrap();
        let others = ["a.nc", "a.nc.000", "a.nc.00003", "a.nc.0004x", "b.nc.0005", "a.0006"];
        for name in others.iter().chain(&["a.nc.0002", "a.nc.0000", "a.nc.10000"]) {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        for name in ["a.nc", "a.nc.0000", "a.nc.0002", "a.nc.10000"] {
            let names = Names::find(&dir.path().join(name)).unwrap();
            assert_eq!(names.base(), dir.path().join("a.nc"));
            assert_eq!(names.numbers(), [0, 2, 10000]);
            assert_eq!(names.path(2), dir.path().join("a.nc.0002"));
            for (own, is_own) in [("a.nc.0002", true), ("a.nc.0003", true), ("a.nc.000", false)] {
                assert_eq!(names.has(&dir.path().join(own)), is_own, "{own}");
            }
        }
        for name in ["c.nc", "a.nc.0003"] {
            let error = Names::find(&dir.path().join(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}");
        }
    }
}
