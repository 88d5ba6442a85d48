//! Extracting variables to NumPy arrays.

use super::runs;
use super::set::Set;
use super::tasks::Scratch;
use crate::address::Pattern;
use crate::cdf::extract::{chosen, descr, file_name};
use crate::cdf::whole;
use crate::error::Error;
use crate::extract::{Extracted, fill};
use crate::format::Format;
use crate::gsd::npy;
use crate::output::Output;
use crate::posix::PosixFile;
use crate::publish::check_free;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Variable;

/// How to extract a set to a folder: one file `NAME.npy` for each variable, as of a netCDF file:
/// see [`cdf::Extract`](crate::cdf::Extract).
///
/// Variables that fit together into the [memory](super::OpenOptions::buffer) are read together, so
/// that each subfile is opened once for them.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    output: Output,
    addresses: Vec<Pattern>,
    fill: Option<Box<str>>,
}

impl Extract {
    /// Extracts all variables, and replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the new files are made. By default, no file is replaced.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Extracts what these addresses select. All calls together make the selection.
    #[must_use]
    pub fn select(mut self, addresses: impl IntoIterator<Item = Pattern>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// Sets the value of elements of decomposed variables that no subfile has, as text. Default:
    /// the fill value of the variable.
    #[must_use]
    pub fn fill(mut self, fill: Option<&str>) -> Self {
        self.fill = fill.map(Box::from);
        self
    }

    /// Bytes of the variables that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors of the folder.
    pub fn bytes(&self, set: &Set) -> Result<u64, Error> {
        let chosen = chosen((set.path(), set.header(), Format::Blob), &self.addresses)?;
        Ok(chosen.iter().map(|variable| variable.len()).fold(0, u64::saturating_add))
    }

    /// Extracts `set` to the folder `dir`, which is made if it does not exist. `progress` gets the
    /// length of each written piece.
    ///
    /// The values of subfiles that are missing or damaged are filled; [`Set::lost`] names them.
    ///
    /// # Errors
    /// As [`cdf::Extract::run`](crate::cdf::Extract::run);
    /// [`ErrorKind::Value`](super::ErrorKind::Value) if the fill value is none of the type of a
    /// variable.
    pub fn run(&self, set: &Set, dir: &Path, progress: &dyn Fn(u64)) -> Result<Extracted, Error> {
        let chosen = chosen((set.path(), set.header(), Format::Blob), &self.addresses)?;
        let check = || match self.output.force {
            true => Ok(()),
            false => {
                chosen.iter().try_for_each(|one| check_free(&dir.join(file_name(*one)), false))
            }
        };
        let bytes = chosen.iter().map(|variable| variable.len()).fold(0, u64::saturating_add);
        set.admit(&self.output, chosen.iter().map(|one| (*one, one.len())))?;
        Output::has_room(dir, bytes)?;
        let found = set.subfiles().filter_map(|(_, path)| fs::metadata(path).ok());
        let sources = found.map(|there| (there.dev(), there.ino()));
        let files = fill(dir, self.output.force, sources, check, |hidden| {
            let folders = Folders { hidden, dir, progress };
            let (mut rest, mut memory) = (chosen.as_slice(), Vec::new());
            while !rest.is_empty() {
                let mut room = usize_to_u64(set.at_once());
                let fits = rest.iter().take_while(|variable| {
                    let left = room.checked_sub(variable.len());
                    room = left.unwrap_or(0);
                    left.is_some()
                });
                let count = fits.count();
                let (some, others) = rest.split_at_checked(count.max(1)).unwrap_or((rest, &[]));
                match some {
                    [variable] if usize_to_u64(set.options.memory()) < variable.len() => {
                        self.long(set, *variable, &folders)?;
                    }
                    some => self.together(set, some, &mut memory, &folders)?,
                }
                rest = others;
            }
            Ok(())
        })?;
        Ok(Extracted { files, bytes })
    }

    /// Extracts a variable that is longer than the memory.
    fn long(&self, set: &Set, variable: Variable<'_>, to: &Folders<'_>) -> Result<(), Error> {
        let start = vec![0; variable.shape().len()];
        let (file, mut end) = to.create(variable)?;
        let (fill, mut written) = (set.fill_from(variable, self.fill.as_deref())?, Ok(()));
        set.read_pieces(variable, whole(variable, &start), Some(fill), &mut |bytes| {
            written = to.write(variable, &file, &mut end, bytes);
            written.is_ok()
        })?;
        written
    }

    /// Extracts variables that fit into the memory.
    fn together(
        &self,
        set: &Set,
        variables: &[Variable<'_>],
        memory: &mut Vec<u8>,
        to: &Folders<'_>,
    ) -> Result<(), Error> {
        let (mut places, mut end) = (Vec::new(), 0_usize);
        for variable in variables {
            places.push((*variable, end, set.fill_from(*variable, self.fill.as_deref())?));
            let len = usize::try_from(variable.len()).unwrap_or(usize::MAX);
            end = end.saturating_add(len);
        }
        if memory.len() < end {
            runs::resize(memory, usize_to_u64(end)).map_err(|error| set.error(error))?;
        }
        set.read_many(&places, ByteOrder::Big, memory, &mut Scratch::default())?;
        for (variable, start, _) in places {
            let len = usize::try_from(variable.len()).unwrap_or(usize::MAX);
            let bytes = memory.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default();
            let (file, mut end) = to.create(variable)?;
            to.write(variable, &file, &mut end, bytes)?;
        }
        Ok(())
    }
}

/// The folder in which files are made, and that in which they will be.
struct Folders<'a> {
    hidden: &'a Path,
    dir: &'a Path,
    progress: &'a dyn Fn(u64),
}

impl Folders<'_> {
    /// Makes the file of a variable, with its header, and returns the end of the header. Errors
    /// have the final path.
    fn create(&self, variable: Variable<'_>) -> Result<(PosixFile, u64), Error> {
        let name = file_name(variable);
        let at = |error| Error::new(&self.dir.join(&name), error);
        let file = PosixFile::create(&self.hidden.join(&name), false).map_err(at)?;
        let header = npy::header_of(descr(variable.nc_type()), variable.shape());
        file.write_all_at(0, &header).map_err(at)?;
        Ok((file, usize_to_u64(header.len())))
    }

    fn write(
        &self,
        variable: Variable<'_>,
        file: &PosixFile,
        end: &mut u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let written = file.write_all_at(*end, bytes);
        written.map_err(|error| Error::new(&self.dir.join(file_name(variable)), error))?;
        let len = usize_to_u64(bytes.len());
        *end = end.saturating_add(len);
        (self.progress)(len);
        Ok(())
    }
}
