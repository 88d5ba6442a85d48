//! The verbs for GSD files.

mod cat;
mod convert;
mod extract;
mod hoomd;
mod info;
mod list;
mod log;
mod recover;
mod summary;

use crate::args::{Direct, FileVerb};
use crate::failure::{Failure, Sound};
use crate::{dump, map, unsupported, verify};
use serde::{Serialize, Serializer};
use std::fmt::Write;
use std::path::Path;
use striae::gsd::{File, OpenOptions};
use striae::{Error, Format};

/// Runs a verb on a GSD file.
pub(crate) fn run(verb: &FileVerb) -> Result<Sound, Failure> {
    match verb {
        FileVerb::Info(args) => info::info(args),
        FileVerb::Ls(args) => list::ls(args),
        FileVerb::Cat(args) => cat::cat(args),
        FileVerb::Dump(args) => dump::dump(args, striae::gsd::dump::dump),
        FileVerb::Extract(args) => extract::extract(args),
        FileVerb::Recover(args) => recover::recover(args),
        FileVerb::Verify(args) => verify::verify(args, verify::GSD),
        FileVerb::Map(args) => map::map(args, Format::Gsd),
        FileVerb::Log(args) => log::log(args),
        FileVerb::Convert(args) => convert::convert(args),
        FileVerb::Append(_) => Err(unsupported(verb, Format::Gsd)),
    }
}

/// Opens a file; its chunks are read past the page cache if `--direct` is given.
fn open(path: &Path, direct: Direct) -> Result<File, Error> {
    OpenOptions::new().direct(direct.options()).open(path)
}

/// A name in JSON: text, or `{"hex": ".."}` if it is not UTF-8.
struct JsonName<'a>(&'a [u8]);

#[derive(Serialize)]
struct Hex {
    hex: String,
}

impl Serialize for JsonName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(self.0) {
            return serializer.serialize_str(text);
        }
        let mut hex = String::new();
        for byte in self.0 {
            let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
        }
        Hex { hex }.serialize(serializer)
    }
}
