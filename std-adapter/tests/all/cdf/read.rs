//! What the library reads.

use super::{all, golden, list};
use crate::run::hex_sha256;
use std::fs;
use std::num::NonZeroUsize;
use striae::cdf::{ErrorKind, File, OpenOptions, Region, Variable, whole};
use striae::{direct, error};
use striae_core::cdf::{
    Alignment, Definition, DimDef, Encode, Error as Wrong, Plan, Type, VarDef, Version,
};

/// The bytes of a region, piece by piece.
fn pieces(file: &File, variable: Variable<'_>, region: Region<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    let mut each = |bytes: &[u8]| {
        all.extend_from_slice(bytes);
        true
    };
    file.read_pieces(variable, region, &mut each).unwrap();
    all
}

#[test]
fn every_variable_of_every_golden_file_is_that_of_the_libraries() {
    for (path, expected) in all() {
        let file = File::open(&path).unwrap();
        let header = file.header();
        assert_eq!(header.numrecs(), expected["numrecs"], "{path}");
        assert_eq!(header.head().header_len, expected["header_len"], "{path}");
        assert_eq!(header.head().recsize, expected["recsize"], "{path}");
        assert_eq!(header.variables().len(), list(&expected["vars"]).len());
        for (variable, expected) in header.variables().zip(list(&expected["vars"])) {
            assert_eq!(expected["name"], variable.name());
            let start = vec![0; variable.shape().len()];
            let bytes = pieces(&file, variable, whole(variable, &start));
            assert_eq!(expected["sha256_be"], hex_sha256(&bytes), "{path} {}", variable.name());
            let mut again = vec![0; bytes.len()];
            file.read_bytes_into(variable, whole(variable, &start), &mut again).unwrap();
            assert_eq!(again, bytes);
        }
    }
}

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % bound.max(1)
    }
}

/// The values of a region, one after another, from those of the whole variable.
fn picked(all: &[u8], size: u64, shape: &[u64], region: Region<'_>) -> Vec<u8> {
    let count: u64 = region.count.iter().product();
    let mut bytes = Vec::new();
    for number in 0..count {
        let (mut rest, mut place, mut weight) = (number, 0, 1);
        for dim in (0..shape.len()).rev() {
            let index = rest % region.count[dim];
            rest /= region.count[dim];
            let stride = region.stride.map_or(1, |stride| stride[dim]);
            place += (region.start[dim] + index * stride) * weight;
            weight *= shape[dim];
        }
        let at = (place * size) as usize;
        bytes.extend_from_slice(&all[at..at + size as usize]);
    }
    bytes
}

/// Compares random regions of a variable with its values.
fn compare_regions(files: &[File], name: &str, times: u64) {
    let variable = files[0].variable(name).unwrap();
    let shape = variable.shape().to_vec();
    let start = vec![0; shape.len()];
    let all = pieces(&files[0], variable, whole(variable, &start));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..times {
        let start: Vec<_> = shape.iter().map(|&length| random.below(length)).collect();
        let stride: Vec<_> = shape.iter().map(|_| random.below(3) + 1).collect();
        let most = |dim: usize| (shape[dim] - start[dim]).div_ceil(stride[dim]);
        let count: Vec<_> = (0..shape.len()).map(|dim| random.below(most(dim)) + 1).collect();
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let expected = picked(&all, variable.nc_type().size(), &shape, region);
        for file in files {
            let variable = file.variable(name).unwrap();
            let mut bytes = vec![0; expected.len()];
            file.read_bytes_into(variable, region, &mut bytes).unwrap();
            assert!(bytes == expected, "{name} {region:?}");
        }
        assert!(pieces(&files[0], variable, region) == expected, "{name} {region:?}");
    }
}

#[test]
fn any_region_has_the_values_of_the_whole() {
    for (path, _) in all() {
        let file = File::open(&path).unwrap();
        let variables = file.header().variables().filter(|variable| !variable.is_empty());
        let names: Vec<_> = variables.map(|variable| variable.name().to_owned()).collect();
        for name in names {
            compare_regions(&[File::open(&path).unwrap()], &name, 20);
        }
    }
}

/// A file with a fixed variable of 3 x 500 x 1200 values, and with records of two variables.
fn large(path: &std::path::Path) {
    let lengths = [("y", 500), ("x", 1200), ("z", 3)];
    let mut dims = vec![DimDef::record("t")];
    dims.extend(lengths.map(|(name, length)| DimDef { name, length }));
    let var = |name, nc_type, dimids| (VarDef { name, nc_type, dimids }, &[][..]);
    let vars = [
        var("fixed", Type::Double, &[3, 1, 2][..]),
        var("record", Type::Short, &[0, 2][..]),
        var("other", Type::Byte, &[0, 3][..]),
    ];
    let definition = Definition { dims: &dims, attrs: &[], vars: &vars };
    let plan = Plan::new(&definition, Version::Cdf2, Alignment::COMPACT).unwrap();
    let records = 2000;
    let len = plan.record_begin() + records * plan.recsize();
    let mut bytes: Vec<u8> = (0..len).map(|at| (at * at % 251) as u8).collect();
    let encode = Encode::new(&definition, &plan, records, &mut [0; 512]).map(|encode| {
        encode.run(&mut &mut bytes[..]).unwrap();
    });
    encode.unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn threads_and_direct_reading_give_the_same_values() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("large.nc");
    large(&path);
    let threads = |n| OpenOptions::new().threads(NonZeroUsize::new(n).unwrap());
    let direct = OpenOptions::new().direct(Some(direct::OpenOptions::new()));
    let files = [threads(1), threads(3), direct].map(|options| options.open(&path).unwrap());
    compare_regions(&files, "fixed", 4);
    compare_regions(&files, "record", 8);
    compare_regions(&files, "other", 8);
    let fixed = |file: &File| file.read::<f64>(file.variable("fixed").unwrap()).unwrap();
    let [one, many, direct] = files.each_ref().map(fixed);
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let (one, many, direct) = (bits(one), bits(many), bits(direct));
    assert!(one == many && one == direct);
}

fn kind_of(error: striae::Error) -> String {
    let error::ErrorKind::Cdf(kind) = error.kind() else { panic!("{error}") };
    match kind {
        ErrorKind::Format(error) | ErrorKind::Variable { error, .. } => format!("{error:?}"),
        kind => format!("{kind:?}"),
    }
}

#[test]
fn wrong_requests_are_refused() {
    let file = File::open(golden("cdf1_onerec_short.nc")).unwrap();
    let r = file.variable("r").unwrap();
    assert!(kind_of(file.variable("q").unwrap_err()).starts_with("NoVariable"));
    assert!(kind_of(file.read::<i32>(r).unwrap_err()).starts_with("NotOfType"));
    let region = Region { start: &[3, 0], count: &[2, 3], stride: None };
    let out = Wrong::OutOfShape { dim: 0, last: 4, length: 4 };
    assert_eq!(kind_of(file.read_region::<i16>(r, region).unwrap_err()), format!("{out:?}"));
    let region = Region { start: &[0, 0], count: &[2, 3], stride: None };
    assert!(kind_of(file.read_into(r, region, &mut [0_i16; 5]).unwrap_err()).starts_with("Len"));
    let none = Region { start: &[4, 0], count: &[0, 3], stride: None };
    assert_eq!(file.read_region::<i16>(r, none).unwrap(), [0; 0]);
}
