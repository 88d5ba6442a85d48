//! `striae ls` of a set of blob files.

use crate::args::LsArgs;
use crate::cdf::list::{Attr, Dim, with_shape, write_addresses};
use crate::failure::{Failure, Sound};
use crate::sheet::{Cell, Column, Sheet, left, right};
use crate::text::{print, print_json_of};
use serde::Serialize;
use std::io::{self, Write};
use striae::blob::{Decomposition, Set};
use striae::cdf::Variable;
use striae_core::store::usize_to_u64;

const COLUMNS: &[Column] = &[
    right("bytes", 14),
    right("covered", 14),
    right("decomposition", 13),
    left("type", 6),
    left("variable", 0),
];

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
    match args.addresses {
        true => print(|out| write_addresses(set.header(), out))?,
        false => {
            let decompositions = set.decompositions()?;
            print(|out| write_text(args, &set, &decompositions, out))?
        }
    };
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

fn write_text(
    args: &LsArgs,
    set: &Set,
    decompositions: &[Decomposition],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut sheet = Sheet::new(COLUMNS, args.form(), out)?;
    for variable in set.header().variables() {
        let covered = Cell::Number(covered(set, decompositions, variable));
        let id = set.decomposition(variable).map(usize_to_u64);
        let id = id.map_or(Cell::Text("-"), Cell::Number);
        let (bytes, name) = (Cell::Number(variable.len()), with_shape(variable));
        let nc_type = Cell::Text(variable.nc_type().name());
        sheet.row(&[bytes, covered, id, nc_type, Cell::Text(&name)])?;
    }
    Ok(())
}
