//! The verbs for ffrecord files.

mod cat;
mod extract;
mod info;
mod list;
mod pack;

use crate::args::Can::{Do, Not};
use crate::args::{NO_APPEND, NO_LOG, Row};
use crate::{dump, map, verify};
use striae::Format;

/// The verbs for ffrecord files.
pub(crate) const ROW: Row = Row {
    info: Do(info::info),
    ls: Do(list::ls),
    dump: Do(|args| dump::dump(args, striae::ffrecord::dump::dump)),
    cat: Do(cat::cat),
    extract: Do(extract::extract),
    convert: Not("they have one layout only; pack makes them"),
    recover: Not(
        "they have no second copy of their tables; ls and verify say what is damaged, and extract saves the samples that are named",
    ),
    verify: Do(|args| verify::verify(args, verify::FFRECORD)),
    map: Do(|args| map::map(args, Format::Ffrecord)),
    log: NO_LOG,
    append: NO_APPEND,
    pack: Do(pack::pack),
};
