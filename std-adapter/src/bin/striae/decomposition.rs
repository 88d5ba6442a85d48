//! The verbs for decomposition maps.
//!
//! A netCDF map is a netCDF file, too: only `convert` and `verify` take it as a map.

use crate::args::Can::{Do, Not};
use crate::args::{ConvertArgs, InfoArgs, Lines, LsArgs, PackArgs, RecoverArgs};
use crate::args::{NO_APPEND, NO_LOG, Row};
use crate::certainty::Told;
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable_path};
use crate::sheet::{Cell, Column, Sheet, right};
use crate::text::{print, print_json, print_json_of};
use crate::{dump, map, verify};
use serde::Serialize;
use std::io::Write;
use striae::Format;
use striae::blob::map::recover::{Found, Recover};
use striae::blob::map::{Decomposition, Map, NetCdf, is_map};
use striae::finding::Word;
use striae_core::store::usize_to_u64;

/// The verbs for text maps.
pub(crate) const ROW: Row = Row {
    info: Do(info),
    ls: Do(ls),
    dump: Do(|args| dump::dump(args, striae::blob::map::dump)),
    cat: Not("they have no addresses"),
    extract: Not("they have no addresses"),
    convert: Do(convert),
    recover: Do(recover),
    verify: Do(|args| verify::verify(args, verify::MAP)),
    map: Do(|args| map::map(args, Format::Map)),
    log: NO_LOG,
    append: NO_APPEND,
    pack: Not("--format map makes maps in netCDF, and convert makes texts of them"),
};

/// The output of `info --json`.
#[derive(Serialize)]
struct Info<'a> {
    format: &'static str,
    nprocs: u64,
    dims: &'a [u64],
    nelems: u64,
    ranks: usize,
    requests: u64,
    covered: u64,
}

fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let map = Map::open(&args.file.path)?;
    let Some(first) = map.decompositions().first() else { return Ok(Sound::Yes) };
    let info = Info {
        format: "map",
        nprocs: map.nprocs(),
        dims: first.dims(),
        nelems: first.grid().total(),
        ranks: first.ranks().count(),
        requests: first.count(),
        covered: first.ranks().map(|rank| elements(first, rank)).fold(0, u64::saturating_add),
    };
    args.print(&info, || Ok(lines(&info)))
}

fn lines(info: &Info<'_>) -> Lines {
    let dims = info.dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    vec![
        ("format", "decomposition map, text".to_owned()),
        ("processes", format!("{}, {} of them in the map", info.nprocs, info.ranks)),
        ("array", format!("{dims}, {} elements", info.nelems)),
        ("requests", format!("{} of {} elements", info.requests, info.covered)),
    ]
}

/// The number of elements of a rank.
fn elements(of: &Decomposition, rank: u64) -> u64 {
    of.requests(rank).iter().map(|request| request.len).fold(0, u64::saturating_add)
}

/// The output of `ls --json`.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    nprocs: u64,
    decompositions: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    id: u32,
    dims: &'a [u64],
    nelems: u64,
    requests: u64,
    ranks: Vec<Rank>,
}

#[derive(Serialize)]
struct Rank {
    rank: u64,
    requests: usize,
    elements: u64,
}

impl<'a> Listed<'a> {
    fn new(of: &'a Decomposition) -> Self {
        let rank = |rank| {
            let requests = of.requests(rank).len();
            Rank { rank, requests, elements: elements(of, rank) }
        };
        Self {
            id: of.id().get(),
            dims: of.dims(),
            nelems: of.grid().total(),
            requests: of.count(),
            ranks: of.ranks().map(rank).collect(),
        }
    }
}

fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let map = Map::open(&args.file.path)?;
    if args.addresses {
        return Err(Failure::usage(map.path(), "a decomposition map has no addresses"));
    }
    let decompositions = map.decompositions().iter().map(Listed::new).collect();
    let listing = Listing { format: "map", nprocs: map.nprocs(), decompositions };
    if args.json {
        return print_json_of(map.path(), &listing);
    }
    print(|out| {
        let mut sheet = Sheet::new(COLUMNS, args.form(), out)?;
        for Listed { id, ranks, .. } in &listing.decompositions {
            for Rank { rank, requests, elements } in ranks {
                let requests = usize_to_u64(*requests);
                let numbers = [u64::from(*id), *rank, requests, *elements];
                sheet.row(&numbers.map(Cell::Number))?;
            }
        }
        Ok(())
    })
}

const COLUMNS: &[Column] =
    &[right("decomposition", 13), right("rank", 10), right("requests", 10), right("elements", 14)];

/// Converts a map: to text maps if the name of the output ends in `.dat`, else to a netCDF map.
pub(crate) fn convert(args: &ConvertArgs) -> Result<Sound, Failure> {
    let path = &args.file.path;
    if !is_map(path)? {
        return Err(Failure::usage(path, "this verb supports only netCDF files that are maps"));
    }
    if args.seal || args.no_seal {
        return Err(Failure::usage(path, "a decomposition map has no checksums"));
    }
    let (map, output) = (Map::open(path)?, args.layout.output());
    match args.out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("dat")) {
        true => drop(map.write_texts(&args.out, output)?),
        false => map.write_netcdf(
            &args.out,
            NetCdf { command_line: "striae convert", raw: false },
            output,
        )?,
    }
    Ok(Sound::Yes)
}

/// Makes a netCDF map of text maps or netCDF maps.
pub(crate) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    let map = Map::join(&args.sources)?;
    let how = NetCdf { command_line: "striae pack --format map", raw: false };
    map.write_netcdf(&args.out, how, args.layout.output())?;
    Ok(Sound::Yes)
}

/// The output of `recover --json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    told: Told,
    nprocs: u64,
    ranks: Vec<Saved>,
}

/// A rank, or lines that are none.
#[derive(Serialize)]
struct Saved {
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u64>,
    line: u64,
    word: &'static str,
    why: String,
}

impl Saved {
    fn new(found: &Found) -> Self {
        let (word, why) = (found.certainty.word().as_str(), found.certainty.why().to_string());
        Self { rank: found.rank, line: found.line, word, why }
    }
}

fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let recovery = Recover::new().output(args.output()).examine(&args.path).map_err(nothing)?;
    recovery.write(&args.out).map_err(nothing)?;
    let tally = recovery.tally();
    if args.json {
        let ranks = recovery.found().iter().map(Saved::new).collect();
        print_json(&Report { told: tally.into(), nprocs: recovery.map().nprocs(), ranks })?;
    } else {
        print(|out| {
            for found in recovery.found().iter().filter(|one| one.certainty.word() > Word::AsFound)
            {
                let (word, why) = (found.certainty.word(), found.certainty.why());
                let line = found.line;
                match found.rank {
                    Some(rank) => write!(out, "rank {rank}, line {line}")?,
                    None => write!(out, "lines from {line} on")?,
                }
                writeln!(out, ": {word}: {why}")?;
            }
            let is_rank = |one: &&Found| one.rank.is_some() && one.certainty.is_saved();
            let saved = usize_to_u64(recovery.found().iter().filter(is_rank).count());
            let (path, ranks) = (printable_path(&args.out), count(saved, "rank"));
            writeln!(out, "{path}: {ranks}: {tally}")
        })?;
    }
    Ok(if tally.is_sound() { Sound::Yes } else { Sound::No })
}
