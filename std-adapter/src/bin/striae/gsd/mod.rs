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

use crate::args::Can::{Do, Not};
use crate::args::Direct;
use crate::args::{NO_APPEND, Row};
use crate::{dump, map, verify};
use serde::{Serialize, Serializer};
use std::fmt::Write;
use std::path::Path;
use striae::gsd::{File, OpenOptions};
use striae::{Error, Format};

/// The verbs for GSD files.
pub(crate) const ROW: Row = Row {
    info: Do(info::info),
    ls: Do(list::ls),
    dump: Do(|args| dump::dump(args, striae::gsd::dump::dump)),
    cat: Do(cat::cat),
    extract: Do(extract::extract),
    convert: Do(convert::convert),
    recover: Do(recover::recover),
    verify: Do(|args| verify::verify(args, verify::GSD)),
    map: Do(|args| map::map(args, Format::Gsd)),
    log: Do(log::log),
    append: NO_APPEND,
    pack: Not("what its frames mean is for the program that writes them"),
};

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
