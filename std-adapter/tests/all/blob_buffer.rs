//! What ranks hand over waits in memory: the files have it all, in any order, with any buffer, and
//! on a disk that is full now and then.

use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use striae::blob::{Builder, Container, OpenOptions, Rank, Request, Writer};
use striae::cdf::Type;
use striae::error::ErrorKind;
use striae::striae_core::cdf::{Definition, DimDef, VarDef};
use striae_kit::adapter::denying::on_a_failing_disk;
use striae_kit::adapter::{Random, argument, child, names, run, set_limit};
use tempfile::TempDir;

const RANKS: u32 = 6;
const RECORDS: u64 = 3;
/// Cells on one level: 6 ranks have 900 or 901 of them.
const CELLS: u64 = 5403;
const LEVELS: u64 = 9;
/// Variables: short pieces, long ones, and pieces of an odd number of short values.
const NAMES: [&str; 4] = ["flat0", "flat1", "deep", "tiny"];
/// No page; one; a few; the default.
const BUFFERS: [usize; 4] = [0, 1 << 17, 5 << 17, 1 << 26];

fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// The cells of a rank on one level, in runs.
fn cells(rank: u32) -> Vec<Request> {
    let runs = (u64::from(rank) * 17..CELLS).step_by(17 * RANKS as usize);
    runs.map(|offset| Request { offset, len: 17.min(CELLS - offset) }).collect()
}

/// The cells of a rank on each level.
fn deep_cells(rank: u32) -> Vec<Request> {
    let levels = (0..LEVELS).map(|level| level * CELLS);
    let on = |level| cells(rank).into_iter().map(move |run| (level, run));
    let runs = levels.flat_map(on);
    runs.map(|(at, run)| Request { offset: at + run.offset, len: run.len }).collect()
}

fn requests(name: &str, rank: u32) -> Vec<Request> {
    if name == "deep" { deep_cells(rank) } else { cells(rank) }
}

/// The value of an element.
fn value(name: &str, record: u64, element: u64) -> f64 {
    let variable = NAMES.iter().position(|&one| one == name).unwrap() as f64;
    variable * 0.25 + (record * 1_000_000 + element) as f64
}

fn put(rank: &Rank<'_>, name: &str, record: u64) -> Result<(), striae::Error> {
    let runs = requests(name, rank.number());
    let elements = runs.iter().flat_map(|run| run.offset..run.offset + run.len);
    if name == "tiny" {
        let values: Vec<_> = elements.map(|element| small(record, element)).collect();
        return rank.put(name, record, &values);
    }
    let values: Vec<_> = elements.map(|element| value(name, record, element)).collect();
    rank.put(name, record, &values)
}

const fn small(record: u64, element: u64) -> i16 {
    (record * 10_007 + element) as i16
}

fn create(path: &Path, container: Container, subfiles: u32, buffer: usize) -> Writer {
    let dims = [
        DimDef::record("time"),
        DimDef { name: "cell", length: CELLS },
        DimDef { name: "level", length: LEVELS },
    ];
    let flat = |name| VarDef { name, nc_type: Type::Double, dimids: &[0, 1] };
    let deep = VarDef { name: "deep", nc_type: Type::Double, dimids: &[0, 2, 1] };
    let tiny = VarDef { name: "tiny", nc_type: Type::Short, dimids: &[0, 1] };
    let vars = [(flat("flat0"), &[][..]), (flat("flat1"), &[]), (deep, &[]), (tiny, &[])];
    let definition = Definition { dims: &dims, attrs: &[], vars: &vars };
    let of = |requests: fn(u32) -> Vec<Request>| (0..RANKS).map(requests).collect();
    let builder = Builder::new(&definition, count(RANKS)).container(container).sealed(true);
    let builder = builder.subfiles(count(subfiles)).records(RECORDS);
    let builder = builder.decomposition(&[1], of(cells)).decomposition(&[2, 1], of(deep_cells));
    let builder = [0, 1, 3].into_iter().fold(builder, |builder, var| builder.decomposed(var, 0));
    builder.decomposed(2, 1).create(path).unwrap().buffer(buffer)
}

/// Every value is the one that was put, and as it was sealed.
fn check(path: &Path) {
    let set = OpenOptions::new().checked(true).open(path).unwrap();
    for name in NAMES {
        let variable = set.variable(name).unwrap();
        let elements = CELLS * if name == "deep" { LEVELS } else { 1 };
        let all = (0..RECORDS).flat_map(|record| (0..elements).map(move |one| (record, one)));
        if name == "tiny" {
            let expected: Vec<_> = all.map(|(record, one)| small(record, one)).collect();
            assert!(set.read::<i16>(variable).unwrap() == expected, "{name}");
        } else {
            let expected: Vec<_> = all.map(|(record, one)| value(name, record, one)).collect();
            assert!(set.read::<f64>(variable).unwrap() == expected, "{name}");
        }
    }
    assert!(set.lost().is_empty());
}

fn bytes(path: &Path) -> Vec<Vec<u8>> {
    let folder = path.parent().unwrap();
    let paths: Vec<PathBuf> = names(folder).iter().map(|name| folder.join(name)).collect();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// All pieces, in some order.
fn pieces(seed: u64) -> Vec<(u32, &'static str, u64)> {
    let of = |rank| NAMES.iter().flat_map(move |&name| (0..RECORDS).map(move |n| (rank, name, n)));
    let mut pieces: Vec<_> = (0..RANKS).flat_map(of).collect();
    match seed {
        0 => {} // rank by rank
        1 => pieces.sort_by_key(|&(rank, name, record)| (record, name, rank)),
        2 => pieces.reverse(),
        _ => {
            let mut random = Random(seed);
            for place in (1..pieces.len()).rev() {
                pieces.swap(place, random.index(place + 1));
            }
        }
    }
    pieces
}

#[test]
fn files_are_alike_whatever_the_buffer_and_the_order() {
    let folder = TempDir::new().unwrap();
    for (container, subfiles) in [(Container::Cdf, 1), (Container::Cdf, 4), (Container::Hdf5, 2)] {
        let mut first = None;
        for (buffer, order) in BUFFERS.iter().flat_map(|&buffer| (0..5).map(move |n| (buffer, n))) {
            let made = folder.path().join("made");
            fs::create_dir(&made).unwrap();
            let path = made.join("out.nc");
            let writer = create(&path, container, subfiles, buffer);
            for (number, (rank, name, record)) in pieces(order).into_iter().enumerate() {
                put(&writer.rank(rank).unwrap(), name, record).unwrap();
                if order == 3 && number % 20 == 19 {
                    writer.flush().unwrap();
                }
            }
            if order == 4 {
                put(&writer.rank(1).unwrap(), "deep", 1).unwrap(); // once more
            }
            writer.close().unwrap();
            let made_bytes = bytes(&path);
            assert_eq!(made_bytes.len(), subfiles as usize);
            let first = first.get_or_insert_with(|| {
                check(&path);
                made_bytes.clone()
            });
            assert!(*first == made_bytes, "{container:?}, buffer {buffer}, order {order}");
            fs::remove_dir_all(&made).unwrap();
        }
    }
}

#[test]
fn the_last_values_that_are_put_count() {
    let folder = TempDir::new().unwrap();
    for buffer in BUFFERS {
        let path = folder.path().join(format!("out{buffer}.nc"));
        let writer = create(&path, Container::Cdf, 1, buffer);
        let wrong = vec![-1.0; requests("deep", 2).iter().map(|run| run.len as usize).sum()];
        writer.rank(2).unwrap().put("deep", 1, &wrong).unwrap();
        for (rank, name, record) in pieces(1) {
            put(&writer.rank(rank).unwrap(), name, record).unwrap();
        }
        writer.close().unwrap();
        check(&path);
    }
}

#[test]
fn what_waits_stays_when_the_buffer_gets_another_size() {
    let folder = TempDir::new().unwrap();
    for buffer in BUFFERS {
        let path = folder.path().join(format!("out{buffer}.nc"));
        let mut writer = create(&path, Container::Cdf, 1, 1 << 26);
        for (number, (rank, name, record)) in pieces(1).into_iter().enumerate() {
            if number == 10 {
                writer = writer.buffer(buffer);
            }
            put(&writer.rank(rank).unwrap(), name, record).unwrap();
        }
        writer.close().unwrap();
        check(&path);
    }
}

#[test]
fn threads_share_pages() {
    let folder = TempDir::new().unwrap();
    for (buffer, container) in
        BUFFERS.into_iter().flat_map(|buffer| [(buffer, Container::Cdf), (buffer, Container::Hdf5)])
    {
        let path = folder.path().join(format!("{}{buffer}", container.name()));
        let writer = create(&path, container, 2, buffer);
        let start = Barrier::new(RANKS as usize);
        thread::scope(|scope| {
            for rank in 0..RANKS {
                let (writer, start) = (&writer, &start);
                scope.spawn(move || {
                    let handle = writer.rank(rank).unwrap();
                    start.wait();
                    let own = pieces(1).into_iter().filter(|&(one, ..)| one == rank);
                    own.for_each(|(_, name, record)| put(&handle, name, record).unwrap());
                });
            }
        });
        writer.close().unwrap();
        check(&path);
    }
}

/// An error of a full disk costs no value that was taken before, and the values that were refused
/// can be put again.
#[test]
fn a_full_disk_costs_nothing_once_it_has_room_again() {
    run(child("blob_buffer::limited", "1"), &["full disks"]);
}

#[test]
#[ignore = "a child of a_full_disk_costs_nothing_once_it_has_room_again"]
fn limited() {
    let Some(_) = argument() else { return };
    let folder = TempDir::new().unwrap();
    let mut errors = 0;
    for (number, &buffer) in BUFFERS.iter().enumerate() {
        for order in 0..4 {
            let path = folder.path().join(format!("out{buffer}.{order}"));
            let writer = create(&path, Container::Cdf, 2, buffer);
            let mut random = Random(order + 10 * number as u64);
            let mut limit = 20_000;
            let mut insist = |work: &dyn Fn() -> Result<(), striae::Error>| {
                while let Err(error) = work() {
                    let kind = io::ErrorKind::FileTooLarge;
                    let is_full =
                        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == kind);
                    assert!(is_full, "{error:?}");
                    assert!(error.path().starts_with(folder.path()), "{error}");
                    errors += 1;
                    limit += 1 + random.below(60_000);
                    set_limit(limit);
                }
            };
            set_limit(20_000);
            for (rank, name, record) in pieces(order) {
                insist(&|| put(&writer.rank(rank).unwrap(), name, record));
            }
            insist(&|| writer.flush());
            set_limit(u64::MAX);
            writer.close().unwrap();
            check(&path);
        }
    }
    assert!(errors > 200, "{errors}");
    println!("{errors} full disks");
}

/// The disk tells once that it lost something; a set is not called whole after that.
#[test]
fn a_set_is_not_closed_after_the_disk_has_lost_something() {
    for container in [Container::Cdf, Container::Hdf5] {
        let folder = TempDir::new().unwrap();
        let writer = create(&folder.path().join("out"), container, 2, 1 << 20);
        for (rank, name, record) in pieces(0) {
            put(&writer.rank(rank).unwrap(), name, record).unwrap();
        }
        on_a_failing_disk(|| writer.flush().unwrap_err());
        let is_lost = |error: striae::Error| matches!(error.kind(), ErrorKind::SyncFailed);
        assert!(is_lost(writer.flush().unwrap_err()));
        assert!(is_lost(writer.close().unwrap_err()));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}
