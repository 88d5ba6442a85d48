//! `striae ls` of a set of blob files.

use crate::args::LsArgs;
use crate::cdf::list::{Attr, Dim, write_addresses};
use crate::failure::{Failure, Sound};
use crate::text::{print_json_of, printable, stdout, unless_gone};
use serde::Serialize;
use std::io::{self, Write};
use striae::blob::{Decomposition, Set};
use striae::cdf::{Dimension, Variable};

/// The output of `ls --json`.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    container: &'static str,
    numrecs: u64,
    nprocs: u64,
    dims: Vec<Dim<'a>>,
    attributes: Vec<Attr<'a>>,
    variables: Vec<Var<'a>>,
    decompositions: Vec<Decomposed<'a>>,
    subfiles: Vec<Subfile>,
}

#[derive(Serialize)]
struct Var<'a> {
    name: &'a str,
    r#type: &'static str,
    dims: Vec<&'a str>,
    shape: &'a [u64],
    record: bool,
    /// Its decomposition, if it is decomposed.
    decomposition: Option<usize>,
    /// Elements of one record that are in a subfile.
    covered: u64,
}

#[derive(Serialize)]
struct Decomposed<'a> {
    id: usize,
    dims: Vec<&'a str>,
    nelems: u64,
    covered: u64,
    overlaps: u64,
}

/// A subfile; one that cannot be read has no numbers.
#[derive(Serialize)]
struct Subfile {
    path: String,
    nblobs: Option<u64>,
    bytes: Option<u64>,
}

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let set = Set::open(&args.file.path)?;
    if args.json {
        print_json_of(&args.file.path, &listing(&set)?)?;
        return Ok(super::report_all(&set)?);
    }
    let mut out = stdout();
    let written = match args.addresses {
        true => write_addresses(set.header(), &mut out),
        false => write_text(&set, &set.decompositions()?, &mut out),
    };
    unless_gone(written.and_then(|()| out.flush()))?;
    Ok(super::report_all(&set)?)
}

fn listing(set: &Set) -> Result<Listing<'_>, Failure> {
    let (header, decompositions) = (set.header(), set.decompositions()?);
    let variable = |variable: Variable<'_>| covered(set, &decompositions, variable);
    let dims = |dimids: &[u64]| {
        dimids.iter().filter_map(|&dimid| header.dim(dimid)).map(|dim| dim.name).collect()
    };
    let mut subfiles = Vec::new();
    for (number, path) in set.subfiles() {
        let blobs = set.blobs(number)?;
        let path = path.to_string_lossy().into_owned();
        let (nblobs, bytes) = (blobs.map(|(nblobs, _)| nblobs), blobs.map(|(_, bytes)| bytes));
        subfiles.push(Subfile { path, nblobs, bytes });
    }
    Ok(Listing {
        format: "blob",
        container: set.container().name(),
        numrecs: header.numrecs(),
        nprocs: set.nprocs(),
        dims: header.dims().map(Dim::from).collect(),
        attributes: header.attributes().map(Attr::from).collect(),
        variables: header
            .variables()
            .map(|one| Var {
                name: one.name(),
                r#type: one.nc_type().name(),
                dims: one.dims().map(|dim| dim.name).collect(),
                shape: one.shape(),
                record: one.is_record(),
                decomposition: set.decomposition(one),
                covered: variable(one),
            })
            .collect(),
        decompositions: (1..)
            .zip(&decompositions)
            .map(|(id, decomposition)| Decomposed {
                id,
                dims: dims(&decomposition.dimids),
                nelems: decomposition.nelems,
                covered: decomposition.covered,
                overlaps: decomposition.overlaps,
            })
            .collect(),
        subfiles,
    })
}

/// Elements of one record of a variable that are in a subfile.
fn covered(set: &Set, decompositions: &[Decomposition], variable: Variable<'_>) -> u64 {
    let index = set.decomposition(variable).and_then(|id| id.checked_sub(1));
    let layout = variable.layout();
    let all = layout.first.len().checked_div(layout.value_len).unwrap_or(0);
    index.and_then(|index| decompositions.get(index)).map_or(all, |known| known.covered)
}

fn write_text(set: &Set, decompositions: &[Decomposition], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>14} {:>14} {:>13}  {:<6}  variable",
        "bytes", "covered", "decomposition", "type"
    )?;
    for variable in set.header().variables() {
        let (len, nc_type) = (variable.len(), variable.nc_type().name());
        let covered = covered(set, decompositions, variable);
        let id = set.decomposition(variable).map_or("-".to_owned(), |id| id.to_string());
        let name = printable(variable.name());
        let dim = |dim: Dimension<'_>| format!("{}={}", printable(dim.name), dim.length);
        let dims = variable.dims().map(dim).collect::<Vec<_>>().join(", ");
        let shape = if dims.is_empty() { String::new() } else { format!("({dims})") };
        writeln!(out, "{len:>14} {covered:>14} {id:>13}  {nc_type:<6}  {name}{shape}")?;
    }
    Ok(())
}
