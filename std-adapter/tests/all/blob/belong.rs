//! The subfiles of a set belong together: one that does not is named, and costs its own elements.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae::blob::{Builder, Container, Convert, OpenOptions, Request, Set, Writer};
use striae::cdf::File;
use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
use striae::{Output, Verify};

const RANKS: u32 = 6;
pub(super) const SUBFILES: u32 = 3;
const CELLS: u64 = 24;

/// How a set is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    container: Container,
    sealed: bool,
}

pub(super) const ALL: [How; 4] = [
    How { container: Container::Cdf, sealed: true },
    How { container: Container::Hdf5, sealed: true },
    How { container: Container::Cdf, sealed: false },
    How { container: Container::Hdf5, sealed: false },
];

fn value(run: u32, record: u64, cell: u64) -> i32 {
    (run * 1_000_000) as i32 + (record * 1000 + cell) as i32
}

/// Puts a record of all ranks.
fn put(writer: &Writer, run: u32, record: u64) {
    for rank in 0..RANKS {
        let handle = writer.rank(rank).unwrap();
        let first = u64::from(rank) * 4;
        let values: Vec<_> = (first..first + 4).map(|cell| value(run, record, cell)).collect();
        handle.put("heat", record, &values).unwrap();
        if record == 0 {
            let values = values.map_to_f64();
            handle.put("area", 0, &values).unwrap();
        }
        if rank % (RANKS / SUBFILES) == 0 {
            handle.put("time", record, &[run * 10 + record as u32]).unwrap();
        }
    }
}

trait Doubles {
    fn map_to_f64(&self) -> Vec<f64>;
}

impl Doubles for Vec<i32> {
    fn map_to_f64(&self) -> Vec<f64> {
        self.iter().map(|value| f64::from(*value)).collect()
    }
}

/// A set of 3 subfiles with 2 blobs each, of 2 records.
pub(super) fn make(dir: &Path, how: How, run: u32) -> PathBuf {
    let heat = VarDef { name: "heat", nc_type: Type::Int, dimids: &[0, 1] };
    let area = VarDef { name: "area", nc_type: Type::Double, dimids: &[1] };
    let time = VarDef { name: "time", nc_type: Type::Uint, dimids: &[0] };
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: CELLS }];
    let vars: [(VarDef<'_>, &[_]); 3] = [(heat, &[]), (area, &[]), (time, &[])];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let of = |rank: u32| vec![Request { offset: u64::from(rank) * 4, len: 4 }];
    let builder = Builder::new(&canonical, NonZeroU32::new(RANKS).unwrap())
        .decomposition(&[1], (0..RANKS).map(of).collect())
        .decomposed(0, 0)
        .decomposed(1, 0)
        .container(how.container)
        .sealed(how.sealed)
        .subfiles(NonZeroU32::new(SUBFILES).unwrap())
        .records(2);
    let path = dir.join(format!("run{run}.nc"));
    let writer = builder.create(&path).unwrap();
    put(&writer, run, 0);
    put(&writer, run, 1);
    writer.close().unwrap();
    path
}

pub(super) fn subfile(set: &Path, number: u32) -> PathBuf {
    set.with_extension(format!("nc.{number:04}"))
}

fn read(set: &Path) -> Vec<Vec<u8>> {
    (0..SUBFILES).map(|number| std::fs::read(subfile(set, number)).unwrap()).collect()
}

pub(super) fn damage(set: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let summary = Verify::new().blob(set, &mut |finding| found.push(finding.to_string())).unwrap();
    if summary.is_sound() { Vec::new() } else { found }
}

/// The set as `convert` and verify see it: whether both say that it is sound, the values of `heat`
/// and those of `area`.
fn converted(set: &Path) -> (bool, Vec<i32>, Vec<f64>) {
    let open = OpenOptions::new().checked(true).threads(std::num::NonZeroUsize::MIN);
    let opened = open.open(set).unwrap();
    let out = set.with_file_name("out.nc");
    let convert = Convert::new().output(Output::new().force(true));
    convert.run(&opened, &out, &|_| ()).unwrap();
    let is_whole = opened.is_whole();
    assert!(is_whole || !damage(set).is_empty(), "{:?}", opened.lost());
    let file = File::open(&out).unwrap();
    let heat = file.read(file.variable("heat").unwrap()).unwrap();
    (is_whole, heat, file.read(file.variable("area").unwrap()).unwrap())
}

/// The values of a run: each right, or that of a fill value if the subfile of its cell is `lost`.
fn check(set: &Path, lost: u32, text: &str) {
    let (is_whole, heat, area) = converted(set);
    assert!(!is_whole, "{text}: nothing is said");
    assert!(!damage(set).is_empty(), "{text}");
    assert_eq!(heat.len() as u64, 2 * CELLS, "{text}");
    for (place, found) in (0..).zip(heat) {
        let (record, cell) = (place / CELLS, place % CELLS);
        let expected = match cell / 8 == u64::from(lost) {
            true => i32::from_be_bytes(Type::Int.fill()[..4].try_into().unwrap()),
            false => value(1, record, cell),
        };
        assert_eq!(found, expected, "{text}: record {record}, cell {cell}");
    }
    let own = (0..).zip(area).filter(|(cell, _)| cell / 8 != u64::from(lost));
    own.for_each(|(cell, found)| assert_eq!(found, f64::from(value(1, 0, cell)), "{text}"));
}

/// 4 kinds of sets, each subfile replaced by each other one: 24 cases.
#[test]
fn a_subfile_that_is_a_copy_of_another_one_is_named() {
    for how in ALL {
        let dir = crate::in_memory();
        let set = make(dir.path(), how, 1);
        let right = read(&set);
        assert!(converted(&set).0 && damage(&set).is_empty());
        for (number, other) in (0..SUBFILES).flat_map(|n| (0..SUBFILES).map(move |o| (n, o))) {
            if number == other {
                continue;
            }
            std::fs::copy(subfile(&set, other), subfile(&set, number)).unwrap();
            check(&set, number, &format!("{how:?}: {number} is a copy of {other}"));
            std::fs::write(subfile(&set, number), &right[number as usize]).unwrap();
        }
    }
}

/// 2 kinds of sets, each subfile: 6 cases. Without seals nobody can know it.
#[test]
fn a_sealed_subfile_of_another_run_is_named() {
    for how in ALL.into_iter().filter(|how| how.sealed) {
        let dir = crate::in_memory();
        let (set, other) = (make(dir.path(), how, 1), make(dir.path(), how, 2));
        let right = read(&set);
        for number in 0..SUBFILES {
            std::fs::copy(subfile(&other, number), subfile(&set, number)).unwrap();
            check(&set, number, &format!("{how:?}: {number} of another run"));
            std::fs::write(subfile(&set, number), &right[number as usize]).unwrap();
        }
    }
}

/// The seals of a subfile as striae wrote them before they had ties: version 1, the table directly
/// after the first head. Both copies must be there.
fn untie(path: &Path) {
    const MAGIC: &[u8] = b"striae blob seal";
    let mut bytes = std::fs::read(path).unwrap();
    let starts: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(MAGIC)).collect();
    let [first, second] = starts[..] else { panic!("{} copies", starts.len()) };
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let len = 4 * word(first + 20) * word(first + 24); // a checksum of each blob of each variable
    let table = bytes[first + 64 + 24..][..len].to_vec();
    assert_eq!(table, bytes[second - len..second]);
    bytes[second - len - 24..second - len].fill(0);
    bytes[first + 64..][..len].copy_from_slice(&table);
    bytes[first + 64 + len..][..24].fill(0);
    for head in [first, second] {
        bytes[head + 16..][..4].copy_from_slice(&1_u32.to_be_bytes());
        bytes[head + 56..][..4].copy_from_slice(&crc32c::crc32c(&table).to_be_bytes());
        let own = crc32c::crc32c(&bytes[head..head + 60]);
        bytes[head + 60..][..4].copy_from_slice(&own.to_be_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

/// 2 kinds of sets, each subfile: 6 cases. The values of `time` tell the runs apart.
#[test]
fn a_subfile_of_another_run_is_named_by_seals_without_ties() {
    for how in ALL.into_iter().filter(|how| how.sealed) {
        let dir = crate::in_memory();
        let (set, other) = (make(dir.path(), how, 1), make(dir.path(), how, 2));
        for number in 0..SUBFILES {
            untie(&subfile(&set, number));
            untie(&subfile(&other, number));
        }
        assert!(converted(&set).0 && damage(&set).is_empty(), "{how:?}: it is as it was written");
        let right = read(&set);
        for number in 0..SUBFILES {
            std::fs::copy(subfile(&other, number), subfile(&set, number)).unwrap();
            check(&set, number, &format!("{how:?}: {number} of another run"));
            std::fs::write(subfile(&set, number), &right[number as usize]).unwrap();
        }
    }
}

/// Each subfile as it was before an append, and of a copy of the set to which others were appended:
/// 6 cases.
#[test]
fn a_sealed_subfile_of_another_commit_is_named() {
    let dir = crate::in_memory();
    let set = make(dir.path(), ALL[0], 1);
    let old = read(&set);
    let append = |run: u32| {
        let writer = Writer::append(&set).unwrap();
        put(&writer, run, writer.records());
        writer.close().unwrap();
        read(&set)
    };
    let other = append(5);
    (0..)
        .zip(&old)
        .for_each(|(number, bytes)| std::fs::write(subfile(&set, number), bytes).unwrap());
    let right = append(1);
    assert!(damage(&set).is_empty());
    for number in 0..SUBFILES as usize {
        for (strange, text) in [(&old, "older"), (&other, "identities")] {
            std::fs::write(subfile(&set, number as u32), &strange[number]).unwrap();
            let opened = OpenOptions::new().checked(true).open(&set).unwrap();
            let heat = opened.read::<i32>(opened.variable("heat").unwrap()).unwrap();
            let lost = opened.lost();
            assert_eq!(lost.len(), 1, "{text} {number}: {lost:?}");
            assert_eq!(lost[0].number as usize, number);
            assert!(lost[0].error.to_string().contains(text), "{}", lost[0].error);
            assert_eq!(heat.len() as u64, 3 * CELLS);
            for (place, found) in (0..).zip(heat) {
                let (record, cell) = (place / CELLS, place % CELLS);
                assert!(cell / 8 == number as u64 || found == value(1, record, cell));
            }
            assert!(!damage(&set).is_empty());
            let refused = Writer::append(&set).unwrap_err().to_string();
            assert!(refused.contains(text), "{refused}");
            std::fs::write(subfile(&set, number as u32), &right[number]).unwrap();
        }
    }
}

/// A bit of every 7th byte of each header, of sealed sets: the others keep their values, and the
/// shape is right. More than 300 cases.
#[test]
fn a_wrong_bit_in_a_sealed_header_costs_no_other_subfile() {
    let mut cases = 0;
    for how in ALL.into_iter().filter(|how| how.sealed) {
        let dir = crate::in_memory();
        let set = make(dir.path(), how, 1);
        let right = read(&set);
        let (_, heat, area) = converted(&set);
        for number in 0..SUBFILES {
            let bytes = &right[number as usize];
            let start = bytes.windows(4).position(|part| part == b"CDF\x05").unwrap();
            let len =
                bytes[start..].windows(12).rposition(|part| part.starts_with(b"time")).unwrap();
            for at in (start..start + len + 40).step_by(7) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at / 7 % 8);
                std::fs::write(subfile(&set, number), &damaged).unwrap();
                let (is_whole, found, of_area) = converted(&set);
                let text = format!("{how:?}: subfile {number}, byte {at}");
                assert!(!is_whole, "{text}");
                assert_eq!((found.len(), of_area.len()), (heat.len(), area.len()), "{text}");
                for (place, (found, right)) in (0..).zip(found.iter().zip(&heat)) {
                    let is_own = place % CELLS / 8 == u64::from(number);
                    assert!(found == right || is_own, "{text}: value {place}");
                }
                cases += 1;
            }
            std::fs::write(subfile(&set, number), bytes).unwrap();
        }
    }
    assert!(cases > 300, "{cases}");
}

/// Each bit of the number of records of each subfile, with seals and without, 384 cases: it is
/// said, and no value of the records that are left is wrong.
#[test]
fn a_wrong_number_of_records_is_named_whichever_subfile_has_it() {
    let mut cases = 0;
    for how in [ALL[0], ALL[2]] {
        let dir = crate::in_memory();
        let set = make(dir.path(), how, 1);
        let (_, heat, _) = converted(&set);
        for number in 0..SUBFILES {
            let right = std::fs::read(subfile(&set, number)).unwrap();
            for bit in 0..64 {
                let mut bytes = right.clone();
                bytes[4 + bit / 8] ^= 1 << (bit % 8);
                std::fs::write(subfile(&set, number), &bytes).unwrap();
                let text = format!("{how:?}: subfile {number}, bit {bit}");
                let (is_whole, found, _) = converted(&set);
                let opened = OpenOptions::new().checked(true).open(&set).unwrap();
                opened.read::<i32>(opened.variable("heat").unwrap()).unwrap();
                let is_read_whole = opened.is_whole();
                let numrecs = u64::from_be_bytes(bytes[4..12].try_into().unwrap());
                assert_eq!((is_whole, is_read_whole), (false, false), "{text}");
                assert!(found.len() == heat.len() || number == 0 && found.is_empty(), "{text}");
                for (place, (found, right)) in (0..).zip(found.iter().zip(&heat)) {
                    let is_lost = how.sealed || numrecs < 2; // of these a record is not read
                    let is_own = is_lost && place % CELLS / 8 == u64::from(number);
                    assert!(found == right || is_own, "{text}: value {place}");
                }
                let recovery = striae::blob::recover::Recover::new().examine(&set).unwrap();
                assert!(!recovery.is_complete() && !damage(&set).is_empty(), "{text}");
                cases += 1;
            }
            std::fs::write(subfile(&set, number), &right).unwrap();
        }
        assert!(converted(&set).0 && damage(&set).is_empty());
    }
    assert_eq!(cases, 2 * 3 * 64);
}

/// Without seals most headers are right: one of three, in each of its dimensions.
#[test]
fn the_header_of_most_subfiles_counts() {
    for how in ALL.into_iter().filter(|how| !how.sealed) {
        let dir = crate::in_memory();
        let set = make(dir.path(), how, 1);
        let right = read(&set);
        for number in 0..SUBFILES {
            let mut bytes = right[number as usize].clone();
            let at = bytes.windows(4).position(|part| part == b"cell").unwrap();
            for byte in at + 4..at + 12 {
                bytes[byte] ^= 2;
                std::fs::write(subfile(&set, number), &bytes).unwrap();
                check(&set, number, &format!("{how:?}: {number}"));
                assert!(Set::open(&set).is_ok());
                bytes[byte] ^= 2;
            }
            std::fs::write(subfile(&set, number), &bytes).unwrap();
        }
    }
}

/// All writers seal all subfiles or none. Each subfile of 2 kinds of sets, of the same values and
/// of another run: 12 cases. Its values count, since a seal may have been lost.
#[test]
fn a_subfile_without_a_seal_in_a_sealed_set_is_named() {
    let mut cases = 0;
    for [sealed, unsealed] in [[ALL[0], ALL[2]], [ALL[1], ALL[3]]] {
        let dir = crate::in_memory();
        let set = make(dir.path(), sealed, 1);
        let right = read(&set);
        for run in [1, 2] {
            let others = crate::in_memory();
            let other = make(others.path(), unsealed, run);
            for number in 0..SUBFILES {
                std::fs::copy(subfile(&other, number), subfile(&set, number)).unwrap();
                let (is_whole, heat, _) = converted(&set);
                assert!(!is_whole, "{sealed:?}: {number} of run {run}");
                for (place, found) in (0..).zip(heat) {
                    let (record, cell) = (place / CELLS, place % CELLS);
                    let run = if cell / 8 == u64::from(number) { run } else { 1 };
                    assert_eq!(found, value(run, record, cell));
                }
                let found = damage(&set);
                assert!(found.iter().any(|text| text.contains("has no seal")), "{found:?}");
                if matches!(sealed.container, Container::Cdf) {
                    let refused = Writer::append(&set).unwrap_err().to_string();
                    assert!(refused.contains("has no seal"), "{refused}");
                }
                let recovery = striae::blob::recover::Recover::new().examine(&set).unwrap();
                assert!(!recovery.is_complete());
                std::fs::write(subfile(&set, number), &right[number as usize]).unwrap();
                cases += 1;
            }
        }
        assert!(converted(&set).0 && damage(&set).is_empty());
    }
    assert_eq!(cases, 12);
}

/// What a set of more subfiles left under the name is no part of the set: it is noted, and all that
/// reads the set has all of it. If the others do not have all blobs, it is named.
#[test]
fn a_subfile_after_the_last_one_is_noted_and_read_by_nobody() {
    for how in ALL {
        let dir = tempfile::tempdir().unwrap();
        let set = make(dir.path(), how, 1);
        let whole = converted(&set);
        assert!(whole.0, "{how:?}");
        for from in 0..SUBFILES {
            let extra = subfile(&set, SUBFILES);
            std::fs::copy(subfile(&set, from), &extra).unwrap();
            assert_eq!(damage(&set), [""; 0], "{how:?}");
            assert_eq!(converted(&set), whole, "{how:?}");
            assert!(Set::open(&set).unwrap().lost().is_empty(), "{how:?}");

            let last = subfile(&set, SUBFILES - 1);
            let bytes = std::fs::read(&last).unwrap();
            std::fs::remove_file(&last).unwrap();
            assert!(!damage(&set).is_empty() && !converted(&set).0, "{how:?}");
            std::fs::write(&last, bytes).unwrap();
            std::fs::remove_file(&extra).unwrap();
        }
    }
}
