//! Extracts every sample into its own file.

use super::crc32;
use super::file::File;
use crate::address::{Address, Pattern, Selection};
use crate::copy::{Copier, Place};
use crate::error::{Error, ErrorKind};
use crate::extract::{Extracted, fill};
use crate::output::Output;
use crate::posix::PosixFile;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use striae_core::ffrecord::Sample;

/// Extracts all samples into a folder: `sample_00000` and so on, with as many digits as the last
/// number has, but at least five.
///
/// Tables and samples are compared with their checksums. All files are made in a hidden folder
/// inside the target folder and renamed when all of them are complete. If anything fails, the
/// target folder stays unchanged. A kill leaves the hidden folder.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    output: Output,
    addresses: Vec<Pattern>,
}

impl Extract {
    /// Replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the output files are made. By default no file is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Extracts what these addresses stand for, and nothing else but that of further calls.
    #[must_use]
    pub fn select(mut self, addresses: impl IntoIterator<Item = Pattern>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// Extracts all samples of `file`, or those selected, into the folder `dir`, which is made if
    /// it is not there. `progress` is told the length of each piece that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already;
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if samples share bytes, or are holes, and
    /// would be larger than the file justifies; [`NoRoom`](crate::error::ErrorKind::NoRoom);
    /// [`ErrorKind::Source`] for `file` itself;
    /// [`ErrorKind::Address`]; a damaged file or sample; the operating system's.
    pub fn run(&self, file: &File, dir: &Path, progress: &dyn Fn(u64)) -> Result<Extracted, Error> {
        let bytes = Cell::new(0u64);
        let count = |n| {
            bytes.set(bytes.get().saturating_add(n));
            progress(n);
        };
        let digits = file.n().saturating_sub(1).to_string().len().max(5);
        let name = |number: u64| format!("sample_{number:0digits$}");
        file.check_meta()?;
        let wrong = |error| Error::new(file.path(), error);
        let chosen = match self.addresses.as_slice() {
            [] => None,
            addresses => Some(file.selection(addresses)?),
        };
        let has = |number| chosen.as_ref().is_none_or(|some| some.has(&Address::sample(number)));
        let check = || match self.output.force || chosen.is_some() {
            true => Ok(()),
            false => check_names(dir, file.n(), digits),
        };
        let mut size = 0_u64;
        for (number, sample) in (0..).zip(file.samples()) {
            size = size.saturating_add(if has(number) { sample?.span.len() } else { 0 });
        }
        file.admit(&self.output, size)?;
        Output::has_room(dir, size)?;
        let source = file.bulk().file().identity();
        let files = fill(dir, self.output.force, [source], check, |hidden| {
            let mut copier = self.output.copier(file.bulk().options());
            let mut samples = file.samples();
            loop {
                let number = samples.number();
                let Some(sample) = samples.next() else { break };
                if !has(number) {
                    continue;
                }
                let name = name(number);
                let paths = (&*hidden.join(&name), &*dir.join(&name));
                extract(file, &sample?, paths, &mut copier, &count)?;
            }
            chosen.as_ref().map_or(Ok(()), Selection::check).map_err(wrong)
        })?;
        Ok(Extracted { files, bytes: bytes.into_inner() })
    }
}

/// Checks the names before anything is copied. It lists the folder, because a file may claim any
/// number of samples.
fn check_names(dir: &Path, n: u64, digits: usize) -> Result<(), Error> {
    let at = |error| Error::new(dir, error);
    for entry in fs::read_dir(dir).map_err(at)? {
        let name = entry.map_err(at)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("sample_"));
        let is_ours = |text: &str| text.len() == digits && text.bytes().all(|c| c.is_ascii_digit());
        let number = number.filter(|number| is_ours(number));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        if number.is_some_and(|number| number < n) {
            return Err(Error::new(&dir.join(name), ErrorKind::Exists));
        }
    }
    Ok(())
}

/// Makes the file of a sample in the hidden folder; errors get its final path.
fn extract(
    file: &File,
    sample: &Sample,
    (hidden, path): (&Path, &Path),
    copier: &mut Copier,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    let at = |error| Error::new(path, error);
    let to = PosixFile::create(hidden, false).map_err(at)?;
    let place = Place { file: &to, offset: 0, zeros: true };
    let mut crc = 0;
    let mut seen = |bytes: &[u8]| crc = crc32(crc, bytes);
    let copied = copier.copy_seen(file.store(), sample.span, &place, count, &mut seen);
    copied.map_err(|error| error.of_files(file.path(), path))?;
    sample.check_crc(crc).map_err(|error| file.in_sample(sample.number, error))?;
    to.set_size(sample.span.len()).map_err(at) // it ends earlier if its last bytes are a hole
}
