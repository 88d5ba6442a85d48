//! Sets of the shapes of E3SM's output files.

use clap::ValueEnum;
use std::num::NonZeroU64;
use std::path::Path;
use striae::blob::Map;
use striae::striae_core::cdf::{AttrDef, Definition, DimDef, Type, VarDef};
use striae_mpi::blob::Request;
use striae_mpi::{Code, Failure};

/// Columns, cells or points that follow each other and are of one rank, in a map that is made up.
const RUN: u64 = 2;

/// A history file of E3SM, as E3SM-IO writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// The atmosphere: 414 variables, 3 maps; the cells are columns.
    F,
    /// The ocean: 52 variables, 6 maps; there are 3 edges and 2 vertices a cell.
    G,
    /// The land: 560 variables, 5 maps; the cells are rows, of twice as many points.
    I,
}

/// A dimension of a map that is made up: so many, or so many for each cell.
#[derive(Debug, Clone, Copy)]
enum Dim {
    Levels(u64),
    Cells(u64),
}

/// The number of variables of each map and the dimensions of the map, and the number of other
/// variables.
struct Shape {
    maps: &'static [(usize, &'static [Dim])],
    whole: usize,
    cells: u64,
}

use Dim::{Cells, Levels};

impl Case {
    const fn shape(self) -> Shape {
        match self {
            Self::F => Shape {
                maps: &[(1, &[Cells(1)]), (323, &[Cells(1)]), (63, &[Levels(72), Cells(1)])],
                whole: 27,
                cells: 866,
            },
            Self::G => Shape {
                maps: &[
                    (6, &[Cells(1)]),
                    (2, &[Cells(3)]),
                    (25, &[Cells(1), Levels(80)]),
                    (2, &[Cells(3), Levels(80)]),
                    (2, &[Cells(2), Levels(80)]),
                    (4, &[Cells(1), Levels(81)]),
                ],
                whole: 11,
                cells: 1280,
            },
            Self::I => Shape {
                maps: &[
                    (465, &[Cells(1), Cells(2)]),
                    (75, &[Levels(15), Cells(1), Cells(2)]),
                    (4, &[Levels(10), Cells(1), Cells(2)]),
                    (1, &[Levels(19), Cells(1), Cells(2)]),
                    (1, &[Levels(17), Cells(1), Cells(2)]),
                ],
                whole: 14,
                cells: 36,
            },
        }
    }
}

/// The part of a case that one rank has.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) decompositions: Vec<Decomposition>,
    /// Variables of one value a record.
    pub(crate) whole: usize,
    dims: Vec<(String, u64)>,
}

/// A decomposition, and the rank's requests.
#[derive(Debug)]
pub(crate) struct Decomposition {
    pub(crate) variables: usize,
    pub(crate) dimids: Vec<u64>,
    pub(crate) requests: Vec<Request>,
}

impl Decomposition {
    /// The number of the rank's elements of a variable.
    pub(crate) fn len(&self) -> u64 {
        self.requests.iter().fold(0, |sum, request| request.len.saturating_add(sum))
    }
}

impl Part {
    /// What rank `rank` of `size` has by the map at `path`, or by one that is made up.
    pub(crate) fn new(
        case: Case,
        (path, cells): (Option<&Path>, Option<NonZeroU64>),
        (rank, size): (u32, u32),
    ) -> Result<Self, Failure> {
        let Shape { maps, whole, cells: default } = case.shape();
        let cells = cells.map_or(default, NonZeroU64::get);
        let mut part =
            Self { decompositions: Vec::new(), whole, dims: vec![("time".to_owned(), 0)] };
        let Some(path) = path else {
            for (variables, dims) in maps {
                let lengths = dims.iter().map(|dim| match *dim {
                    Levels(levels) => levels,
                    Cells(times) => times.saturating_mul(cells),
                });
                let lengths: Vec<u64> = lengths.collect();
                let requests = dealt(&lengths, dims, (rank, size));
                part.add(*variables, &lengths, requests);
            }
            return Ok(part);
        };
        let refused = |text: String| Failure::new(Code::Refused, text);
        let map = Map::open(path).map_err(|error| refused(error.to_string()))?;
        let (found, wanted) = (map.decompositions().len(), maps.len());
        if found != wanted {
            let text = format!("{}: {found} decompositions, {case:?} has {wanted}", path.display());
            return Err(refused(text));
        }
        for ((variables, _), decomposition) in maps.iter().zip(map.decompositions()) {
            let begin = |rank: u32| {
                let product = u128::from(map.nprocs()).saturating_mul(rank.into());
                u64::try_from(product.checked_div(size.into()).unwrap_or(0)).unwrap_or(u64::MAX)
            };
            let ranks = begin(rank)..begin(rank.saturating_add(1));
            let requests = ranks.flat_map(|rank| decomposition.requests(rank)).copied().collect();
            part.add(*variables, decomposition.dims(), requests);
        }
        Ok(part)
    }

    fn add(&mut self, variables: usize, lengths: &[u64], requests: Vec<Request>) {
        let dims = &mut self.dims;
        let dimid = |&length: &u64| {
            let known = dims.iter().position(|(_, dim)| *dim == length).unwrap_or(dims.len());
            if known == dims.len() {
                dims.push((format!("dim_{length}"), length));
            }
            u64::try_from(known).unwrap_or(u64::MAX)
        };
        let dimids = lengths.iter().map(dimid).collect();
        self.decompositions.push(Decomposition { variables, dimids, requests });
    }

    /// The names of all variables, of the decompositions in order and then the whole ones.
    pub(crate) fn names(&self) -> Vec<String> {
        let of = |(number, decomposition): (usize, &Decomposition)| {
            (0..decomposition.variables)
                .map(move |at| format!("D{}_{at}", number.saturating_add(1)))
        };
        let decomposed = self.decompositions.iter().enumerate().flat_map(of);
        decomposed.chain((0..self.whole).map(|at| format!("whole_{at}"))).collect()
    }

    /// Passes the definition of the canonical file to `work`; all variables have records.
    pub(crate) fn define<T>(&self, names: &[String], work: impl FnOnce(&Definition<'_>) -> T) -> T {
        let attrs = [
            AttrDef::new("units", "a unit as long as others"),
            AttrDef::new("long_name", "what the variable is, in some words, and how it was made"),
            AttrDef::new("cell_methods", "time: mean of some steps"),
        ];
        let with_time = |dimids: &[u64]| [&[0], dimids].concat();
        let of = |of: &Decomposition| vec![with_time(&of.dimids); of.variables];
        let mut dimids: Vec<_> = self.decompositions.iter().flat_map(of).collect();
        dimids.resize(names.len(), with_time(&[]));
        let vars = names.iter().zip(&dimids).map(|(name, dimids)| {
            (VarDef { name, nc_type: Type::Double, dimids }, attrs.as_slice())
        });
        let vars: Vec<_> = vars.collect();
        let dims = self.dims.iter().map(|(name, length)| DimDef { name, length: *length });
        let dims: Vec<_> = dims.collect();
        work(&Definition { dims: &dims, attrs: &[], vars: &vars })
    }
}

/// Deals runs of cells to the ranks in turn, on all levels alike.
fn dealt(lengths: &[u64], dims: &[Dim], (rank, size): (u32, u32)) -> Vec<Request> {
    let is_cells = |dim: &Dim| matches!(dim, Cells(_));
    let first = dims.iter().position(is_cells).unwrap_or(0);
    let end = dims.iter().rposition(is_cells).map_or(dims.len(), |last| last.saturating_add(1));
    let product = |part: Option<&[u64]>| -> u64 { part.unwrap_or_default().iter().product() };
    let outer = product(lengths.get(..first));
    let cells = product(lengths.get(first..end));
    let inner = product(lengths.get(end..));
    let step = RUN.saturating_mul(size.into());
    let begin = RUN.saturating_mul(rank.into());
    let runs = (0..outer).flat_map(|level| {
        (begin..cells).step_by(usize::try_from(step).unwrap_or(usize::MAX)).map(move |cell| {
            let offset = level.saturating_mul(cells).saturating_add(cell).saturating_mul(inner);
            let len = RUN.min(cells.saturating_sub(cell)).saturating_mul(inner);
            Request { offset, len }
        })
    });
    runs.collect()
}
