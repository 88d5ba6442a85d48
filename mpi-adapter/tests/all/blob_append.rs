//! Records that all ranks append: the set is then that of all records, byte for byte, and whatever
//! goes wrong on the way costs no old record.

use crate::set::{
    self, RECORDS, Subfiles, files, serial, serial_or_sealed, to, typed, with_definition,
};
use crate::world::{self, ranks};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use striae_mpi::blob::{Container, Writer};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error};

/// Puts the values of some records; of variables without records only with record 0.
fn put<C: Collective>(writer: &mut Writer<C>, records: Range<u64>) {
    let (rank, size, is_first) = (writer.comm().rank(), writer.comm().size(), writer.is_first());
    set::puts(rank, size, is_first, |name, record, values| {
        let is_fixed = ["area", "level", "mask"].contains(&name);
        if if is_fixed { records.start == 0 } else { records.contains(&record) } {
            typed!(name, values, |values: &_| writer.put(name, record, values).unwrap());
        }
    });
}

/// Makes a set of the first record.
fn first<C: Collective>(
    comm: C,
    path: &Path,
    (subfiles, sealed): (Subfiles, bool),
) -> Result<C, Error> {
    with_definition(|definition| {
        let shape = (comm.rank(), comm.size());
        let builder = set::parallel(definition, shape, (Container::Cdf, subfiles)).sealed(sealed);
        let mut writer = builder.create(comm, path)?;
        put(&mut writer, 0..1);
        writer.close()
    })
}

/// Appends records up to the last one.
fn append<C: Collective>(comm: C, path: &Path) -> Result<C, Error> {
    let mut writer = Writer::append(comm, path)?;
    let records = writer.first()..RECORDS;
    put(&mut writer, records);
    writer.close()
}

#[test]
fn a_set_that_was_appended_to_is_the_set_of_all_records() {
    for (size, subfiles) in [
        (1, Subfiles::Blocks(1)),
        (3, Subfiles::Blocks(2)),
        (5, Subfiles::InTurn),
        (8, Subfiles::Blocks(3)),
    ] {
        for sealed in [false, true] {
            let (whole, grown) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let shape = (Container::Cdf, subfiles);
            serial_or_sealed(&whole.path().join("a"), size, shape, sealed);
            let path = grown.path().join("a");
            let calls = ranks(size, |comm| {
                let comm = first(comm, &path, (subfiles, sealed)).unwrap();
                let before = comm.calls();
                let writer = Writer::append(comm, &path).unwrap();
                assert_eq!(writer.first(), 1);
                let opened = writer.comm().calls();
                let mut writer = Writer::append(writer.close().unwrap(), &path).unwrap(); // nothing
                put(&mut writer, 1..2);
                let comm = writer.close().unwrap();
                let last = comm.calls();
                (opened - before, append(comm, &path).unwrap().calls() - last)
            });
            // 7 to open and one of the split, 5 to close.
            assert_eq!(calls, vec![(8, 13); size as usize], "{size} {subfiles:?}");
            assert!(files(grown.path()) == files(whole.path()), "{size} {subfiles:?} {sealed}");
        }
    }
}

#[test]
fn records_out_of_order_are_sealed_as_in_order() {
    let (whole, grown) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let subfiles = Subfiles::Blocks(2);
    serial_or_sealed(&whole.path().join("a"), 4, (Container::Cdf, subfiles), true);
    let path = grown.path().join("a");
    ranks(4, |comm| {
        let comm = first(comm, &path, (subfiles, true)).unwrap();
        let mut writer = Writer::append(comm, &path).unwrap();
        put(&mut writer, 2..3);
        writer.flush().unwrap();
        put(&mut writer, 1..2);
        put(&mut writer, 1..2);
        writer.close().unwrap();
    });
    assert!(files(grown.path()) == files(whole.path()));
}

/// The headers of all files.
fn headers(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let cut = |(name, bytes): (String, Vec<u8>)| (name, bytes[..2000].to_vec());
    files(folder).into_iter().map(cut).collect()
}

#[test]
fn what_cannot_be_appended_is_one_error_of_all_ranks_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let error = |size: u32, work: &(dyn Fn(Rank) -> Option<Error> + Sync)| {
        let before = headers(folder.path());
        let errors: Vec<_> = ranks(size, work).into_iter().map(Option::unwrap).collect();
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        assert!(headers(folder.path()) == before, "something has changed");
        errors[0].code()
    };
    let refused = |comm| Writer::append(comm, &path).err();
    assert!(matches!(error(3, &refused), Code::Io(_) | Code::Refused)); // there is none
    serial(&path, 3, Container::Hdf5, Subfiles::Blocks(2));
    assert_eq!(error(3, &refused), Code::Refused);
    ranks(3, |comm| first(comm, &path, (Subfiles::Blocks(2), true)).map(drop).unwrap());
    assert_eq!(error(4, &refused), Code::Refused);
    assert_eq!(error(1, &refused), Code::Refused);
    // Records that one rank does not put.
    let missing = |comm: Rank| {
        let mut writer = Writer::append(comm, &path).unwrap();
        if writer.comm().rank() != 2 {
            put(&mut writer, 1..RECORDS);
        }
        let error = writer.close().unwrap_err();
        assert_eq!(error.rank(), Some(2));
        Some(error)
    };
    assert_eq!(error(3, &missing), Code::Refused);
    // What is stored stays.
    ranks(3, |comm| {
        let mut writer = Writer::append(comm, &path).unwrap();
        let no_record = writer.put::<f64>("heat", 0, &[]).unwrap_err();
        let no_variable = writer.put::<f32>("area", 0, &[]).unwrap_err();
        assert_eq!([no_record.code(), no_variable.code()], [Code::Refused; 2]);
        writer.close().unwrap();
    });
    let other = striae::blob::Writer::append(&path).unwrap();
    assert_eq!(error(3, &refused), Code::Io(16)); // EBUSY
    drop(other);
    std::fs::remove_file(folder.path().join("a.0001")).unwrap();
    assert_eq!(error(3, &refused), Code::Refused);
}

#[test]
fn whatever_happens_to_a_rank_the_set_has_the_old_records_or_all() {
    // In memory: what is made durable is made so hundreds of times.
    let in_memory = || tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let (folder, whole) = (in_memory().unwrap(), in_memory().unwrap());
    let (path, shape) = (folder.path().join("a"), (Subfiles::Blocks(2), true));
    serial_or_sealed(&whole.path().join("a"), 3, (Container::Cdf, shape.0), true);
    ranks(3, |comm| first(comm, &path, shape).map(drop).unwrap());
    let (old, all) = (files(folder.path()), files(whole.path()));
    let (mut olds, mut news) = (0, 0);
    let heat = |records: u64| {
        let set = striae::blob::OpenOptions::new().checked(true).open(&path).unwrap();
        let heat = set.read::<f64>(set.variable("heat").unwrap()).unwrap();
        let expected = (0..records).flat_map(|record| {
            (0..set::CELLS).map(move |cell| f64::from(set::value("heat", record, cell)))
        });
        assert!(set.is_whole(), "{:?}", set.lost());
        assert_eq!(heat, expected.collect::<Vec<_>>());
    };
    world::sweep(
        3,
        |comm| {
            if comm.rank() == 0 {
                // The others look at the files after this rank.
                old.iter().for_each(|(name, bytes)| {
                    std::fs::write(folder.path().join(name), bytes).unwrap();
                });
            }
            append(comm, &path)?.free(Ok(()))
        },
        |case| {
            let records = striae::blob::Set::open(&path).unwrap().header().numrecs();
            assert!([1, RECORDS].contains(&records), "{case:?}");
            heat(records);
            match records {
                1 => {
                    olds += 1;
                    // What some subfiles count already is taken back, and written again.
                    ranks(3, |comm| append(comm, &path).map(drop).unwrap());
                    assert!(files(folder.path()) == all, "{case:?}");
                }
                _ => news += 1,
            }
            heat(RECORDS);
        },
    );
    assert!(olds > 100 && news > 10, "{olds} {news}");
}
