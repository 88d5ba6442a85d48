//! The verbs on ffrecord files.

mod cat;
mod extract;
mod info;
mod list;
mod pack;

use crate::args::FileVerb;
use crate::failure::{Failure, Sound};
use crate::{dump, map, verify};

pub(crate) use pack::pack;

/// Does what is asked for with an ffrecord file.
pub(crate) fn run(verb: &FileVerb) -> Result<Sound, Failure> {
    match verb {
        FileVerb::Info(args) => info::info(args),
        FileVerb::Ls(args) => list::ls(args),
        FileVerb::Cat(args) => cat::cat(args),
        FileVerb::Dump(args) => dump::dump(args, striae::ffrecord::dump::dump),
        FileVerb::Extract(args) => extract::extract(args),
        FileVerb::Verify(args) => verify::verify(args, verify::FFRECORD),
        FileVerb::Map(args) => map::map(args, striae::Format::Ffrecord),
        FileVerb::Convert(_) => Err(none(verb, "extract takes it apart and pack makes a new one")),
        FileVerb::Recover(_) => Err(none(verb, "verify tells which of its samples are whole")),
    }
}

/// There is no such verb for these files.
fn none(verb: &FileVerb, instead: &str) -> Failure {
    Failure::usage(verb.path(), &format!("is an ffrecord file: {instead}"))
}
