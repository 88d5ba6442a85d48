//! Pictures of files: [`striae_inspect::map`], with the holes of the file system.

pub use striae_inspect::map::{Amounts, Cell, Cells, Kind, Look, Region};

use crate::error::{Error, ErrorKind};
use crate::formats::Format;
use crate::posix::PosixFile;
use crate::sion::siblings::{files_of, of_sibling, sibling_path};
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use striae_core::blob::map::Error as MapError;
use striae_core::cdf::Error as CdfError;
use striae_core::ffrecord::Error as FfrecordError;
use striae_core::gsd::Error as GsdError;
use striae_core::sion::{Error as SionError, Meta1};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::blob::Flaw;
use striae_inspect::map::Map;
use striae_inspect::subject::read;
use striae_inspect::{blob, cdf, ffrecord, gsd, sion};

/// The size of pictures.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Cells in a row.
    pub columns: NonZeroU64,
    /// The most rows of the longest file.
    pub rows: NonZeroU64,
}

/// A picture of a file.
#[derive(Debug)]
pub struct Picture {
    /// The file.
    pub path: PathBuf,
    /// The file's length in bytes.
    pub file_len: u64,
    /// What an owner is: `task`, `frame`, `sample`.
    pub owner: &'static str,
    /// Tables with a fixed place, in order.
    pub parts: Vec<Region>,
    /// The whole file.
    pub cells: Cells,
    /// Cells in a row.
    pub columns: NonZeroU64,
    /// The reason why a part of the file is unknown, if there is one.
    pub damage: Option<Error>,
}

impl Size {
    /// Bytes of a cell, a power of two, for a file of `file_len` bytes.
    fn cell_len(self, file_len: u64) -> NonZeroU64 {
        let cells = self.columns.saturating_mul(self.rows);
        let least = file_len.div_ceil(cells.get()).checked_next_power_of_two();
        NonZeroU64::new(least.unwrap_or(1 << 63)).unwrap_or(NonZeroU64::MIN)
    }
}

/// Makes a picture of one file of this format.
///
/// # Errors
/// An error in the header; an error of the operating system. Other damage is shown in the picture.
pub fn of_file(path: &Path, format: Format, size: Size) -> Result<Picture, Error> {
    let store = open(path)?;
    let file_len = store.size().map_err(|error| Error::new(path, error))?;
    draw(path, &store, format, (size.columns, size.cell_len(file_len)))
}

/// Makes pictures of all files of the SIONlib set whose first file is at `path`, with cells of one
/// length. If `path` is a later file of a set, only this file gets a picture.
///
/// # Errors
/// As [`of_file`], for each file; [`Sibling`](crate::sion::ErrorKind::Sibling) if a file of the set
/// is missing.
pub fn of_set(path: &Path, size: Size) -> Result<Vec<Picture>, Error> {
    let nfiles = open(path).and_then(|first| {
        nfiles(&first, path).map_err(|error| Error::new(path, error)) // it may be a false claim
    })?;
    let open = |number| {
        let file = sibling_path(path, number);
        let opened = open(&file).map_err(|error| of_sibling(error, path, nfiles))?;
        Ok::<_, Error>((file, opened))
    };
    // One after another, as there may be more of them than a process may have open.
    let longest = (0..nfiles).try_fold(0, |longest, number| {
        let (file, store) = open(number)?;
        Ok::<_, Error>(store.size().map_err(|error| Error::new(&file, error))?.max(longest))
    })?;
    let cells = (size.columns, size.cell_len(longest));
    let draw = |number| {
        let (file, store) = open(number)?;
        draw(&file, &store, Format::Sion, cells)
    };
    (0..nfiles).map(draw).collect()
}

fn open(path: &Path) -> Result<PosixFile, Error> {
    PosixFile::open(path).map_err(|error| Error::new(path, error))
}

/// Number of files of the set whose first file is `store`.
fn nfiles(store: &PosixFile, path: &Path) -> Result<u32, ErrorKind> {
    let file_len = store.size()?;
    let len = usize::try_from(file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
    let mut bytes = vec![0; len];
    read::<_, SionError>(store, 0, &mut bytes)?;
    // The picture shows what is wrong with it.
    let Ok(meta1) = Meta1::parse(&bytes, file_len) else { return Ok(1) };
    Ok(files_of(&meta1, path)?)
}

fn draw(
    path: &Path,
    store: &PosixFile,
    format: Format,
    cells: (NonZeroU64, NonZeroU64),
) -> Result<Picture, Error> {
    let picture = match format {
        Format::Sion => picture::<SionError>(path, sion::map(store), cells),
        Format::Gsd => picture::<GsdError>(path, gsd::map(store), cells),
        Format::Ffrecord => picture::<FfrecordError>(path, ffrecord::map(store), cells),
        Format::Cdf => picture::<CdfError>(path, cdf::map(store), cells),
        Format::Blob => picture::<Flaw>(path, blob::map(store), cells),
        Format::Map => picture::<MapError>(path, blob::map::map(store), cells),
    };
    picture.map_err(|error| Error::new(path, error))
}

fn picture<F>(
    path: &Path,
    map: Result<Map<'_, PosixFile, F>, DriveError<io::Error, F>>,
    (columns, cell_len): (NonZeroU64, NonZeroU64),
) -> Result<Picture, ErrorKind>
where
    F: Clone + std::fmt::Display,
    ErrorKind: From<F>,
{
    let mut map = map?;
    let cells = map.cells(cell_len)?;
    let damage = map.damage().map(|error| Error::new(path, error.clone()));
    let (file_len, owner, parts) = (map.file_len(), map.owner(), map.parts().to_vec());
    Ok(Picture { path: path.to_owned(), file_len, owner, parts, cells, columns, damage })
}
