//! Ranks that write a blob set: the files are those of one writer, and whatever happens to one of
//! them, all others get the same error and no file is left.

use crate::set::{
    CELLS, LEVELS, RECORDS, Subfiles, files, parallel, puts, serial, to, typed, value,
};
use crate::set::{serial_or_sealed, with_definition};
use crate::world::{Sweep, all};
use std::collections::BTreeSet;
use std::path::Path;
use striae::blob::Set;
use striae_core::cdf::{Definition, DimDef, Type, VarDef};
use striae_core::integrity::crc32c;
use striae_mpi::blob::{Builder, Container, Request, Writer};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error, Threads};

fn world(size: u32) -> Threads {
    crate::world::world(size).ranks_per_node(2)
}

/// Runs `work` as all ranks, of which none panics.
fn ranks<R: Send>(size: u32, work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    all(world(size), work)
}

/// Puts everything that a rank has.
fn put_all<C: Collective>(writer: &mut Writer<C>, rank: u32, size: u32) {
    let is_first = writer.is_first();
    puts(rank, size, is_first, |name, record, values| {
        typed!(name, values, |values: &_| writer.put(name, record, values).unwrap());
    });
}

fn write<C: Collective>(
    comm: C,
    path: &Path,
    how: (Container, Subfiles),
    (buffer, sealed): (usize, bool),
) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    with_definition(|definition| {
        let builder = parallel(definition, (rank, size), how).buffer(buffer).sealed(sealed);
        let mut writer = builder.create(comm, path)?;
        put_all(&mut writer, rank, size);
        writer.close().map(drop)
    })
}

const CONTAINERS: [Container; 2] = [Container::Cdf, Container::Hdf5];

#[test]
fn the_files_are_those_of_the_serial_writer_for_any_ranks_and_subfiles() {
    for size in [1, 2, 3, 5, 8] {
        for container in CONTAINERS {
            let of = [1, 2, 3].map(Subfiles::Blocks);
            for subfiles in of.into_iter().chain([Subfiles::InTurn, Subfiles::Nodes]) {
                let needs = match subfiles {
                    Subfiles::Blocks(count) => count,
                    Subfiles::InTurn => 2,
                    Subfiles::Nodes => 1,
                };
                if size < needs {
                    continue;
                }
                let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
                serial(&theirs.path().join("a"), size, container, subfiles);
                for buffer in [0, 100, 1 << 26] {
                    let path = ours.path().join("a");
                    ranks(size, |comm| {
                        write(comm, &path, (container, subfiles), (buffer, false)).unwrap()
                    });
                    let (ours, theirs) = (files(ours.path()), files(theirs.path()));
                    assert!(ours.keys().eq(theirs.keys()), "{:?}", ours.keys());
                    for (name, bytes) in &ours {
                        let is_equal = *bytes == theirs[name];
                        assert!(is_equal, "{name} of {size} ranks, {container:?}, {subfiles:?}");
                    }
                }
                let set = Set::open(ours.path().join("a")).unwrap();
                let heat: Vec<f64> = set.read(set.variable("heat").unwrap()).unwrap();
                let expected = (0..RECORDS * CELLS).map(|at| value("heat", at / CELLS, at % CELLS));
                assert_eq!(heat, expected.map(f64::from).collect::<Vec<_>>());
            }
        }
    }
}

const RANKS: u32 = 4;

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error_and_the_old_set_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    // Another set of that name, which is to be replaced.
    let make_old = || serial(&path, 3, Container::Cdf, Subfiles::Blocks(1));
    make_old();
    let old = files(folder.path());
    let before = || {
        let now = files(folder.path());
        if now != old {
            now.keys().for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap());
            make_old();
        }
    };
    let sweep = Sweep { world: world(RANKS), ranks: vec![0, 2, RANKS - 1], ..Sweep::new(RANKS) };
    for how in [
        (Container::Cdf, Subfiles::Blocks(1)),
        (Container::Hdf5, Subfiles::InTurn),
        (Container::Cdf, Subfiles::Nodes),
    ] {
        sweep.run(
            before,
            |comm, ()| write(comm, &path, how, (1 << 20, true)),
            |case, ()| {
                let now = files(folder.path());
                // Rank 0 may have published it all before it was lost.
                if now != old {
                    assert!(Set::open(&path).unwrap().is_whole(), "{case:?}");
                    assert_eq!(case.0, 0, "{case:?}: {:?}", now.keys());
                }
            },
        );
    }
}

/// The error of all ranks if `change` is made to the builder of rank 1.
fn refusal(
    how: (Container, Subfiles),
    change: impl for<'d, 'c> Fn(Builder<'d, Definition<'c>>) -> Builder<'d, Definition<'c>> + Sync,
) -> (Code, Option<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let errors = ranks(RANKS, |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        with_definition(|definition| {
            let builder = parallel(definition, (rank, size), how);
            let builder = if rank == 1 { change(builder) } else { builder };
            builder.create(comm, &path).map(drop).unwrap_err()
        })
    });
    assert!(errors.iter().all(|error| *error == errors[0]));
    assert!(files(folder.path()).is_empty());
    (errors[0].code(), errors[0].rank())
}

#[test]
fn what_no_set_can_have_is_one_error_of_all_ranks() {
    let how = (Container::Cdf, Subfiles::Blocks(2));
    let far = vec![Request { offset: CELLS - 1, len: 2 }];
    let outside = refusal(how, |builder| builder.decomposition(&[0], far.clone()));
    assert_eq!(outside, (Code::Refused, Some(1)));
    assert_eq!(refusal(how, |builder| builder.decomposed(2, 0)).0, Code::Differ);
    assert_eq!(refusal(how, |builder| builder.decomposition(&[0], vec![])).0, Code::Differ);
    assert_eq!(refusal(how, |builder| builder.container(Container::Hdf5)).0, Code::Refused);
    assert_eq!(refusal(how, |builder| builder.records(RECORDS)).0, Code::Differ);
    assert_eq!(refusal(how, |builder| builder.force(false)).0, Code::Differ);
    assert_eq!(refusal(how, |builder| builder.group(0)).0, Code::Differ);
    let many = (Container::Cdf, Subfiles::Blocks(RANKS + 1));
    assert_eq!(refusal(many, |builder| builder).0, Code::Refused);
    let in_turn = (Container::Cdf, Subfiles::InTurn);
    assert_eq!(refusal(in_turn, |builder| builder.group(3)).0, Code::Refused); // 2 has none
}

#[test]
fn a_put_that_cannot_be_is_refused_and_what_is_not_put_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for missing in [None, Some("heat"), Some("date"), Some("area")] {
        let errors = ranks(RANKS, |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            with_definition(|definition| {
                let how = (Container::Cdf, Subfiles::Blocks(2));
                let mut writer = parallel(definition, (rank, size), how).create(comm, &path)?;
                let refused = |put: Result<(), striae_mpi::Failure>| {
                    assert_eq!(put.unwrap_err().code(), Code::Refused);
                };
                refused(writer.put("unknown", 0, &[1.0]));
                refused(writer.put("heat", 0, &[1.0_f32]));
                refused(writer.put("heat", 0, &[1.0; 1000]));
                refused(writer.put("area", 1, &[0.0_f32; 0]));
                if rank == 1 {
                    refused(writer.put("level", 0, &[0.0; LEVELS as usize])); // not the first rank
                }
                let is_first = writer.is_first();
                puts(rank, size, is_first, |name, record, values| {
                    if missing != Some(name) || record + 1 < RECORDS && name != "area" {
                        typed!(name, values, |values: &_| writer
                            .put(name, record, values)
                            .unwrap());
                    }
                });
                writer.flush()?;
                writer.close().map(drop)
            })
        });
        // The last record counts if another variable has it.
        let is_whole = missing.is_none();
        assert!(errors.iter().all(|done| done.is_ok() == is_whole && *done == errors[0]));
        assert_eq!(path.with_file_name("a.0000").exists(), is_whole);
        if is_whole {
            files(folder.path()).keys().for_each(|name| {
                std::fs::remove_file(folder.path().join(name)).unwrap();
            });
        }
    }
}

#[test]
fn a_set_takes_as_many_calls_for_any_number_of_ranks_and_variables() {
    for (container, of_part) in [(Container::Cdf, 6), (Container::Hdf5, 7)] {
        for size in [1, 2, 8] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            ranks(size, |comm| {
                let (rank, size) = (comm.rank(), comm.size());
                with_definition(|definition| {
                    let how = (container, Subfiles::Blocks(1));
                    let writer = parallel(definition, (rank, size), how).create(comm, &path);
                    let mut writer = writer.unwrap();
                    assert_eq!((writer.comm().calls(), writer.part().calls()), (7, of_part));
                    put_all(&mut writer, rank, size);
                    let comm = writer.close().unwrap();
                    assert_eq!(comm.calls(), 7 + 3);
                });
            });
        }
    }
}

#[test]
fn a_sealed_set_is_that_of_the_serial_writer_in_whatever_order_values_are_put() {
    for container in CONTAINERS {
        let of = [(1, Subfiles::Blocks(1)), (5, Subfiles::Blocks(2)), (4, Subfiles::InTurn)];
        for (size, subfiles) in of {
            let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            serial_or_sealed(&theirs.path().join("a"), size, (container, subfiles), true);
            for step in [1, 2] {
                let path = ours.path().join("a");
                ranks(size, |comm| write_in_order(comm, &path, (container, subfiles), step));
                let (ours, theirs) = (files(ours.path()), files(theirs.path()));
                assert!(ours == theirs, "{size} ranks, {container:?}, {subfiles:?}");
            }
            let path = ours.path().join("a");
            let set = striae::blob::OpenOptions::new().checked(true).open(&path).unwrap();
            assert_eq!(set.is_sealed(0).unwrap(), Some(true));
            set.read::<f64>(set.variable("heat").unwrap()).unwrap();
            assert!(set.is_whole());
        }
    }
}

/// Puts everything, every second value last if `step` is 2.
fn write_in_order(comm: Rank, path: &Path, how: (Container, Subfiles), step: usize) {
    let (rank, size) = (comm.rank(), comm.size());
    with_definition(|definition| {
        let builder = parallel(definition, (rank, size), how).sealed(true);
        let mut writer = builder.create(comm, path).unwrap();
        let mut all = Vec::new();
        puts(rank, size, writer.is_first(), |name, record, values| {
            all.push((name.to_owned(), record, values.to_vec()));
        });
        for first in (0..step).rev() {
            for (name, record, values) in all.iter().skip(first).step_by(step) {
                let (name, record) = (name.as_str(), *record);
                typed!(name, values, |values: &_| writer.put(name, record, values).unwrap());
            }
        }
        writer.close().unwrap();
    });
}

#[test]
fn long_values_are_written_at_once_and_are_those_of_the_serial_writer() {
    const LEN: u64 = 30_000; // more than a window has, and not whole windows
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: 2 * LEN }];
    let var = |name, dimids| (VarDef { name, nc_type: Type::Double, dimids }, &[][..]);
    let vars = [var("heat", &[0, 1]), var("area", &[1])];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let requests = |rank: u32| vec![Request { offset: u64::from(1 - rank) * LEN, len: LEN }];
    let values = |rank: u32, record: u64| -> Vec<f64> {
        (0..LEN).map(|cell| (cell * 3 + record) as f64 + f64::from(rank)).collect()
    };
    for container in CONTAINERS {
        let serial = striae::blob::Builder::new(&canonical, 2.try_into().unwrap());
        let serial = serial.decomposition(&[1], vec![requests(0), requests(1)]).force(true);
        let serial = serial.container(container).sealed(true).records(2);
        let writer = serial.decomposed(0, 0).decomposed(1, 0).create(&theirs).unwrap();
        for number in 0..2 {
            let rank = writer.rank(number).unwrap();
            (0..2).for_each(|record| rank.put("heat", record, &values(number, record)).unwrap());
            rank.put("area", 0, &values(number, 9)).unwrap();
        }
        writer.close().unwrap();
        for order in [[0, 1], [1, 0]] {
            ranks(2, |comm| {
                let rank = comm.rank();
                let builder = Builder::new(&canonical).decomposition(&[1], requests(rank));
                let builder = builder.container(container).sealed(true).records(2).force(true);
                let builder = builder.decomposed(0, 0).decomposed(1, 0);
                let mut writer = builder.create(comm, &ours).unwrap();
                for record in order {
                    writer.put("heat", record, &values(rank, record)).unwrap();
                }
                writer.put("area", 0, &values(rank, 9)).unwrap();
                writer.close().unwrap();
            });
            let read = |name| std::fs::read(folder.path().join(name)).unwrap();
            assert!(read("ours.0000") == read("theirs.0000"), "{container:?}, {order:?}");
        }
    }
}

/// The variables of the next test.
const AGAIN: u64 = 8;

/// Each of three records of the variables: first all in order, then with wrong values and with
/// right ones, in an order of the turn. What comes after the right ones is left out.
fn puts_again(turn: u32) -> impl Iterator<Item = (u64, u64, bool)> {
    let puts = (0..AGAIN * 6).map(|put| (put / 6, put / 2 % 3, put % 2 == 1));
    let mut puts: Vec<_> = puts.filter(|(.., is_right)| *is_right || turn > 0).collect();
    if turn > 0 {
        puts.sort_by_key(|put| crc32c(turn, format!("{put:?}").as_bytes()));
    }
    let mut right = BTreeSet::new();
    puts.into_iter().filter(move |&(varid, record, is_right)| match is_right {
        true => right.insert((varid, record)),
        false => !right.contains(&(varid, record)),
    })
}

/// Values of 12 or 24 kB, which are held until a run of them is long, or written at once.
#[test]
fn of_values_that_are_put_again_the_last_ones_are_in_the_file() {
    const CELLS: u64 = 3000;
    let names: Vec<String> = (0..AGAIN).map(|number| format!("v{number}")).collect();
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: CELLS }];
    let var = |name| (VarDef { name, nc_type: Type::Double, dimids: &[0, 1] }, &[][..]);
    let vars: Vec<_> = names.iter().map(|name| var(name)).collect();
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let value = |varid: u64, record: u64, cell: u64| (varid * 7 + record * 10_000 + cell) as f64;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let cases = CONTAINERS.into_iter().flat_map(|of| [(1, of), (2, of)]);
    for ((size, container), turn) in cases.flat_map(|case| (0..16).map(move |turn| (case, turn))) {
        ranks(size, |comm| {
            let (rank, len) = (u64::from(comm.rank()), CELLS / u64::from(size));
            let request = Request { offset: rank * len, len };
            let builder = Builder::new(&canonical).decomposition(&[1], vec![request]).records(3);
            let builder = builder.container(container).sealed(true).force(true);
            let builder = (0..AGAIN).fold(builder, |builder, varid| builder.decomposed(varid, 0));
            let mut writer = builder.create(comm, &path).unwrap();
            for (varid, record, is_right) in puts_again(turn) {
                let cells = request.offset..request.offset + len;
                let values: Vec<f64> = match is_right {
                    true => cells.map(|cell| value(varid, record, cell)).collect(),
                    false => cells.map(|_| -1.0).collect(),
                };
                writer.put(&format!("v{varid}"), record, &values).unwrap();
            }
            writer.close().unwrap();
        });
        let set = striae::blob::OpenOptions::new().checked(true).open(&path).unwrap();
        for varid in 0..AGAIN {
            let found = set.read::<f64>(set.variable(&format!("v{varid}")).unwrap()).unwrap();
            let records = (0..3).flat_map(|record| (0..CELLS).map(move |cell| (record, cell)));
            let expected = records.map(|(record, cell)| value(varid, record, cell));
            assert!(expected.eq(found), "{size} ranks, {container:?}, turn {turn}: v{varid}");
        }
    }
}
