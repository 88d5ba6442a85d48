//! `striae info` of a set of blob files.

use crate::args::{Direct, InfoArgs, Lines};
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable};
use serde::Serialize;
use striae::Error;
use striae::blob::{Container, Set};

/// The output of `info --json`.
#[derive(Serialize)]
struct Info {
    format: &'static str,
    container: &'static str,
    numrecs: u64,
    nprocs: u64,
    subfiles: u64,
    missing: u64,
    /// Number of subfiles with a seal.
    sealed: u64,
    decompositions: usize,
    dims: u64,
    attributes: u64,
    variables: u64,
    decomposed_variables: usize,
    /// Of the values in the canonical file.
    data_bytes: u64,
}

pub(super) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let set = super::open(&args.file.path, Direct::default(), false)?;
    let (header, head) = (set.header(), set.header().head());
    let decomposed = header.variables().filter(|one| set.decomposition(*one).is_some());
    let info = Info {
        format: "blob",
        container: set.container().name(),
        numrecs: head.numrecs,
        nprocs: set.nprocs(),
        subfiles: set.nsubfiles(),
        missing: set.missing_count(),
        sealed: sealed(&set)?,
        decompositions: set.ndecompositions(),
        dims: head.ndims,
        attributes: head.ngatts,
        variables: head.nvars,
        decomposed_variables: decomposed.count(),
        data_bytes: header.variables().map(|variable| variable.len()).fold(0, u64::saturating_add),
    };
    args.print(&info, || Ok(lines(&set, &info)))?;
    Ok(super::report_all(&set)?)
}

/// The number of subfiles that have a seal.
fn sealed(set: &Set) -> Result<u64, Error> {
    let mut count = 0_u64;
    for (number, _) in set.subfiles() {
        count = count.saturating_add(u64::from(set.is_sealed(number)? == Some(true)));
    }
    Ok(count)
}

fn lines(set: &Set, info: &Info) -> Lines {
    let container = match set.container() {
        Container::Cdf => "CDF-5, variable-centric",
        Container::Hdf5 => "HDF5, process-centric",
    };
    let record = set.header().dims().find(|dim| dim.is_record);
    let records = match record {
        None => "no record dimension".to_owned(),
        Some(dim) => format!("{}, dimension {}", info.numrecs, printable(dim.name)),
    };
    let subfiles = match info.missing {
        0 => info.subfiles.to_string(),
        missing => format!("{}, {missing} of them missing", info.subfiles),
    };
    let sealed = match info.sealed {
        0 => "no".to_owned(),
        all if all == info.subfiles => "yes".to_owned(),
        some => format!("{some} of {}", count(info.subfiles, "subfile")),
    };
    let counted = match info.nprocs {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    };
    let variables = format!("{}, {} decomposed", info.variables, info.decomposed_variables);
    vec![
        ("format", "E3SM-IO blob".to_owned()),
        ("container", container.to_owned()),
        ("subfiles", subfiles),
        ("sealed", sealed),
        ("written by", counted),
        ("decompositions", info.decompositions.to_string()),
        ("records", records),
        ("dimensions", info.dims.to_string()),
        ("attributes", format!("{} of the file", info.attributes)),
        ("variables", variables),
        ("data", format!("{} bytes in the canonical file", info.data_bytes)),
    ]
}
