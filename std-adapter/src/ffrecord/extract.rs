//! Extracts every sample into its own file.

use super::crc32;
use super::file::File;
use super::pack::number_of;
use crate::address::{Address, Selection};
use crate::copy::{Copier, Place};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::verb::extract::{Chosen, Extracted, Names, final_path, refuse_strays};
use crate::verb::{Options, Plain, Selected};
use std::path::Path;
use striae_core::ffrecord::Sample;

/// Extracts all samples into a folder: `sample_00000` and so on, with as many digits as the last
/// number has, but at least five.
///
/// Samples are compared with their checksums, and so are the tables, unless samples are selected:
/// sound ones can be saved from a file with damaged tables. All files are made in a hidden folder
/// inside the target folder and renamed when all of them are complete. If anything fails, the
/// target folder stays unchanged. A kill leaves the hidden folder.
pub type Extract = Options<Selected<Plain<File>>>;

impl Extract {
    /// Extracts all samples of `file`, or those selected, into the folder `dir`, which is made if
    /// it is not there. `progress` is told the length of each piece that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already;
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if samples share bytes, or are holes, and
    /// would be larger than the file justifies; [`NoRoom`](crate::error::ErrorKind::NoRoom);
    /// [`Source`](crate::error::ErrorKind::Source) for `file` itself;
    /// [`Stray`](crate::error::ErrorKind::Stray) if all samples are extracted, and the folder
    /// has one of a larger number; [`Address`](crate::error::ErrorKind::Address); a damaged file or
    /// sample; an error of the operating system.
    pub fn run(
        &self,
        file: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let digits = file.n().saturating_sub(1).to_string().len().max(5);
        let chosen = self.choose(file, digits)?;
        if chosen.parts.is_none() {
            // Those of smaller numbers are replaced, or are in the way.
            refuse_strays(dir, |name| number_of(name).is_some_and(|number| file.n() <= number))?;
        }
        self.fill_folder(chosen, dir, progress, |chosen, hidden, count| {
            let mut copier = self.output.copier(file.bulk().options());
            for sample in file.samples_where(|number| has(chosen.as_ref(), number)) {
                let sample = sample?;
                let path = hidden.join(format!("sample_{:0digits$}", sample.number));
                extract(file, &sample, &path, &mut copier, count)?;
            }
            let checked = chosen.as_ref().map_or(Ok(()), Selection::check);
            checked.map_err(|error| Error::new(file.path(), error))
        })
    }

    /// What the addresses select.
    fn choose<'f>(
        &self,
        file: &'f File,
        digits: usize,
    ) -> Result<Chosen<'f, Option<Selection>>, Error> {
        let parts = match self.how.addresses.as_slice() {
            [] => {
                file.check_meta()?;
                None
            }
            addresses => Some(file.selection(addresses)?),
        };
        let mut bytes = 0_u64;
        for sample in file.samples_where(|number| has(parts.as_ref(), number)) {
            bytes = bytes.saturating_add(sample?.span.len());
        }
        file.admit(&self.output, bytes)?;
        let is_ours = move |name: &str| {
            let is_number =
                |text: &&str| text.len() == digits && text.bytes().all(|c| c.is_ascii_digit());
            let number = name.strip_prefix("sample_").filter(is_number);
            number
                .and_then(|number| number.parse::<u64>().ok())
                .is_some_and(|number| number < file.n())
        };
        // The folder is listed, because a file may claim any number of samples.
        let names = if parts.is_some() { Names::Later } else { Names::All(Box::new(is_ours)) };
        let sources = vec![file.bulk().file().identity()];
        Ok(Chosen { parts, names, sources, room: bytes })
    }
}

/// Whether a sample is chosen.
fn has(chosen: Option<&Selection>, number: u64) -> bool {
    chosen.is_none_or(|some| some.has(&Address::sample(number)))
}

/// Makes the file of a sample in the hidden folder; errors get its final path.
fn extract(
    file: &File,
    sample: &Sample,
    hidden: &Path,
    copier: &mut Copier,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    let path = final_path(hidden);
    let at = |error| Error::new(&path, error);
    let to = PosixFile::create(hidden, false).map_err(at)?;
    let place = Place { file: &to, offset: 0, zeros: true };
    let mut crc = 0;
    let mut seen = |bytes: &[u8]| crc = crc32(crc, bytes);
    let copied = copier.copy_seen(file.store(), sample.span, &place, count, &mut seen);
    copied.map_err(|error| error.of_files(file.path(), &path))?;
    sample.check_crc(crc).map_err(|error| file.in_sample(sample.number, error))?;
    to.set_size(sample.span.len()).map_err(at) // it ends earlier if its last bytes are a hole
}
