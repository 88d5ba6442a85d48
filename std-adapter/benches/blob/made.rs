//! A set like that of the F case of E3SM: 414 variables of atmosphere columns, 16 ranks.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae::blob::{Builder, Container, Request, Set, Writer};
use striae::striae_core::cdf::{AttrDef, Definition, DimDef, Type, VarDef};

pub(crate) const NCOL: u64 = 866;
pub(crate) const NLEV: u64 = 72;
pub(crate) const RANKS: u32 = 16;

/// Ids of the dimensions.
const TIME: u64 = 0;
const NBND: u64 = 1;
const CHARS: u64 = 2;
const LEV: u64 = 3;
const ILEV: u64 = 4;
const COL: u64 = 5;

/// The record variables of columns, of levels and columns, and others.
const FLAT: usize = 321;
const DEEP: usize = 63;

/// The name of a variable of levels and columns, the 60th of them.
pub(crate) const CLOUD: &str = "CLOUD";

/// A definition, with the decomposition of each variable.
pub(crate) struct Case {
    dims: Vec<DimDef<'static>>,
    attrs: Vec<AttrDef<'static>>,
    vars: Vec<(String, Type, Vec<u64>, Option<usize>)>,
    /// For each decomposition its dimensions and the requests of each rank.
    decompositions: Vec<(Vec<u64>, Vec<Vec<Request>>)>,
    /// For each decomposition the elements of each rank.
    lens: Vec<Vec<u64>>,
    nranks: u32,
}

/// Random numbers that are the same in each run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Deals columns to ranks in runs of up to `longest` columns that follow each other.
fn dealt(ncol: u64, nranks: u32, longest: u64) -> Vec<Vec<Request>> {
    let (mut ranks, mut state) = (vec![Vec::new(); nranks as usize], 1);
    let (mut offset, mut next) = (0, 0);
    while offset < ncol {
        let len = (1 + random(&mut state) % longest).min(ncol - offset);
        // Each rank gets as much as the others, in no order.
        next = (next + 1 + random(&mut state) as usize % 3) % ranks.len();
        let least = (0..ranks.len()).map(|n| (next + n) % ranks.len());
        let sum = |n: &usize| -> u64 { ranks[*n].iter().map(|run: &Request| run.len).sum() };
        let to = least.min_by_key(sum).unwrap();
        ranks[to].push(Request { offset, len });
        offset += len;
    }
    ranks
}

/// Requests for these columns on each level.
fn on_levels(columns: &[Vec<Request>], ncol: u64, nlev: u64) -> Vec<Vec<Request>> {
    let rank = |runs: &Vec<Request>| {
        let level = |lev| runs.iter().map(move |run| (lev * ncol + run.offset, run.len));
        let runs = (0..nlev).flat_map(level).map(|(offset, len)| Request { offset, len });
        runs.collect()
    };
    columns.iter().map(rank).collect()
}

impl Case {
    /// The F case.
    pub(crate) fn f() -> Self {
        let columns = dealt(NCOL, RANKS, 4);
        let mut vars = Vec::new();
        let double = Type::Double;
        for name in ["lat", "lon"] {
            vars.push((name.to_owned(), double, vec![COL], Some(1)));
        }
        vars.push(("area".to_owned(), double, vec![COL], Some(0)));
        for n in 0..6 {
            let dim = if n % 2 == 0 { LEV } else { ILEV };
            vars.push((format!("hybrid{n}"), double, vec![dim], None));
        }
        for n in 0..6 {
            vars.push((format!("constant{n}"), Type::Int, vec![], None));
        }
        vars.push(("date_written".to_owned(), Type::Char, vec![TIME, CHARS], None));
        vars.push(("time_bnds".to_owned(), double, vec![TIME, NBND], None));
        for n in 0..13 {
            let kind = if n % 2 == 0 { double } else { Type::Int };
            vars.push((format!("gas{n}"), kind, vec![TIME], None));
        }
        vars.extend((0..FLAT).map(|n| (format!("FLAT{n}"), double, vec![TIME, COL], Some(1))));
        for n in 0..DEEP {
            let name = if n == 60 { CLOUD.to_owned() } else { format!("DEEP{n}") };
            vars.push((name, double, vec![TIME, LEV, COL], Some(2)));
        }
        assert_eq!(vars.len(), 414);
        let deep = on_levels(&columns, NCOL, NLEV);
        let decompositions =
            vec![(vec![COL], dealt(NCOL, RANKS, 36)), (vec![COL], columns), (vec![LEV, COL], deep)];
        Self::new([NLEV, NCOL], vars, decompositions, RANKS)
    }

    /// The F case with one variable only.
    pub(crate) fn one() -> Self {
        let mut case = Self::f();
        case.vars.retain(|(name, ..)| name == CLOUD);
        case
    }

    /// A case of `nranks` ranks with 8 elements each, and with few variables.
    pub(crate) fn of_many(nranks: u32) -> Self {
        let ncol = 8 * u64::from(nranks);
        let columns = dealt(ncol, nranks, 1);
        let name = |n| (format!("FLAT{n}"), Type::Double, vec![TIME, COL], Some(0));
        Self::new([2, ncol], (0..32).map(name).collect(), vec![(vec![COL], columns)], nranks)
    }

    fn new(
        [lev, col]: [u64; 2],
        vars: Vec<(String, Type, Vec<u64>, Option<usize>)>,
        decompositions: Vec<(Vec<u64>, Vec<Vec<Request>>)>,
        nranks: u32,
    ) -> Self {
        let lengths = [("nbnd", 2), ("chars", 8), ("lev", lev), ("ilev", lev + 1), ("ncol", col)];
        let dims = lengths.map(|(name, length)| DimDef { name, length });
        let dims = [DimDef::record("time")].into_iter().chain(dims).collect();
        let attrs = vec![AttrDef::new("title", "a set like that of the F case of E3SM")];
        let sum = |requests: &Vec<Request>| requests.iter().map(|run| run.len).sum();
        let sums = |(_, ranks): &(_, Vec<_>)| ranks.iter().map(sum).collect();
        let lens = decompositions.iter().map(sums).collect();
        Self { dims, attrs, vars, decompositions, lens, nranks }
    }

    /// Makes the files of a set, without values.
    pub(crate) fn create(
        &self,
        path: &Path,
        (container, subfiles): (Container, u32),
        records: u64,
    ) -> Writer {
        let attrs = [
            AttrDef::new("units", "a unit as long as others"),
            AttrDef::new("long_name", "what the variable is, in some words, and how it was made"),
            AttrDef::new("cell_methods", "time: mean of some steps"),
        ];
        let vars = self.vars.iter().map(|(name, nc_type, dimids, _)| {
            (VarDef { name, nc_type: *nc_type, dimids }, attrs.as_slice())
        });
        let vars: Vec<_> = vars.collect();
        let definition = Definition { dims: &self.dims, attrs: &self.attrs, vars: &vars };
        let mut builder = Builder::new(&definition, NonZeroU32::new(self.nranks).unwrap())
            .container(container)
            .subfiles(NonZeroU32::new(subfiles).unwrap())
            .records(records);
        for (dims, requests) in &self.decompositions {
            builder = builder.decomposition(dims, requests.clone());
        }
        for (varid, (.., of)) in (0..).zip(&self.vars) {
            if let Some(of) = of {
                builder = builder.decomposed(varid, *of);
            }
        }
        builder.create(path).unwrap()
    }

    /// Writes all values of some ranks, variable by variable.
    pub(crate) fn fill(&self, writer: &Writer, ranks: &[u32], records: u64, values: &[f64]) {
        let ranks: Vec<_> = ranks.iter().map(|&rank| writer.rank(rank).unwrap()).collect();
        for (name, nc_type, dims, of) in &self.vars {
            let is_record = dims.first() == Some(&TIME);
            for record in 0..if is_record { records } else { 1 } {
                for rank in ranks.iter().filter(|rank| of.is_some() || rank.is_first()) {
                    let len = match of {
                        Some(of) => self.lens[*of][rank.number() as usize],
                        None => dims
                            .iter()
                            .filter(|dim| **dim != TIME)
                            .map(|&dim| self.dims[dim as usize].length)
                            .product::<u64>(),
                    } as usize;
                    match nc_type {
                        Type::Double => rank.put(name, record, &values[..len]),
                        Type::Int => rank.put(name, record, &vec![1_i32; len]),
                        _ => rank.put(name, record, &vec![b'a'; len]),
                    }
                    .unwrap();
                }
            }
        }
    }

    /// Writes a set, and returns its files.
    pub(crate) fn write(&self, path: &Path, kind: (Container, u32), records: u64) -> Vec<PathBuf> {
        let values: Vec<f64> = (0..NCOL * NLEV).map(|n| n as f64).collect();
        let writer = self.create(path, kind, records);
        for rank in 0..self.nranks {
            self.fill(&writer, &[rank], records, &values);
        }
        writer.close().unwrap();
        Set::open(path).unwrap().subfiles().map(|(_, path)| path).collect()
    }
}

/// Removes a set.
pub(crate) fn remove(files: &[PathBuf]) {
    files.iter().for_each(|path| fs::remove_file(path).unwrap());
}

/// The bytes of some files.
pub(crate) fn bytes(files: &[PathBuf]) -> u64 {
    files.iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}
