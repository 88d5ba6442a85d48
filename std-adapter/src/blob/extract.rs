//! Extracting variables to NumPy arrays.

use super::runs;
use super::set::Set;
use super::tasks::Scratch;
use crate::cdf::extract::{Arrays, chosen, chosen_of, sum};
use crate::cdf::whole;
use crate::error::Error;
use crate::formats::Format;
use crate::verb::extract::Extracted;
use crate::verb::{Options, Selected};
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
pub type Extract = Options<Selected<How>>;

/// The options that only blob files have.
#[derive(Debug, Clone, Default)]
#[expect(unnameable_types, reason = "the methods of its builder set it")]
pub struct How {
    fill: Option<Box<str>>,
}

impl Extract {
    /// Sets the value of elements of decomposed variables that no subfile has, as text. Default:
    /// the fill value of the variable.
    #[must_use]
    pub fn fill(mut self, fill: Option<&str>) -> Self {
        self.how.how.fill = fill.map(Box::from);
        self
    }

    /// Bytes of the variables that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors of the folder.
    pub fn bytes(&self, set: &Set) -> Result<u64, Error> {
        Ok(sum(&self.chosen(set)?))
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
    pub fn run(
        &self,
        set: &Set,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let variables = self.chosen(set)?;
        set.admit(&self.output, variables.iter().map(|one| (*one, one.len())))?;
        let found = set.subfiles().filter_map(|(_, path)| fs::metadata(path).ok());
        let sources = found.map(|there| (there.dev(), there.ino())).collect();
        self.fill_folder(
            chosen_of(variables, sources),
            dir,
            progress,
            |variables, hidden, count| {
                let to = Arrays { hidden, count };
                let (mut rest, mut memory) = (variables.as_slice(), Vec::new());
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
                            self.long(set, *variable, &to)?;
                        }
                        some => self.together(set, some, &mut memory, &to)?,
                    }
                    rest = others;
                }
                Ok(())
            },
        )
    }

    /// The variables to extract.
    fn chosen<'s>(&self, set: &'s Set) -> Result<Vec<Variable<'s>>, Error> {
        chosen((set.path(), set.header(), Format::Blob), &self.how.addresses)
    }

    fn fill_of(&self, set: &Set, variable: Variable<'_>) -> Result<[u8; 8], Error> {
        set.fill_from(variable, self.how.how.fill.as_deref())
    }

    /// Extracts a variable that is longer than the memory.
    fn long(&self, set: &Set, variable: Variable<'_>, to: &Arrays<'_>) -> Result<(), Error> {
        let start = vec![0; variable.shape().len()];
        let mut array = to.create(variable)?;
        let (fill, mut written) = (self.fill_of(set, variable)?, Ok(()));
        set.read_pieces(variable, whole(variable, &start), Some(fill), &mut |bytes| {
            written = array.write(bytes);
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
        to: &Arrays<'_>,
    ) -> Result<(), Error> {
        let (mut places, mut end) = (Vec::new(), 0_usize);
        for variable in variables {
            places.push((*variable, end, self.fill_of(set, *variable)?));
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
            to.create(variable)?.write(bytes)?;
        }
        Ok(())
    }
}
