//! Sets that are made byte by byte: holes, overlaps and requests outside the array, many subfiles.

use super::threads;
use crate::run::striae;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use striae::blob::{OpenOptions, Set};

/// The requests of a blob: offset and length.
type Blob = Vec<(u32, u32)>;

/// A set of one decomposition of an array of `rows` x `columns`, in CDF-5.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) numrecs: u32,
    /// For each subfile its blobs.
    pub(super) subfiles: Vec<Vec<Blob>>,
}

/// Big-endian parts of a CDF-5 file.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn int(&mut self, n: u32) {
        self.0.extend(n.to_be_bytes());
    }

    fn long(&mut self, n: u64) {
        self.0.extend(n.to_be_bytes());
    }

    fn name(&mut self, name: &str) {
        self.long(name.len() as u64);
        self.0.extend(name.as_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn attr(&mut self, name: &str, values: &[u32]) {
        self.name(name);
        self.int(4);
        self.long(values.len() as u64);
        values.iter().for_each(|value| self.int(*value));
    }

    fn attrs(&mut self, attrs: &[(&str, &[u32])]) {
        self.int(if attrs.is_empty() { 0 } else { 12 });
        self.long(attrs.len() as u64);
        attrs.iter().for_each(|(name, values)| self.attr(name, values));
    }
}

/// A variable: name, dimids, attributes, type, bytes.
type Var<'a> = (&'a str, &'a [u64], &'a [(&'a str, &'a [u32])], u32, u64);

impl Made {
    /// The value of an element that a blob has.
    pub(super) fn value(variable: u32, record: u32, subfile: usize, blob: usize, k: usize) -> u64 {
        let place = (subfile as u64) << 40 | (blob as u64) << 24 | k as u64;
        u64::from(variable) << 60 | u64::from(record) << 56 | place
    }

    fn subfile(&self, number: usize) -> Vec<u8> {
        let blobs = &self.subfiles[number];
        let count = |blob: &Blob| blob.iter().map(|(_, len)| *len).sum::<u32>();
        let nelems: u32 = blobs.iter().map(count).sum();
        let most = blobs.iter().map(Vec::len).max().unwrap() as u32;
        let n = blobs.len() as u64;
        let (nelems_dim, most_dim) = (u64::from(nelems.max(1)), u64::from(most.max(1)));
        let mut header = Bytes(b"CDF\x05".to_vec());
        header.long(self.numrecs.into());
        header.int(10);
        header.long(6);
        for (name, length) in [
            ("time", 0),
            ("row", self.rows.into()),
            ("column", self.columns.into()),
            ("nblobs", n),
            ("D1.nelems", nelems_dim),
            ("D1.max_nreqs", most_dim),
        ] {
            header.name(name);
            header.long(length);
        }
        let nsubfiles = [self.subfiles.len() as u32];
        let nprocs = [self.subfiles.iter().map(Vec::len).sum::<usize>() as u32];
        header.attrs(&[
            ("global_nprocs", &nprocs),
            ("num_decompositions", &[1]),
            ("num_subfiles", &nsubfiles),
        ]);
        let mut nreqs_attrs: Vec<(&str, &[u32])> = vec![("global_dimids", &[1, 2])];
        if nelems == 0 {
            nreqs_attrs.push(("nelems", &[0]));
        }
        if most == 0 {
            nreqs_attrs.push(("max_nreqs", &[0]));
        }
        let fixed: &[(&str, &[u32])] = &[("decomposition_ID", &[1]), ("global_dimids", &[1, 2])];
        let record: &[(&str, &[u32])] =
            &[("decomposition_ID", &[1]), ("global_dimids", &[0, 1, 2])];
        let vars: [Var<'_>; 8] = [
            ("D1.nreqs", &[3], &nreqs_attrs, 4, 4 * n),
            ("D1.blob_start", &[3], &[], 10, 8 * n),
            ("D1.blob_count", &[3], &[], 10, 8 * n),
            ("D1.offsets", &[3, 5], &[], 4, 4 * n * most_dim),
            ("D1.lengths", &[3, 5], &[], 4, 4 * n * most_dim),
            ("fixed", &[4], fixed, 10, 8 * nelems_dim),
            ("record", &[0, 4], record, 10, 8 * nelems_dim),
            ("time", &[0], &[], 4, 4),
        ];
        let mut begin = 0;
        // Twice, as the begins depend on the length.
        for is_last in [false, true] {
            let mut list = Bytes(Vec::new());
            list.int(11);
            list.long(vars.len() as u64);
            let mut at = begin;
            for (name, dimids, attrs, ty, len) in vars {
                list.name(name);
                list.long(dimids.len() as u64);
                dimids.iter().for_each(|dimid| list.long(*dimid));
                list.attrs(attrs);
                list.int(ty);
                list.long(len);
                list.long(at);
                at += len;
            }
            begin = (header.0.len() + list.0.len()) as u64;
            if is_last {
                header.0.extend(list.0);
            }
        }
        self.values(header, number, (nelems_dim, most_dim))
    }

    fn values(&self, mut file: Bytes, number: usize, (nelems, most): (u64, u64)) -> Vec<u8> {
        let blobs = &self.subfiles[number];
        let count = |blob: &Blob| blob.iter().map(|(_, len)| *len).sum::<u32>() as usize;
        blobs.iter().for_each(|blob| file.int(blob.len() as u32));
        let mut start = 0;
        for blob in blobs {
            file.long(start);
            start += count(blob) as u64;
        }
        blobs.iter().for_each(|blob| file.long(count(blob) as u64));
        for second in [false, true] {
            for blob in blobs {
                let garbage = (0x6b6b_6b6b, 0x5c5c_5c5c);
                let row = blob.iter().copied().chain(std::iter::repeat(garbage));
                for (offset, len) in row.take(most as usize) {
                    file.int(if second { len } else { offset });
                }
            }
        }
        let elements = |file: &mut Bytes, variable, record| {
            for (p, blob) in blobs.iter().enumerate() {
                for k in 0..count(blob) {
                    file.long(Self::value(variable, record, number, p, k));
                }
            }
            if start == 0 {
                file.long(nelems); // of the dimension that no blob uses
            }
        };
        elements(&mut file, 0, 0);
        for record in 0..self.numrecs {
            elements(&mut file, 1, record);
            file.int(record + 100);
        }
        file.0
    }

    pub(super) fn write(&self, dir: &Path) {
        for number in 0..self.subfiles.len() {
            std::fs::write(dir.join(format!("set.nc.{number:04}")), self.subfile(number)).unwrap();
        }
    }

    /// The array of a record, by trying all blobs.
    fn expected(&self, variable: u32, record: u32) -> Vec<u64> {
        let mut array = vec![0; (self.rows * self.columns) as usize];
        for (subfile, blobs) in self.subfiles.iter().enumerate().rev() {
            for (p, blob) in blobs.iter().enumerate().rev() {
                let places = blob.iter().flat_map(|&(offset, len)| offset..offset + len);
                let places: Vec<_> = places.enumerate().collect();
                for (k, place) in places.into_iter().rev() {
                    if let Some(element) = array.get_mut(place as usize) {
                        *element = Self::value(variable, record, subfile, p, k);
                    }
                }
            }
        }
        array
    }
}

fn check(made: &Made, set: &Set) {
    for (variable, name) in [(0, "fixed"), (1, "record")] {
        let records = if variable == 1 { made.numrecs } else { 1 };
        let expected: Vec<_> = (0..records).flat_map(|r| made.expected(variable, r)).collect();
        let bytes = super::all(set, name);
        let found = bytes.chunks(8).map(|be| u64::from_be_bytes(be.try_into().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{name}");
    }
    let time: Vec<i32> = set.read(set.variable("time").unwrap()).unwrap();
    assert_eq!(time, (100..100 + made.numrecs as i32).collect::<Vec<_>>());
    assert!(set.lost().is_empty(), "{:?}", set.lost());
}

fn made() -> impl Strategy<Value = Made> {
    let blob = vec((0_u32..24, 0_u32..7), 0..6);
    let subfiles = vec(vec(blob, 1..4), 1..5);
    (1_u32..4, 1_u32..7, 0_u32..3, subfiles).prop_map(|(rows, columns, numrecs, subfiles)| Made {
        rows,
        columns,
        numrecs,
        subfiles,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn each_element_is_that_of_the_lowest_rank(made in made(), n in 1_usize..4) {
        let dir = tempfile::tempdir().unwrap();
        made.write(dir.path());
        check(&made, &threads(n).open(dir.path().join("set.nc")).unwrap());
    }
}

/// With as few as 64 descriptors, of which some are standard input and others.
#[test]
fn thousands_of_subfiles_are_converted_with_few_descriptors() {
    const N: u32 = 4096;
    let dir = tempfile::tempdir().unwrap();
    let blob = |number: u32| vec![vec![(number, 1)], vec![(N + number, 1), (2 * N + number, 1)]];
    let subfiles = (0..N).map(blob).collect();
    let made = Made { rows: 3, columns: N, numrecs: 2, subfiles };
    made.write(dir.path());
    let command = format!(
        "ulimit -n 64 && exec {} convert set.nc out.nc",
        striae(&[]).get_program().to_str().unwrap()
    );
    let output =
        Command::new("sh").arg("-c").arg(command).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = striae::cdf::File::open(dir.path().join("out.nc")).unwrap();
    let found: Vec<i64> = file.read(file.variable("record").unwrap()).unwrap();
    let expected = made.expected(1, 0).into_iter().chain(made.expected(1, 1));
    assert!(found.into_iter().map(i64::cast_unsigned).eq(expected));

    let few = OpenOptions::new().max_open(std::num::NonZeroUsize::MIN);
    check(&made, &few.open(dir.path().join("set.nc")).unwrap());
}
