//! Extracting to a folder: what all formats do in the same way.

use super::{Options, Output};
use crate::address::Pattern;
use crate::error::{Error, ErrorKind};
use crate::publish::{Folder, check_free};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use crate::publish::final_path;

/// The result of an extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// Number of files made.
    pub files: u64,
    /// Number of bytes of streams, samples, chunks or variables in them.
    pub bytes: u64,
}

/// Addresses of what is extracted, and the options `H` of a format.
#[derive(Debug, Clone, Default)]
pub struct Selected<H> {
    pub(crate) addresses: Vec<Pattern>,
    pub(crate) how: H,
}

impl<H> Options<Selected<H>> {
    /// Extracts what these addresses select. All calls together make the selection.
    #[must_use]
    pub fn select(mut self, addresses: impl IntoIterator<Item = Pattern>) -> Self {
        self.how.addresses.extend(addresses);
        self
    }

    /// Makes what was chosen of a file in the folder `dir`: `make` writes the new files to a hidden
    /// folder, with calls of the callback for each copied piece.
    pub(crate) fn fill_folder<T>(
        &self,
        chosen: Chosen<'_, T>,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
        make: impl FnOnce(T, &Path, &(dyn Fn(u64) + Sync)) -> Result<(), Error>,
    ) -> Result<Extracted, Error> {
        let Chosen { parts, names, sources, room } = chosen;
        Output::has_room_in(dir, room)?;
        let (bytes, force) = (AtomicU64::new(0), self.output.force);
        let count = |n| {
            bytes.fetch_add(n, Ordering::Relaxed);
            progress(n);
        };
        let check = || if force { Ok(()) } else { names.check(dir) };
        let folder = Folder::new(dir, force, check)?;
        make(parts, folder.hidden(), &count)?;
        let files = folder.finish(sources, force)?;
        Ok(Extracted { files, bytes: bytes.into_inner() })
    }
}

/// Refuses a folder with a file that would be taken for a part of what is extracted, whatever
/// `--force` says: it would not be replaced.
pub(crate) fn refuse_strays(dir: &Path, is_stray: impl Fn(&str) -> bool) -> Result<(), Error> {
    let at = |error| Error::new(dir, error);
    if !dir.is_dir() {
        return Ok(()); // it is made, or that is refused
    }
    for entry in fs::read_dir(dir).map_err(at)? {
        let name = entry.map_err(at)?.file_name();
        if name.to_str().is_some_and(&is_stray) {
            return Err(Error::new(&dir.join(name), ErrorKind::Stray));
        }
    }
    Ok(())
}

/// What is extracted of a file.
pub(crate) struct Chosen<'f, T> {
    pub(crate) parts: T,
    pub(crate) names: Names<'f>,
    /// Device and inode of each file that is read.
    pub(crate) sources: Vec<(u64, u64)>,
    /// The room that they are known to need.
    pub(crate) room: u64,
}

/// The names of the new files, which are looked up before anything is copied.
pub(crate) enum Names<'f> {
    /// These.
    These(Vec<String>),
    /// Those of which this is true: their number is only what the file claims.
    All(Box<dyn Fn(&str) -> bool + 'f>),
    /// They are not known before the file is read.
    Later,
}

impl Names<'_> {
    /// Refuses names that are taken.
    fn check(&self, dir: &Path) -> Result<(), Error> {
        let at = |error| Error::new(dir, error);
        match self {
            Self::These(names) => {
                names.iter().try_for_each(|name| check_free(&dir.join(name), false))
            }
            Self::All(is_ours) => fs::read_dir(dir).map_err(at)?.try_for_each(|entry| {
                let name = entry.map_err(at)?.file_name();
                match name.to_str().is_some_and(is_ours) {
                    true => Err(Error::new(&dir.join(name), ErrorKind::Exists)),
                    false => Ok(()),
                }
            }),
            Self::Later => Ok(()),
        }
    }
}
