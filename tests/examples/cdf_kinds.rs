//! Writes classic netCDF files of many kinds, and continues files; `tests/interop/cdf_stock.py` has
//! netCDF-C, PnetCDF and SciPy read and continue them.
//!
//! ```text
//! cdf_kinds DIR            writes the files
//! cdf_kinds FILE COUNT     appends records to a file
//! ```
//!
//! Value `i` of variable `v`, in record `r` of the file, is `(37 v + 11 r + i) % 100`, for text the
//! letter with that number modulo 26. The last record of a file `*_filled.nc` has none; every
//! second value of the record before it is missing.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "part of tests: a panic fails them"
)]

use std::path::Path;
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Fill, Plan, Reader, Region, Slab, Slot, Type, Values,
    VarDef, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_kit::growing::Growing;

type File = Writer<Growing, Vec<Slot>, Vec<u8>>;

/// `count` values, big-endian, the first of which has number `first`.
fn values(ty: Type, varid: u64, record: u64, numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        let value = u8::try_from((37 * varid + 11 * record + number) % 100).unwrap();
        match ty {
            Type::Char => bytes.push(b'a' + value % 26),
            Type::Byte | Type::Ubyte => bytes.push(value),
            Type::Short | Type::Ushort => bytes.extend(u16::from(value).to_be_bytes()),
            Type::Int | Type::Uint => bytes.extend(u32::from(value).to_be_bytes()),
            Type::Int64 | Type::Uint64 => bytes.extend(u64::from(value).to_be_bytes()),
            Type::Float => bytes.extend(f32::from(value).to_be_bytes()),
            Type::Double => bytes.extend(f64::from(value).to_be_bytes()),
        }
    }
    bytes
}

/// A variable: its number, type, shape without the record dimension, whether it has records.
#[derive(Clone)]
struct Var {
    varid: u64,
    ty: Type,
    shape: Vec<u64>,
    is_record: bool,
}

impl Var {
    fn count(&self) -> u64 {
        self.shape.iter().product()
    }

    fn put(&self, file: &mut File, record: u64) {
        let bytes = values(self.ty, self.varid, record, 0..self.count());
        file.put(self.varid, Values::new(self.ty, ByteOrder::Big, &bytes)).unwrap();
    }

    /// Puts every second value of the last dimension.
    fn put_half(&self, file: &mut File, record: u64) {
        let shape = [&[record + 1], &self.shape[..]].concat();
        let start: Vec<_> = [&[record][..], &vec![0; self.shape.len()]].concat();
        let (mut count, mut stride) = ([&[1], &self.shape[..]].concat(), vec![1; shape.len()]);
        let Some(last) = self.shape.len().checked_sub(1) else { return self.put(file, record) };
        count[last + 1] = self.shape[last].div_ceil(2);
        stride[last + 1] = 2;
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let slab = Slab::new(file.layout(self.varid).unwrap(), &shape, region).unwrap();
        let row = self.shape[last];
        let numbers = (0..self.count()).filter(|number| (number % row).is_multiple_of(2));
        let bytes = values(self.ty, self.varid, record, numbers);
        file.put_slab(self.varid, slab, Values::new(self.ty, ByteOrder::Big, &bytes)).unwrap();
    }
}

const DIMS: [DimDef<'static>; 4] = [
    DimDef { name: "x", length: 3 },
    DimDef::record("zeit_größe"),
    DimDef { name: "y", length: 2 },
    DimDef { name: "one", length: 1 },
];

/// The dimids of the variables of each type.
const SHAPES: [&[u64]; 5] = [&[1, 0], &[0], &[], &[1], &[1, 2, 0]];

fn var_of(varid: u64, ty: Type, dimids: &[u64]) -> Var {
    let lengths: Vec<_> = dimids.iter().map(|&dimid| DIMS[dimid as usize].length).collect();
    let is_record = lengths.first() == Some(&0);
    let shape = lengths[usize::from(is_record)..].to_vec();
    Var { varid, ty, shape, is_record }
}

/// Writes a file with these variables and this number of records.
fn write(
    version: Version,
    alignment: Alignment,
    kinds: &[(Type, &'static [u64])],
    fill: Fill,
    numrecs: u64,
) -> Vec<u8> {
    let names: Vec<_> = (0..kinds.len()).map(|varid| format!("v{varid}")).collect();
    let all = [
        AttrDef::new("title", "made by striae"),
        AttrDef::new("empty", ""),
        AttrDef::new("i1", &[-1_i8, 2, 3]),
        AttrDef::new("i2", &[-300_i16, 301, 302]),
        AttrDef::new("i4", &[-70_000_i32, 70_001]),
        AttrDef::new("f4", &0.5_f32),
        AttrDef::new("f8", &[-0.25_f64, 1e300]),
        AttrDef::new("u8", &[1_u64 << 63]),
    ];
    let attrs = &all[..if version == Version::Cdf5 { 8 } else { 7 }];
    let own = [AttrDef::new("_FillValue", &-7_i16), AttrDef::new("units", "K")];
    let vars: Vec<_> = kinds
        .iter()
        .zip(&names)
        .map(|(&(nc_type, dimids), name)| {
            let attrs = if nc_type == Type::Short { &own[..] } else { &own[1..] };
            (VarDef { name, nc_type, dimids }, attrs)
        })
        .collect();
    let definition = Definition { dims: &DIMS, attrs, vars: &vars };
    let plan = Plan::new(&definition, version, alignment).unwrap();
    let (slots, window) = (vec![Slot::EMPTY; vars.len()], vec![0; 128]);
    let mut file =
        Writer::create(Growing::default(), &definition, &plan, fill, slots, window).unwrap();
    let vars = (0..).zip(kinds).map(|(varid, (ty, dimids))| var_of(varid, *ty, dimids));
    let vars: Vec<_> = vars.collect();
    vars.iter().filter(|var| !var.is_record).for_each(|var| var.put(&mut file, 0));
    for record in 0..numrecs {
        for var in vars.iter().filter(|var| var.is_record) {
            match fill {
                Fill::Values if record + 1 == numrecs => {}
                Fill::Values if record + 2 == numrecs => var.put_half(&mut file, record),
                _ => var.put(&mut file, record),
            }
        }
        file.end_record().unwrap();
        file.commit().unwrap();
    }
    file.close().unwrap();
    file.into_store().0
}

fn make(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    for version in Version::ALL {
        let types: Vec<_> = Type::ALL.into_iter().filter(|&ty| version.has(ty)).collect();
        let all: Vec<_> = types.iter().flat_map(|&ty| SHAPES.map(|dimids| (ty, dimids))).collect();
        let save = |name: &str, bytes: Vec<u8>| {
            std::fs::write(dir.join(format!("cdf{}_{name}.nc", version.number())), bytes).unwrap();
        };
        for (name, alignment) in [("compact", Alignment::COMPACT), ("", Alignment::default())] {
            save(&format!("all{name}"), write(version, alignment, &all, Fill::None, 3));
            save(&format!("all{name}_filled"), write(version, alignment, &all, Fill::Values, 4));
        }
        save("all_no_record", write(version, Alignment::COMPACT, &all, Fill::Values, 0));
        save("nothing", write(version, Alignment::default(), &[], Fill::Values, 0));
        for &ty in &types {
            let sole: [(Type, &[u64]); 2] = [(ty, &[0]), (ty, &[1, 0])];
            let bytes = write(version, Alignment::COMPACT, &sole, Fill::None, 5);
            save(&format!("sole_{ty}"), bytes);
            let fixed = write(version, Alignment::COMPACT, &sole[..1], Fill::None, 0);
            save(&format!("fixed_{ty}"), fixed);
        }
    }
}

/// Appends records to a file of any program, whose variables have the values that are said above.
fn append(path: &Path, count: u64) {
    let bytes = std::fs::read(path).unwrap();
    let (mut lengths, mut window) = ([0; 16], vec![0; 4096]);
    let file = Reader::open(&bytes[..], &mut lengths, &mut window).unwrap();
    let vars = file.variables(vec![0; 4096]).map(Result::unwrap).map(|variable| {
        let mut shape = [0; 8];
        let shape = file.shape(&variable, &mut shape, &mut [0; 64]).unwrap();
        let is_record = variable.layout.recsize.is_some();
        let shape = shape[usize::from(is_record)..].to_vec();
        Var { varid: variable.var.varid, ty: variable.var.nc_type, shape, is_record }
    });
    let vars: Vec<_> = vars.collect();
    let slots = vec![Slot::EMPTY; vars.len()];
    let mut lengths = [0; 16];
    let mut file = Writer::open(Growing(bytes), Fill::Values, &mut lengths, slots, window).unwrap();
    for _ in 0..count {
        let record = file.records();
        vars.iter().filter(|var| var.is_record).for_each(|var| var.put(&mut file, record));
        file.end_record().unwrap();
    }
    file.close().unwrap();
    std::fs::write(path, &file.into_store().0).unwrap();
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match &args[..] {
        [dir] => make(dir.as_ref()),
        [file, count] => append(file.as_ref(), count.parse().unwrap()),
        _ => std::process::exit(2),
    }
}
