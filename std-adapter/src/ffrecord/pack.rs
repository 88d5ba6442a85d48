//! Packs files into an ffrecord file; the reverse of [`Extract`](super::Extract).

use super::ErrorKind;
use super::write::{Builder, Written};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::spare;
use crate::store::Durability;
use crate::store::existing;
use crate::verb::{Options, Output, Plain};
use std::path::{Path, PathBuf};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::size::Demand;

/// The number of the sample in a file name of [`Extract`](super::Extract).
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("sample_")?;
    let is_number = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// The bytes of the tables for each sample.
const ROW: u64 = 12;

/// Options for packing files into an ffrecord file, one sample for each file.
///
/// The new file gets its name when it is complete. A replaced file is removed only after the new
/// one is on the disk.
pub type Pack = Options<Plain<super::File>>;

impl Pack {
    /// The files of a folder that [`Extract`](super::Extract) made, in the order of their samples:
    /// `sample_00000` and so on. Other files are left out.
    ///
    /// # Errors
    /// [`NoSampleFile`](super::ErrorKind::NoSampleFile) if the folder lacks the file of a sample,
    /// or has several; an error of the operating system.
    pub fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let at = |error| Error::new(folder, error);
        let mut samples = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            samples.extend(name.and_then(number_of).map(|number| (number, path)));
        }
        samples.sort_unstable(); // a folder's order is no order
        let wrong = (0..).zip(&samples).find(|(expected, (number, _))| expected != number);
        // A number that is there twice comes before the expected one.
        let missing = wrong.map(|(expected, &(number, _)): (u64, _)| expected.min(number));
        match missing.or(samples.is_empty().then_some(0)) {
            Some(number) => Err(Error::new(folder, ErrorKind::NoSampleFile { number })),
            None => Ok(samples.into_iter().map(|(_, path)| path).collect()),
        }
    }

    /// Bytes of all files; a file whose length cannot be read counts as empty.
    #[must_use]
    pub fn bytes(files: &[PathBuf]) -> u64 {
        let len = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        files.iter().map(len).fold(0, u64::saturating_add)
    }

    /// Makes the file `out` of `files`, in this order. `progress` gets the length of each copied
    /// piece.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) if `out` exists already;
    /// [`Source`](crate::error::ErrorKind::Source) if it is one of `files`;
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if most of the files are holes;
    /// [`NoRoom`](crate::error::ErrorKind::NoRoom); an error of the operating system, also for a
    /// file that is not a regular file.
    pub fn run(
        &self,
        files: &[PathBuf],
        out: &Path,
        progress: &dyn Fn(u64),
    ) -> Result<Written, Error> {
        let n = usize_to_u64(files.len());
        spare([out.to_owned()], files.iter().map(PathBuf::as_path))?;
        self.admit(files, out)?;
        let force = self.output.force;
        let durability = if force { Durability::OnCommit } else { Durability::None };
        let builder = Builder::new().samples(n).force(force).durability(durability);
        let mut writer = builder.create(out)?;
        let mut copier = self.output.copier(None);
        for path in files {
            let at = |error| Error::new(path, error);
            let file = PosixFile::open(path).map_err(at)?;
            let len = file.honest_size().map_err(at)?;
            let all = Span::new(0, len).unwrap_or(Span::ZERO); // from 0, so it ends where it can
            writer.copy_from(&mut copier, (path, &file), all, progress)?;
        }
        writer.finish()
    }

    /// Refuses files that are long and have little.
    fn admit(&self, files: &[PathBuf], out: &Path) -> Result<(), Error> {
        let size = Self::bytes(files);
        let own = usize_to_u64(files.len()).saturating_mul(ROW);
        let mut demand = Demand { size, existing: 0, own };
        if !demand.is_fair() {
            for path in files {
                let at = |error| Error::new(path, error);
                let file = PosixFile::open(path).map_err(at)?;
                demand.existing = demand.existing.saturating_add(existing(&file).map_err(at)?);
            }
        }
        let longest = files.iter().max_by_key(|file| Self::bytes(&[file.to_path_buf()]));
        let longest = longest.map_or(out, PathBuf::as_path);
        let because = format_args!("the files have lengths of {size} bytes together");
        self.output.admit(longest, &demand, because)?;
        Output::has_room(out, size)
    }
}
