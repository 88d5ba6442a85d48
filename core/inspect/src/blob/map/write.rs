//! Maps as the bytes of files: text maps of PIO, and netCDF maps as E3SM-IO's dat2nc writes them.

use super::{Decomposition, Map};
use crate::blob::header;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::num::NonZeroU32;
use striae_core::blob::map::{Error, Request};
use striae_core::cdf::{Alignment, AttrDef, Definition, DimDef, Plan, Type, VarDef, Version};
use striae_core::store::usize_to_u64;

/// A decomposition as a text map. All ranks of a netCDF map, and those of a text that have a line,
/// have one; requests that fill holes are left out.
#[must_use]
pub fn text(of: &Decomposition) -> String {
    let mut out = format!("version 2001 npes {} ndims {} \n", of.nprocs, of.dims.len());
    for length in of.dims.iter().rev() {
        let _ = write!(out, "{length} "); // a String takes everything
    }
    out.push('\n');
    for rank in of.ranks() {
        let requests = of.requests(rank);
        let count = requests.iter().map(|one| one.len).fold(0, u64::saturating_add);
        let _ = writeln!(out, "{rank} {count}");
        for element in requests.iter().flat_map(|one| one.offset..one.end()) {
            let _ = write!(out, "{} ", element.saturating_add(1));
        }
        out.push('\n');
    }
    out
}

/// The most bytes of the text of [`text`]: no element is longer than the number of all.
#[must_use]
pub fn text_len(of: &Decomposition) -> u64 {
    let digits = |number: u64| u64::from(number.checked_ilog10().unwrap_or(0)).saturating_add(1);
    let elements = of.ranks().flat_map(|rank| of.requests(rank)).map(|one| one.len);
    let elements = elements.fold(0, u64::saturating_add);
    let each = digits(of.grid.total()).saturating_add(1);
    let ranks = usize_to_u64(of.lists.len());
    let lines = ranks.saturating_mul(digits(of.nprocs).saturating_add(each).saturating_add(2));
    let head = usize_to_u64(of.dims.len()).saturating_mul(21).saturating_add(64);
    elements.saturating_mul(each).saturating_add(lines).saturating_add(head)
}

/// The most ranks of a netCDF map that is written.
pub const MAX_NPROCS: u64 = 1 << 24;

/// Descriptions of the variables of a decomposition.
const NREQS: &str = "Number of noncontiguous requests per process";
const FILL_STARTS: &str =
    "Start index in offsets[] and lengths[] for requests to be written with fill values";
const OFFSETS: &str = "Flattened starting indices of noncontiguous requests";
const LENGTHS: &str = "Lengths of noncontiguous requests";
const RAW_NREQS: &str = "Number of file offsets accessed per process before merge";
const RAW_OFFSETS: &str = "File offsets accessed before merge";

/// How to write a netCDF map.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NetCdf<'a> {
    /// The attribute `command_line`.
    pub command_line: &'a str,
    /// Whether each element is stored too, as by `dat2nc -r`.
    pub raw: bool,
}

/// The columns of a decomposition.
struct Columns {
    id: NonZeroU32,
    dims: Vec<i32>,
    nreqs: Vec<i32>,
    fill_starts: Vec<i32>,
    offsets: Vec<i32>,
    lengths: Vec<i32>,
    raw: Option<(Vec<i32>, Vec<i32>)>,
    is_covered: bool,
}

impl NetCdf<'_> {
    /// The bytes of the columns that [`write`](Self::write) writes, without the header.
    #[must_use]
    pub fn len(&self, map: &Map) -> u64 {
        let of = |one: &Decomposition| {
            let requests = usize_to_u64(one.requests.len()).max(1);
            let raw = match self.raw {
                true => {
                    one.requests.iter().map(|one| one.len).fold(one.nprocs, u64::saturating_add)
                }
                false => 0,
            };
            let both = one.nprocs.saturating_add(requests).saturating_mul(2);
            both.saturating_add(raw).saturating_mul(4)
        };
        map.decompositions.iter().map(of).fold(0, u64::saturating_add)
    }

    /// The bytes of a CDF-5 file with this map.
    ///
    /// A decomposition without any request gets one of no elements, which no rank has: netCDF has
    /// no dimension of length 0.
    ///
    /// # Errors
    /// [`Error::NoRanks`] for a map without ranks; [`Error::TooLarge`] for a number that does not
    /// fit into 31 bits.
    pub fn write(&self, map: &Map) -> Result<Vec<u8>, Error> {
        if map.nprocs == 0 {
            return Err(Error::NoRanks);
        }
        if MAX_NPROCS < map.nprocs {
            return Err(Error::TooLarge { value: map.nprocs, max: MAX_NPROCS });
        }
        let columns = |one| Columns::new(one, self.raw);
        let columns: Vec<_> = map.decompositions.iter().map(columns).collect::<Result<_, _>>()?;
        let names: Vec<Names> = columns.iter().map(Names::new).collect();
        let (mut dims, mut attrs, mut vars) = (Vec::new(), Vec::new(), Vec::new());
        dims.push(DimDef { name: "num_decomp", length: usize_to_u64(columns.len()) });
        dims.push(DimDef { name: "decomp_nprocs", length: map.nprocs });
        attrs.push(AttrDef::new("command_line", self.command_line));
        for (column, names) in columns.iter().zip(&names) {
            column.define(names, (&mut dims, &mut attrs, &mut vars));
        }
        let vars: Vec<(VarDef<'_>, &[AttrDef<'_>])> = vars
            .iter()
            .map(|var: &Var<'_>| {
                let Var { name, dimids, attrs, .. } = var;
                (VarDef { name, nc_type: Type::Int, dimids }, &attrs[..])
            })
            .collect();
        let definition = Definition { dims: &dims, attrs: &attrs, vars: &vars };
        let values = columns.iter().flat_map(Columns::in_order);
        encode(&definition, values)
    }
}

/// A variable.
struct Var<'a> {
    name: &'a str,
    dimids: [u64; 1],
    attrs: Vec<AttrDef<'a>>,
}

/// The names of a decomposition's dimensions, attributes and variables.
struct Names {
    dims: [String; 2],
    attrs: [String; 5],
    vars: [String; 6],
    extremes: Extremes,
}

/// Values of attributes.
struct Extremes {
    ndims: [i32; 1],
    max_nreqs: [i32; 1],
    min_nreqs: [i32; 1],
    max_len: [i32; 1],
    min_len: [i32; 1],
}

impl Names {
    fn new(of: &Columns) -> Self {
        let name = |suffix: &str| format!("D{}.{suffix}", of.id);
        let min = |column: &[i32]| [column.iter().copied().min().unwrap_or(0)];
        let max = |column: &[i32]| [column.iter().copied().max().unwrap_or(0)];
        Self {
            dims: ["total_nreqs", "total_raw_nreqs"].map(name),
            attrs: ["ndims", "dims", "max_nreqs", "min_nreqs", "fully_covered"].map(name),
            vars: ["nreqs", "fill_starts", "offsets", "lengths", "raw_nreqs", "raw_offsets"]
                .map(name),
            extremes: Extremes {
                ndims: [i32::try_from(of.dims.len()).unwrap_or(i32::MAX)],
                max_nreqs: max(&of.nreqs),
                min_nreqs: min(&of.nreqs),
                max_len: max(&of.lengths),
                min_len: min(&of.lengths),
            },
        }
    }
}

/// The lists of a definition.
type Lists<'l, 'a> = (&'l mut Vec<DimDef<'a>>, &'l mut Vec<AttrDef<'a>>, &'l mut Vec<Var<'a>>);

impl Columns {
    fn new(of: &Decomposition, raw: bool) -> Result<Self, Error> {
        let dims = of.dims.iter().map(|&length| int(length)).collect::<Result<_, _>>()?;
        let mut all = Self {
            id: of.id,
            dims,
            nreqs: Vec::new(),
            fill_starts: Vec::new(),
            offsets: Vec::new(),
            lengths: Vec::new(),
            raw: raw.then(Default::default),
            is_covered: covers(of),
        };
        for rank in 0..of.nprocs {
            let (requests, fills) = (of.requests(rank), of.fills(rank));
            let count = usize_to_u64(requests.len());
            all.fill_starts.push(int(count)?);
            all.nreqs.push(int(count.saturating_add(usize_to_u64(fills.len())))?);
            for one in requests.iter().chain(fills) {
                all.offsets.push(int(one.offset)?);
                all.lengths.push(int(one.len)?);
            }
            all.push_raw(requests)?;
        }
        let raw = all.raw.as_mut().map(|(_, offsets)| offsets);
        for column in [&mut all.offsets, &mut all.lengths].into_iter().chain(raw) {
            if column.is_empty() {
                column.push(0);
            }
        }
        Ok(all)
    }

    fn push_raw(&mut self, requests: &[Request]) -> Result<(), Error> {
        let Some((counts, offsets)) = &mut self.raw else { return Ok(()) };
        let count = requests.iter().map(|one| one.len).fold(0, u64::saturating_add);
        counts.push(int(count)?);
        for offset in requests.iter().flat_map(|one| one.offset..one.end()) {
            offsets.push(int(offset.saturating_add(1))?);
        }
        Ok(())
    }

    /// Adds dimensions, attributes and variables in the order of dat2nc.
    fn define<'a>(&'a self, names: &'a Names, (dims, attrs, vars): Lists<'_, 'a>) {
        let mut dim = |name: &'a str, column: &[i32]| {
            dims.push(DimDef { name, length: usize_to_u64(column.len()) });
            [usize_to_u64(dims.len()).saturating_sub(1)]
        };
        let mut var = |name: &'a str, dimids, description: &'static str, more: Vec<_>| {
            let mut attrs = vec![AttrDef::new("description", description)];
            attrs.extend(more);
            vars.push(Var { name, dimids, attrs });
        };
        let [total, total_raw] = &names.dims;
        let [nreqs, fill_starts, offsets, lengths, raw_nreqs, raw_offsets] = &names.vars;
        let Extremes { ndims, max_nreqs, min_nreqs, max_len, min_len } = &names.extremes;
        let per_rank = [1];
        var(nreqs, per_rank, NREQS, Vec::new());
        var(fill_starts, per_rank, FILL_STARTS, Vec::new());
        let per_request = dim(total, &self.offsets);
        var(offsets, per_request, OFFSETS, Vec::new());
        let of_lengths = vec![AttrDef::new("max", max_len), AttrDef::new("min", min_len)];
        var(lengths, per_request, LENGTHS, of_lengths);
        if let Some((_, raw)) = &self.raw {
            var(raw_nreqs, per_rank, RAW_NREQS, Vec::new());
            let per_element = dim(total_raw, raw);
            var(raw_offsets, per_element, RAW_OFFSETS, Vec::new());
        }
        let [ndims_name, dims_name, max_name, min_name, covered_name] = &names.attrs;
        attrs.push(AttrDef::new(ndims_name, ndims));
        attrs.push(AttrDef::new(dims_name, &self.dims[..]));
        attrs.push(AttrDef::new(max_name, max_nreqs));
        attrs.push(AttrDef::new(min_name, min_nreqs));
        attrs.push(AttrDef::new(covered_name, if self.is_covered { "true" } else { "false" }));
    }

    /// The values of the variables in definition order.
    fn in_order(&self) -> impl Iterator<Item = &[i32]> {
        let raw = self.raw.iter().flat_map(|(counts, offsets)| [&counts[..], offsets]);
        [&self.nreqs[..], &self.fill_starts, &self.offsets, &self.lengths].into_iter().chain(raw)
    }
}

/// Whether each element of the array has a rank.
fn covers(of: &Decomposition) -> bool {
    use striae_core::blob::map::{Fault, Faults};
    let mut runs = of.runs();
    !Faults::new(&mut runs, of.grid).any(|fault| matches!(fault, Fault::Hole { .. }))
}

fn int(value: u64) -> Result<i32, Error> {
    let max = u64::from(i32::MAX.unsigned_abs());
    i32::try_from(value).map_err(|_| Error::TooLarge { value, max })
}

/// The bytes of a file with these variables, whose values are integers of 4 bytes.
fn encode<'v>(
    definition: &Definition<'_>,
    values: impl Iterator<Item = &'v [i32]>,
) -> Result<Vec<u8>, Error> {
    let plan = Plan::new(definition, Version::Cdf5, Alignment::COMPACT)?;
    let mut bytes = header::encode(definition, &plan, (0, None))?;
    // Each variable begins where the one before ends: 4 bytes need no padding.
    bytes.extend(values.flatten().flat_map(|value| value.to_be_bytes()));
    Ok(bytes)
}
