//! The verbs for netCDF files.

mod cat;
mod cdl;
mod extract;
mod info;
mod list;
mod recover;
mod text;

use crate::args::{Direct, FileVerb};
use crate::failure::{Failure, Sound};
use crate::{dump, map, unsupported, verify};
use std::path::Path;
use striae::address::{Address, Pattern};
use striae::cdf::{File, OpenOptions, Variable};
use striae::{Error, Format};

/// Runs a verb on a netCDF file.
pub(crate) fn run(verb: &FileVerb) -> Result<Sound, Failure> {
    match verb {
        FileVerb::Info(args) => info::info(args),
        FileVerb::Ls(args) => list::ls(args),
        FileVerb::Cat(args) => cat::cat(args),
        FileVerb::Dump(args) if args.cdl => cdl::cdl(args),
        FileVerb::Dump(args) => dump::dump(args, striae::cdf::dump::dump),
        FileVerb::Extract(args) => extract::extract(args),
        FileVerb::Recover(args) => recover::recover(args),
        FileVerb::Verify(args) => verify::verify(args, verify::CDF),
        FileVerb::Map(args) => map::map(args, Format::Cdf),
        _ => Err(unsupported(verb, Format::Cdf)),
    }
}

fn open(path: &Path, direct: Direct) -> Result<File, Error> {
    OpenOptions::new().direct(direct.options()).open(path)
}

/// Calls `each` for the variables that a pattern stands for, in their order.
fn selected<'f>(
    file: &'f File,
    pattern: Pattern,
    mut each: impl FnMut(Variable<'f>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let at = |error: striae::address::Error| Error::new(file.path(), error);
    if let Some(address) = pattern.address() {
        return match address.resolve(Format::Cdf, 0).map_err(at)? {
            Address::Variable(name) => each(variable(file, &name)?),
            _ => Ok(()), // never: that is of no other format
        };
    }
    let chosen = striae::address::Selection::new(&[pattern], Format::Cdf, 0).map_err(at)?;
    for variable in file.header().variables() {
        if chosen.has(&Address::variable(variable.name())) {
            each(variable)?;
        }
    }
    Ok(chosen.check().map_err(at)?)
}

/// The variable with this name; the error has the most similar name as a hint.
fn variable<'f>(file: &'f File, name: &str) -> Result<Variable<'f>, Failure> {
    file.variable(name).map_err(|error| {
        let likeness = |other: &'f str| (strsim::jaro_winkler(name, other), other);
        let names = file.header().variables().map(|variable| likeness(variable.name()));
        let nearest = names.filter(|(likeness, _)| *likeness > 0.8);
        match nearest.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
            Some((_, nearest)) => Failure::Hinted(error, format!("did you mean {nearest}?")),
            None => error.into(),
        }
    })
}
