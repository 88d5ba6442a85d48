//! Any number of ranks append to a set of any number of tasks.

use crate::common::faulty;
use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::path::Path;
use striae::sion as serial;
use striae::sion::verify::{Sealing, state};
use striae_mpi::sion::{Builder, FileWriter, Placed, Reopen};
use striae_mpi::{Code, Collect, Collective, Error};

/// What task `task` writes in round `round`.
fn bytes(task: u64, round: u64) -> Vec<u8> {
    let len = (task * 331 + round * 190) % 1500;
    (0..len).map(|i| (i * 7 + task * 31 + round) as u8).collect()
}

fn expected(task: u64, rounds: u64) -> Vec<u8> {
    (0..rounds).flat_map(|round| bytes(task, round)).collect()
}

/// A set whose tasks have written round 0.
fn set(ntasks: u64, nfiles: u32, sealed: bool, path: &Path) {
    let builder = serial::Builder::new(ntasks).fsblksize(512).chunksize(512).force(true);
    let builder = builder.nfiles(nfiles).sealed(sealed).set_identity(1);
    let mut set = builder.create(path).unwrap();
    for task in 0..ntasks {
        set.task(task).unwrap().write_all(&bytes(task, 0)).unwrap();
    }
    set.close().unwrap();
}

fn append<C: Collective>(file: &mut FileWriter<C>, round: u64) -> Result<(), Error> {
    file.advance(1500)?; // as much as any task may need
    let tasks: Vec<_> = file.tasks().collect();
    for task in tasks {
        let mut writer = file.writer(task).unwrap();
        writer.write_all(&bytes(task.into(), round)).unwrap();
    }
    Ok(())
}

fn check(ntasks: u64, allowed: &[u64], sealed: bool, path: &Path) {
    let set = serial::File::open(path).unwrap();
    let found = |task| {
        let mut bytes = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let is = |rounds: &u64| (0..ntasks).all(|task| found(task) == expected(task, *rounds));
    assert!(allowed.iter().any(is), "not {allowed:?} rounds");
    is_sound(path);
    let sealing = if sealed { Sealing::Sealed } else { Sealing::None };
    assert_eq!(state(path).unwrap().sealing, sealing);
}

fn is_sound(path: &Path) {
    let mut findings = Vec::new();
    let mut note = |finding: &dyn std::fmt::Display| findings.push(finding.to_string());
    let summary = striae::Verify::new().sion(path, &mut |finding| note(&finding)).unwrap();
    assert!(summary.is_sound(), "{findings:?}");
}

fn files(nfiles: u32, path: &Path) -> Vec<Vec<u8>> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let names = (0..nfiles).map(|number| match number {
        0 => name.to_owned(),
        _ => format!("{name}.{number:06}"),
    });
    names.map(|name| std::fs::read(path.with_file_name(name)).unwrap()).collect()
}

proptest! {
    #![proptest_config(crate::config(20))]

    #[test]
    fn what_ranks_append_does_not_depend_on_their_number(
        ntasks in 1u64..8,
        nfiles in 1u32..4,
        size in 1u32..6,
        rounds in 1u64..4,
        [sealed, commits] in any::<[bool; 2]>(),
        reseal in any::<Option<bool>>(),
        collect in prop_oneof![Just(None), (1u32..4).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let nfiles = nfiles.min(ntasks as u32);
        let reopen = reseal.map_or(Reopen::new(), |sealed| Reopen::new().sealed(sealed));
        let collected = collect.map(|ranks| Collect::new().ranks_per_writer(ranks).buffer(700));
        let append_by = |size| {
            let reopen = match collected.filter(|_| size > 1) {
                None => reopen.clone(),
                Some(collect) => reopen.clone().collect(collect),
            };
            set(ntasks, nfiles, sealed, &path);
            ranks(size, |comm| {
                let mut file = reopen.open(comm, &path).unwrap();
                for round in 1..=rounds {
                    append(&mut file, round).unwrap();
                    if commits {
                        file.commit().unwrap();
                    }
                }
                assert_eq!(file.close().unwrap().size(), size);
            });
            check(ntasks, &[rounds + 1], reseal.unwrap_or(sealed), &path);
            let mut files = files(nfiles, &path);
            if nfiles > 1 && !sealed && reseal == Some(true) {
                // The identity of a set that is sealed now is random, and in a checksum. Seals of
                // earlier commits may be left where no chunk has used its bytes.
                for bytes in &mut files {
                    for magic in 48..bytes.len() - 15 {
                        if bytes[magic..].starts_with(b"striae SION seal") {
                            bytes[magic - 20..magic - 16].fill(0);
                            bytes[magic - 4..magic].fill(0);
                        }
                    }
                }
            }
            files
        };
        prop_assert!(append_by(size) == append_by(1));
    }
}

#[test]
fn reopening_takes_seven_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for ntasks in [1, 3, 40] {
        set(ntasks, 1, true, &path);
        ranks(3, |comm| {
            let file = Reopen::new().open(comm, &path).unwrap();
            assert_eq!(file.comm().calls(), 7);
            file.close().unwrap();
        });
    }
}

#[test]
fn whatever_happens_to_a_rank_that_appends_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for (ntasks, nfiles) in [(5, 1), (4, 2)] {
        set(ntasks, nfiles, true, &path);
        let write = |comm: faulty::Faulty<_>| {
            if comm.rank() == 0 {
                set(ntasks, nfiles, true, &path);
            }
            let mut file = Reopen::new().open(comm, &path)?;
            append(&mut file, 1)?;
            file.commit()?;
            file.close().map(drop)
        };
        sweep(3, write, |_| {
            if nfiles == 1 {
                check(ntasks, &[1, 2], true, &path); // files commit one by one
            }
        });
    }
}

#[test]
fn tasks_of_no_rank_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    set(6, 2, true, &path);
    ranks(3, |comm| {
        let tasks = [vec![4], vec![], vec![5, 0]];
        let reopen = Reopen::new().tasks(tasks[comm.rank() as usize].clone());
        let mut file = reopen.open(comm, &path).unwrap();
        append(&mut file, 1).unwrap();
        file.close().unwrap();
    });
    let set = serial::File::open(&path).unwrap();
    for task in 0..6 {
        let mut found = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut found).unwrap();
        let rounds = if [0, 4, 5].contains(&task) { 2 } else { 1 };
        assert!(found == expected(task, rounds), "{task}");
    }
    is_sound(&path);
}

fn error_of(reopen: impl Fn(u32) -> Reopen + Sync, path: &Path) -> Error {
    let errors = ranks(2, |comm| reopen(comm.rank()).open(comm, path).map(drop).unwrap_err());
    assert_eq!(errors[0], errors[1]);
    errors[0].clone()
}

#[test]
fn what_cannot_be_appended_to_is_the_same_error_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let dealt = |_| Reopen::new();
    assert_eq!(error_of(dealt, &path).code(), Code::Io(2));

    let open = serial::Builder::new(3).create(&path).unwrap();
    assert_eq!(error_of(dealt, &path).code(), Code::Io(16), "locked");
    drop(open);
    assert_eq!(error_of(dealt, &path).code(), Code::Unclosed);

    set(3, 1, false, &path);
    let before = files(1, &path);
    let twice = |rank| Reopen::new().tasks(vec![u64::from(rank), 1]);
    let error = error_of(twice, &path);
    assert_eq!((error.code(), error.rank()), (Code::Refused, Some(0)));
    assert!(error.text().contains("task 1"), "{error}");
    let some = |rank| Reopen::new().tasks(vec![u64::from(rank)]).sealed(true);
    assert_eq!(error_of(some, &path).code(), Code::Refused);
    let differ = |rank| Reopen::new().sealed(rank == 0);
    assert_eq!(error_of(differ, &path).code(), Code::Differ);
    assert!(files(1, &path) == before);

    set(3, 1, true, &path);
    let mut bytes = files(1, &path).remove(0);
    let at = bytes.len() - 24; // in the trailer of the seal
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(error_of(dealt, &path).code(), Code::Damaged);

    std::fs::remove_file(&path).unwrap();
    let builder = serial::Builder::new(4).nfiles(2).buddies(1);
    builder.create(&path).unwrap().close().unwrap();
    assert_eq!(error_of(dealt, &path).code(), Code::Refused);
}

/// No rank has the lock of another file still when all have closed the set.
#[test]
fn a_set_of_several_files_is_opened_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    ranks(4, |comm| {
        let builder = Builder::new().chunksize(100).nfiles(4);
        let mut comm = builder.create(comm, &path).unwrap().close().unwrap();
        for _ in 0..100 {
            comm = Reopen::new().open(comm, &path).unwrap().close().unwrap();
        }
    });
}

/// What a rank wants wrongly is known before the old files are emptied.
#[test]
fn a_refused_set_leaves_the_one_that_it_was_to_replace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    set(2, 1, false, &path);
    let before = std::fs::read(&path).unwrap();
    let numbered =
        |rank: u32| Builder::new().tasks(vec![(u64::from(rank), [512, u64::MAX][rank as usize])]);
    let twice = |rank: u32| {
        Builder::new().placed(vec![Placed { file: 0, globalrank: rank, local: 0, chunksize: 512 }])
    };
    for builder in [&numbered as &(dyn Fn(u32) -> Builder + Sync), &twice] {
        let done = ranks(2, |comm| {
            let builder = builder(comm.rank()).force(true);
            builder.create(comm, &path).map(drop).unwrap_err().code()
        });
        assert!(done.iter().all(|&code| code == Code::Refused), "{done:?}");
        assert!(std::fs::read(&path).unwrap() == before);
    }
}
