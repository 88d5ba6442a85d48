//! `striae-mpi convert` of a blob set.

use crate::convert::ConvertArgs;
use crate::text::warn;
use std::fmt::Write;
use striae_mpi::blob::{Convert, OpenOptions, Set};
use striae_mpi::{Collective, Error};

/// The most lines about missing subfiles.
const LINES: usize = 10;

/// Makes the canonical file; returns the exit status.
pub(crate) fn convert<C: Collective>(comm: C, args: &ConvertArgs) -> Result<u8, Error> {
    let how = OpenOptions::new().checked(!args.blob.no_seal);
    let set = Set::open_with(comm, &args.set, &how)?;
    let convert = Convert::new().force(args.options.force).fill(args.blob.fill.as_deref());
    let convert = convert.max_size(args.max_size.bytes);
    let converted = convert.run(&set, &args.out)?;
    if converted.is_whole {
        return Ok(0);
    }
    let (lost, whole) = (set.lost()?, set.whole());
    if set.comm().rank() == 0 {
        for number in whole.missing().take(LINES) {
            warn(format_args!("{}: is missing", whole.subfile_path(number).display()));
        }
        if whole.missing_count() > 0 {
            let (path, count) = (whole.path().display(), whole.missing_count());
            warn(format_args!("{path}: {count} of {} subfiles missing", whole.nsubfiles()));
        }
        for one in lost {
            let mut line = one.text;
            let _ = match one.values {
                None => write!(line, "; its elements are filled"),
                Some(0) => Ok(()),
                Some(values) => write!(line, "; {values} values filled"),
            };
            warn(line);
        }
    }
    Ok(1)
}
