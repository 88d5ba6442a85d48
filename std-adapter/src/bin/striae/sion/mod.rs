//! The verbs for SIONlib files.

mod append;
mod cat;
mod convert;
mod extract;
mod list;
mod open_files;
mod pack;
mod recover;

use crate::args::Can::Do;

use crate::args::{Layout, MapArgs, NO_LOG, Outcome, Row, Set};
use crate::failure::{Failure, complain};
use crate::part::complain_of_part;
use crate::progress::with_bar;
use crate::{dump, map, verify};
use std::io;
use std::path::Path;
use striae::Error;
use striae::direct;
use striae::map::of_set;
use striae::shown;
use striae::sion::{self, File, Laid, OpenOptions, Opened};
use striae::verb::Options;

/// The verbs for SIONlib sets.
pub(crate) const ROW: Row = Row {
    info: Do(list::info),
    ls: Do(list::ls),
    dump: Do(|args| dump::dump(args, sion::dump::dump)),
    cat: Do(cat::cat),
    extract: Do(extract::extract),
    convert: Do(convert::convert),
    recover: Do(recover::recover),
    verify: Do(|args| verify::verify(args, verify::SION)),
    map: Do(map),
    log: NO_LOG,
    append: Do(append::append),
    pack: Do(pack::pack),
};

fn map(args: &MapArgs) -> Outcome {
    let (path, format) = (&args.file.path, striae::Format::Sion);
    match args.file.alone {
        true => map::map(args, format),
        false => map::map_all(args, format, &|size| of_set(path, size)),
    }
}

/// Reports which files are lost, and which files are read in their place.
fn complain_of_copies(opened: &Opened) {
    for (lost, copy) in opened.copies() {
        complain_of_copy(&lost, copy);
    }
}

/// Reports which files are of an older commit of the set than others.
fn complain_of_older(file: &File) -> Result<(), Error> {
    for older in file.older()? {
        complain(&older.into_error().to_string());
    }
    Ok(())
}

/// Reports that a file is lost, and which file is read in its place.
fn complain_of_copy(lost: &Path, copy: &Path) {
    let (lost, copy) = (shown::path(lost), shown::path(copy));
    complain(&format!("{lost}: is lost; its streams are read from the buddy set: {copy}"));
}

impl Set {
    /// Opens the set, closed or not. With options in `direct`, its streams are read past the page
    /// cache.
    fn open_any(&self, direct: Option<direct::OpenOptions>) -> Result<Opened, Error> {
        let opened = OpenOptions::new().alone(self.alone).direct(direct).open(&self.path)?;
        complain_of_copies(&opened);
        if let Opened::Closed(file) = &opened {
            complain_of_older(file)?;
        }
        Ok(opened)
    }

    /// Reports if only one file of a set is read, unless `--alone` is given.
    fn complain_of_part(&self, part: Option<sion::PartOfSet>) {
        complain_of_part(part.filter(|_| !self.alone), &self.path, "read");
    }

    /// Opens a closed set.
    fn open(&self, direct: Option<direct::OpenOptions>) -> Result<File, Error> {
        match self.open_any(direct)? {
            Opened::Closed(file) => {
                self.complain_of_part(file.part_of_set());
                Ok(file)
            }
            Opened::Unclosed(set) => Err(set.not_closed()),
        }
    }
}

/// Options for a new set with this layout.
fn laid<H>(options: Options<Laid<H>>, layout: &Layout) -> Options<Laid<H>> {
    let options = options.output(layout.output()).nfiles(layout.nfiles);
    let options = match layout.fsblksize {
        Some(bytes) => options.fsblksize(bytes),
        None => options,
    };
    match layout.order {
        Some(order) => options.order(order.into()),
        None => options,
    }
}

/// Shows a progress bar for work on all streams of a set.
fn with_bar_of<T>(
    set: &File,
    work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let total = set.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    Ok(with_bar(total.map_err(Failure::File)?, work)?)
}

/// The failure for an error of a stream; an error of the library is kept as it is.
fn failure(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    |error| match error.downcast::<Error>() {
        Ok(error) => Failure::File(error),
        Err(error) => Failure::File(Error::new(path, error)),
    }
}
