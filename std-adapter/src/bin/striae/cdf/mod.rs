//! The verbs for netCDF files.

pub(crate) mod cat;
mod cdl;
mod extract;
mod info;
pub(crate) mod list;
mod recover;
mod text;

use crate::args::{Direct, FileVerb};
use crate::failure::{Failure, Sound};
use crate::{dump, map, unsupported, verify};
use std::path::Path;
use striae::address::{Address, Pattern};
use striae::cdf::{ErrorKind, File, Header, OpenOptions, Variable};
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
        FileVerb::Convert(args) => crate::decomposition::convert(args),
        _ => Err(unsupported(verb, Format::Cdf)),
    }
}

fn open(path: &Path, direct: Direct) -> Result<File, Error> {
    OpenOptions::new().direct(direct.options()).open(path)
}

/// Calls `each` for the variables that a pattern matches, in their order.
pub(crate) fn selected<'f>(
    (path, header, format): (&Path, &'f Header, Format),
    pattern: Pattern,
    mut each: impl FnMut(Variable<'f>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let at = |error: striae::address::Error| Error::new(path, error);
    if let Some(address) = pattern.address() {
        return match address.resolve(format, 0).map_err(at)? {
            Address::Variable(name) => each(variable((path, header), &name)?),
            _ => Ok(()), // never: that is of no other format
        };
    }
    let chosen = striae::address::Selection::new(&[pattern], format, 0).map_err(at)?;
    for variable in header.variables() {
        if chosen.has(&Address::variable(variable.name())) {
            each(variable)?;
        }
    }
    Ok(chosen.check().map_err(at)?)
}

/// The variable with this name; the error has the most similar name as a hint.
fn variable<'f>((path, header): (&Path, &'f Header), name: &str) -> Result<Variable<'f>, Failure> {
    if let Some(variable) = header.variable(name) {
        return Ok(variable);
    }
    let error = Error::new(path, ErrorKind::NoVariable { name: name.into() });
    let likeness = |other: &'f str| (strsim::jaro_winkler(name, other), other);
    let names = header.variables().map(|variable| likeness(variable.name()));
    let nearest = names.filter(|(likeness, _)| *likeness > 0.8);
    Err(match nearest.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((_, nearest)) => Failure::Hinted(error, format!("did you mean {nearest}?")),
        None => error.into(),
    })
}
