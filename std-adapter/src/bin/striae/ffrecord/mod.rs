//! The verbs for ffrecord files.

mod cat;
mod extract;
mod info;
mod list;
mod pack;

use crate::args::FileVerb;
use crate::failure::{Failure, Sound};
use crate::{dump, map, unsupported, verify};
use striae::Format;

pub(crate) use pack::pack;

/// Runs a verb on an ffrecord file.
pub(crate) fn run(verb: &FileVerb) -> Result<Sound, Failure> {
    match verb {
        FileVerb::Info(args) => info::info(args),
        FileVerb::Ls(args) => list::ls(args),
        FileVerb::Cat(args) => cat::cat(args),
        FileVerb::Dump(args) => dump::dump(args, striae::ffrecord::dump::dump),
        FileVerb::Extract(args) => extract::extract(args),
        FileVerb::Verify(args) => verify::verify(args, verify::FFRECORD),
        FileVerb::Map(args) => map::map(args, Format::Ffrecord),
        FileVerb::Convert(_) | FileVerb::Recover(_) | FileVerb::Append(_) | FileVerb::Log(_) => {
            Err(unsupported(verb, Format::Ffrecord))
        }
    }
}
