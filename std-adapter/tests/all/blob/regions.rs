//! Regions are those of the whole array.

#[cfg(target_os = "linux")]
use super::made::Made;
use super::{all, runs, threads};
use proptest::prelude::*;
use std::sync::LazyLock;
use striae::blob::Set;
use striae::cdf::Region;

/// A set, and all values of each variable.
struct Known {
    set: Set,
    values: Vec<Vec<u8>>,
}

static SETS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut sets = Vec::new();
    for run in runs() {
        for path in run.sets() {
            let set = threads(2).open(path).unwrap();
            let values = set.header().variables().map(|one| all(&set, one.name())).collect();
            sets.push(Known { set, values });
        }
    }
    sets
});

/// The values of a region, value by value.
fn expected(values: &[u8], width: usize, shape: &[u64], region: Region<'_>) -> Vec<u8> {
    let stride = region.stride.unwrap();
    let (mut bytes, mut index) = (Vec::new(), vec![0; shape.len()]);
    if region.count.contains(&0) {
        return bytes;
    }
    loop {
        let mut at = 0;
        for dim in 0..shape.len() {
            at = at * shape[dim] + region.start[dim] + index[dim] * stride[dim];
        }
        bytes.extend_from_slice(&values[at as usize * width..][..width]);
        let Some(dim) = (0..shape.len()).rev().find(|&dim| index[dim] + 1 < region.count[dim])
        else {
            return bytes;
        };
        index[dim] += 1;
        index[dim + 1..].fill(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn a_region_has_the_values_of_the_array(
        set: prop::sample::Index,
        variable: prop::sample::Index,
        picks: [prop::sample::Index; 12],
    ) {
        let known = &SETS[set.index(SETS.len())];
        let number = variable.index(known.values.len());
        let variable = known.set.header().variables().nth(number).unwrap();
        let shape = variable.shape();
        let (mut start, mut count, mut stride) = (vec![], vec![], vec![]);
        for (dim, &length) in shape.iter().enumerate() {
            let pick = |n: usize, of: u64| picks[dim * 3 + n].index(of as usize) as u64;
            start.push(pick(0, length + 1));
            stride.push(1 + pick(1, 3));
            count.push(pick(2, (length - start[dim]).div_ceil(stride[dim]) + 1));
        }
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let width = variable.nc_type().size() as usize;
        let expected = expected(&known.values[number], width, shape, region);
        let mut found = vec![0xee; expected.len()];
        known.set.read_bytes_into(variable, region, Some([0; 8]), &mut found).unwrap();
        prop_assert_eq!(&found, &expected, "{}", variable.name());
        let mut pieces = Vec::new();
        known.set.read_pieces(variable, region, Some([0; 8]), &mut |bytes| {
            pieces.extend_from_slice(bytes);
            true
        }).unwrap();
        prop_assert_eq!(&pieces, &expected);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let known = &SETS[0];
    let variable = known.set.variable("lat").unwrap();
    let length = variable.shape()[0];
    let region = |start, count| [start, count];
    for ([start, count], given) in [
        (region(length, 1), 1),
        (region(0, length + 1), length + 1),
        (region(u64::MAX, 1), 1),
        (region(0, 2), 3),
        (region(0, 2), 1),
    ] {
        let (start, count) = ([start], [count]);
        let region = Region { start: &start, count: &count, stride: None };
        let mut values = vec![0.0_f64; given as usize];
        known.set.read_into(variable, region, &mut values).unwrap_err();
    }
    let zero = Region { start: &[0], count: &[1], stride: Some(&[0]) };
    known.set.read_into(variable, zero, &mut [0.0_f64]).unwrap_err();
    let all = Region { start: &[0], count: &[1], stride: None };
    known.set.read_into(variable, all, &mut [0.0_f32]).unwrap_err(); // another type
    known.set.variable("no variable has this name").unwrap_err();
}

/// The bytes that this thread has read so far.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

/// Of values, one column needs those of the blob that has it, and nothing of other variables.
#[test]
#[cfg(target_os = "linux")]
fn a_column_costs_the_map_and_one_blob_of_each_record() {
    const ROWS: u32 = 72;
    const COLUMNS: u32 = 64;
    const EACH: u32 = 4;
    const RECORDS: u32 = 30;
    let dir = tempfile::tempdir().unwrap();
    let blob = |p: u32| (0..ROWS).map(|row| (row * COLUMNS + p * EACH, EACH)).collect();
    let subfiles = vec![(0..COLUMNS / EACH).map(blob).collect()];
    let made = Made { rows: ROWS, columns: COLUMNS, numrecs: RECORDS, subfiles };
    made.write(dir.path());
    let file_len = std::fs::metadata(dir.path().join("set.nc.0000")).unwrap().len();
    let values = u64::from(8 * ROWS * COLUMNS * (RECORDS + 1));

    let before = bytes_read();
    let set = threads(1).open(dir.path().join("set.nc")).unwrap();
    let [rows, records] = [ROWS, RECORDS].map(u64::from);
    let region = Region { start: &[0, 0, 33], count: &[records, rows, 1], stride: None };
    let column = set.read_region::<i64>(set.variable("record").unwrap(), region).unwrap();
    let read = bytes_read() - before;

    let blobs = records * rows * u64::from(8 * EACH);
    let window = 1 << 17; // of the header; it may have values, too
    assert!(read <= blobs + 2 * (file_len - values) + window, "{read}");
    let expected = |n: usize| {
        let (record, row) = (n as u32 / ROWS, n as u32 % ROWS);
        Made::value(1, record, 0, 8, (row * EACH + 1) as usize).cast_signed()
    };
    assert!(column.iter().enumerate().all(|(n, value)| *value == expected(n)));
}
