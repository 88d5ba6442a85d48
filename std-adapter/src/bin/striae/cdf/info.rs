//! `striae info` of a netCDF file.

use crate::args::{InfoArgs, Lines};
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable};
use serde::Serialize;
use std::path::Path;
use striae::blob::map::{Decomposition, Map, is_map};
use striae::cdf::{Dimension, File};
use striae_core::store::usize_to_u64;

/// The output of `info --json`.
#[derive(Serialize)]
struct Info {
    format: &'static str,
    version: u8,
    numrecs: u64,
    streaming: bool,
    recsize: u64,
    dims: u64,
    attributes: u64,
    variables: u64,
    record_variables: usize,
    header_bytes: u64,
    data_bytes: u64,
    bytes: u64,
    /// If the file is a decomposition map.
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<MapInfo>,
}

/// What a decomposition map has.
#[derive(Serialize)]
struct MapInfo {
    decompositions: usize,
    nprocs: u64,
    requests: u64,
}

impl MapInfo {
    /// What the file at `path` has as a map; `None` if it is none, or a damaged one.
    fn of(path: &Path) -> Option<Self> {
        let map = is_map(path).ok().filter(|is_map| *is_map).and_then(|_| Map::open(path).ok())?;
        let requests = map.decompositions().iter().map(Decomposition::count);
        Some(Self {
            decompositions: map.decompositions().len(),
            nprocs: map.nprocs(),
            requests: requests.fold(0, u64::saturating_add),
        })
    }
}

pub(super) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    let (header, head) = (file.header(), file.header().head());
    let info = Info {
        format: "cdf",
        version: head.version.number(),
        numrecs: head.numrecs,
        streaming: head.is_streaming,
        recsize: head.recsize,
        dims: head.ndims,
        attributes: head.ngatts,
        variables: head.nvars,
        record_variables: header.variables().filter(|variable| variable.is_record()).count(),
        header_bytes: head.header_len,
        data_bytes: header.variables().map(|variable| variable.len()).fold(0, u64::saturating_add),
        bytes: head.file_len,
        map: MapInfo::of(&args.file.path),
    };
    args.print(&info, || Ok(lines(&info, header.dims().find(|dim| dim.is_record))))
}

fn lines(info: &Info, record: Option<Dimension<'_>>) -> Lines {
    let Info { version, numrecs, recsize, .. } = info;
    let version_name = match version {
        1 => "CDF-1, the classic format",
        2 => "CDF-2, with 64-bit offsets",
        _ => "CDF-5, with 64-bit sizes and more types",
    };
    let records = match record {
        None => "no record dimension".to_owned(),
        Some(dim) => {
            let name = printable(dim.name);
            let from = if info.streaming { ", by the length of the file" } else { "" };
            format!("{numrecs} of {recsize} bytes each, dimension {name}{from}")
        }
    };
    let variables = format!("{}, {} with records", info.variables, info.record_variables);
    let lines = [
        ("format", "netCDF".to_owned()),
        ("version", version_name.to_owned()),
        ("records", records),
        ("dimensions", info.dims.to_string()),
        ("attributes", format!("{} of the file", info.attributes)),
        ("variables", variables),
        ("header", format!("{} bytes", info.header_bytes)),
        ("data", format!("{} bytes", info.data_bytes)),
        ("bytes", info.bytes.to_string()),
    ];
    let map = info.map.as_ref().map(|MapInfo { decompositions, nprocs, requests }| {
        let decompositions = count(usize_to_u64(*decompositions), "decomposition");
        let (ranks, requests) = (count(*nprocs, "rank"), count(*requests, "request"));
        ("decomposition map", format!("{decompositions}, {ranks}, {requests}"))
    });
    lines.into_iter().chain(map).collect()
}
