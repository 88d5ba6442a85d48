//! The verbs on SIONlib files.

mod cat;
mod convert;
mod extract;
mod list;
mod open_files;
mod pack;
mod recover;

use crate::args::{FileVerb, Set};
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::{dump, verify};
use striae::Error;
use striae::direct;
use striae::sion::{File, OpenOptions, Opened};

pub(crate) use pack::pack;

/// Does what is asked for with a SIONlib file.
pub(crate) fn run(verb: &FileVerb) -> Result<Sound, Failure> {
    match verb {
        FileVerb::Info(args) => list::info(args),
        FileVerb::Ls(args) => list::ls(args),
        FileVerb::Dump(args) => dump::dump(args, striae::sion::dump::dump),
        FileVerb::Cat(args) => cat::cat(args),
        FileVerb::Extract(args) => extract::extract(args),
        FileVerb::Convert(args) => convert::convert(args),
        FileVerb::Recover(args) => recover::recover(args),
        FileVerb::Verify(args) => verify::verify(args),
    }
}

impl Set {
    /// Opens it, closed or not.
    fn open_any(&self) -> Result<Opened, Error> {
        OpenOptions::new().alone(self.alone).open(&self.path)
    }

    /// Opens it if it was closed, to read the streams past the page cache, if there are options for that.
    fn open(&self, direct: Option<direct::OpenOptions>) -> Result<File, Error> {
        match OpenOptions::new().alone(self.alone).direct(direct).open(&self.path)? {
            Opened::Closed(file) => Ok(file),
            Opened::Unclosed(set) => Err(set.not_closed()),
        }
    }
}

/// Shows a bar for work on all streams of a set.
fn with_bar_of<T>(
    set: &File,
    work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let total = set.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    Ok(with_bar(total.map_err(Failure::File)?, work)?)
}
