//! The verbs for netCDF files.

pub(crate) mod cat;
mod cdl;
mod extract;
mod info;
pub(crate) mod list;
mod recover;
mod text;

use crate::args::Can::Do;
use crate::args::{Direct, DumpArgs};
use crate::args::{NO_APPEND, NO_LOG, Outcome, Row};
use crate::failure::Failure;
use crate::{dump, map, verify};
use std::path::Path;
use striae::address::{Address, Pattern};
use striae::cdf::{ErrorKind, File, Header, OpenOptions, Variable};
use striae::{Error, Format};

/// The verbs for netCDF files.
pub(crate) const ROW: Row = Row {
    info: Do(info::info),
    ls: Do(list::ls),
    dump: Do(dump),
    cat: Do(cat::cat),
    extract: Do(extract::extract),
    convert: Do(crate::decomposition::convert),
    recover: Do(recover::recover),
    verify: Do(|args| verify::verify(args, verify::CDF)),
    map: Do(|args| map::map(args, Format::Cdf)),
    log: NO_LOG,
    append: NO_APPEND,
    pack: Do(crate::decomposition::pack),
};

fn dump(args: &DumpArgs) -> Outcome {
    match args.cdl {
        true => cdl::cdl(args),
        false => dump::dump(args, striae::cdf::dump::dump),
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
