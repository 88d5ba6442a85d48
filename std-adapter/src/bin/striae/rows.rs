//! A row of functions for each format: what the program does with its files, verb by verb.

use crate::args::{FileVerb, Outcome, PackArgs, Row};
use crate::flags::Given;
use crate::{blob, cdf, decomposition, ffrecord, gsd, sion};
use striae::Format;

const fn row(format: Format) -> &'static Row {
    match format {
        Format::Sion => &sion::ROW,
        Format::Gsd => &gsd::ROW,
        Format::Ffrecord => &ffrecord::ROW,
        Format::Cdf => &cdf::ROW,
        Format::Blob => &blob::ROW,
        Format::Map => &decomposition::ROW,
    }
}

/// Runs the verb for a file of this format.
pub(crate) fn run(verb: &FileVerb, given: &Given, format: Format) -> Outcome {
    verb.run(row(format), format, &|| given.check(verb.args(), "is", format))
}

/// Makes a file or set of this format.
pub(crate) fn pack(args: &PackArgs, given: &Given, format: Format) -> Outcome {
    row(format).pack.run(args, format, &|| given.check(args, "is to be", format))
}
