//! Ranks that own any tasks of a set write what a serial writer writes.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use striae::sion as serial;
use striae_core::sion::raw;
use striae_mpi::sion::{Builder, OpenOptions};
use striae_mpi::{Code, Collect, Collective, Error};

/// What the tasks of a set write.
#[derive(Debug, Clone)]
struct Case {
    /// The size of the chunks of each task, and its rank.
    tasks: Vec<(u64, u32)>,
    /// The lengths that each task writes in each round.
    rounds: Vec<Vec<usize>>,
    nfiles: u32,
    sealed: bool,
    keyval: bool,
    commits: bool,
    /// The number of ranks that have a writer in common, if records wait.
    collect: Option<u32>,
}

impl Case {
    fn bytes(&self, task: usize, round: usize) -> Vec<u8> {
        let has_room = self.tasks[task].0 > 0;
        let len = if has_room { self.rounds[round][task] } else { 0 };
        (0..len).map(|i| (i * 7 + task * 31 + round) as u8).collect()
    }

    fn builder(&self) -> Builder {
        let builder = Builder::new().fsblksize(512).nfiles(self.nfiles).prefix(b"a".into());
        let builder = builder.sealed(self.sealed).set_identity(1).keyval(self.keyval).force(true);
        match self.collect {
            None => builder,
            Some(ranks) => builder.collect(Collect::new().ranks_per_writer(ranks).buffer(700)),
        }
    }

    /// The tasks of a rank, the last first.
    fn tasks_of(&self, rank: u32) -> Vec<(u64, u64)> {
        let tasks = (0..).zip(&self.tasks).filter(|(_, (_, owner))| *owner == rank);
        let mut tasks: Vec<_> = tasks.map(|(task, (size, _))| (task, *size)).collect();
        tasks.reverse();
        tasks
    }

    fn write<C: Collective>(&self, comm: C, path: &Path) -> Result<(), Error> {
        let builder = self.builder().tasks(self.tasks_of(comm.rank()));
        let mut file = builder.create(comm, path)?;
        let tasks: Vec<_> = file.tasks().collect();
        for round in 0..self.rounds.len() {
            file.advance(1500 + 16)?; // as much as any task may need
            for task in &tasks {
                let bytes = self.bytes(*task as usize, round);
                let mut writer = file.writer(*task).unwrap();
                match self.keyval {
                    true if bytes.is_empty() => {}
                    true => writer.write_key(round as u64, &bytes).unwrap(),
                    false => writer.write_all(&bytes).unwrap(),
                }
            }
            if self.commits {
                file.commit()?;
            }
        }
        file.close().map(drop)
    }

    fn write_by(&self, size: u32, path: &Path) {
        assert!(ranks(size, |comm| self.write(comm, path)).iter().all(Result::is_ok));
    }

    fn write_serially(&self, path: &Path) {
        let sizes = self.tasks.iter().map(|(size, _)| *size).collect();
        let builder = serial::Builder::new(self.tasks.len() as u64).chunksizes(sizes);
        let builder = builder.fsblksize(512).nfiles(self.nfiles).prefix(b"a".into());
        let mut set =
            builder.sealed(self.sealed).set_identity(1).keyval(self.keyval).create(path).unwrap();
        for task in 0..self.tasks.len() {
            let mut writer = set.task(task as u64).unwrap();
            for round in 0..self.rounds.len() {
                let bytes = self.bytes(task, round);
                match self.keyval {
                    true if bytes.is_empty() => {}
                    true => writer.write_key(round as u64, &bytes).unwrap(),
                    false => writer.write_all(&bytes).unwrap(),
                }
            }
        }
        set.close().unwrap();
    }

    fn files(&self, path: &Path) -> Vec<Vec<u8>> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let names = (0..self.nfiles).map(|number| match number {
            0 => name.to_owned(),
            _ => format!("{name}.{number:06}"),
        });
        names.map(|name| std::fs::read(path.with_file_name(name)).unwrap()).collect()
    }

    fn streams(&self) -> Vec<Vec<u8>> {
        let stream = |task| (0..self.rounds.len()).flat_map(|r| self.bytes(task, r)).collect();
        (0..self.tasks.len()).map(stream).collect()
    }
}

/// The streams of a set, without the headers of key-value records.
fn read(path: &Path, keyval: bool) -> Vec<Vec<u8>> {
    let set = serial::File::open(path).unwrap();
    let read = |task| {
        let mut bytes = Vec::new();
        let mut stream = set.stream(task).unwrap();
        if !keyval {
            stream.read_to_end(&mut bytes).unwrap();
            return bytes;
        }
        let keys: Vec<_> = stream.records().unwrap().map(|record| record.unwrap().key).collect();
        for key in keys {
            set.value(task, key).unwrap().read_to_end(&mut bytes).unwrap();
        }
        bytes
    };
    (0..set.ntasks()).map(read).collect()
}

fn case() -> impl Strategy<Value = Case> {
    let task = (prop_oneof![1 => Just(0), 9 => 1u64..1200], 0u32..4);
    let collect = prop_oneof![Just(None), (1u32..4).prop_map(Some)];
    let settings = (any::<[bool; 3]>(), collect);
    (prop::collection::vec(task, 1..10), 1usize..4, 1u32..4, settings).prop_flat_map(
        |(tasks, rounds, nfiles, ([sealed, keyval, commits], collect))| {
            let nfiles = nfiles.min(tasks.len() as u32);
            let lens = prop::collection::vec(0usize..1500, tasks.len());
            prop::collection::vec(lens, rounds).prop_map(move |rounds| Case {
                tasks: tasks.clone(),
                rounds,
                nfiles,
                sealed,
                keyval,
                commits,
                collect,
            })
        },
    )
}

proptest! {
    #![proptest_config(crate::config(40))]

    #[test]
    fn closed_sets_are_those_of_the_serial_writer_byte_for_byte(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let (ours, serial) = (folder.path().join("ours"), folder.path().join("serial"));
        // The only file of a set has number 0 if ranks write it, as SIONlib has it, else 1 and an
        // empty mapping at the end. A seal has checksums of them.
        let sealed = case.sealed && case.nfiles > 1;
        let case = Case { commits: false, sealed, ..case };
        case.write_by(4, &ours);
        case.write_serially(&serial);
        let mut serial = case.files(&serial);
        if case.nfiles == 1 {
            let at = usize::from(raw::Meta1::filenumber.offset());
            serial[0][at..at + 4].fill(0);
            let end = serial[0].len() - size_of::<raw::MappingSize>();
            serial[0].truncate(end);
        }
        prop_assert!(case.files(&ours) == serial);
        prop_assert_eq!(read(&ours, case.keyval), case.streams());
    }

    #[test]
    fn sets_with_commits_do_not_depend_on_who_owns_the_tasks(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        case.write_by(4, &path);
        let files = case.files(&path);
        let alone = case.tasks.iter().map(|(size, _)| (*size, 0)).collect();
        Case { tasks: alone, collect: None, ..case.clone() }.write_by(1, &path);
        prop_assert!(case.files(&path) == files);
        prop_assert_eq!(read(&path, case.keyval), case.streams());
    }
}

#[test]
fn whatever_happens_to_an_owner_whose_records_wait_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let case = Case { collect: Some(3), ..round_robin(5, 3, 1) };
    sweep(3, |comm| case.write(comm, &path), |_| {});
    assert_eq!(read(&path, false).len(), 5); // of a commit
}

fn round_robin(ntasks: u32, size: u32, nfiles: u32) -> Case {
    let tasks = (0..ntasks).map(|task| (300 + u64::from(task), task % size)).collect();
    let rounds = (0..2).map(|r| (0..ntasks as usize).map(|t| (t * 331 + r * 190) % 900).collect());
    let rounds = rounds.collect();
    Case { tasks, rounds, nfiles, sealed: true, keyval: false, commits: true, collect: None }
}

#[test]
fn whatever_happens_to_an_owner_of_tasks_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let case = round_robin(7, 3, 1);
    sweep(3, |comm| case.write(comm, &path), |_| {});
    assert_eq!(read(&path, false).len(), 7); // of a commit
}

#[test]
fn whatever_happens_to_an_owner_of_tasks_in_several_files_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    // Rank 2 is in both files, the others in one.
    let mut case = round_robin(4, 3, 2);
    case.tasks = vec![(300, 0), (300, 2), (300, 2), (300, 1)];
    sweep(3, |comm| case.write(comm, &path), |_| {});
}

#[test]
fn the_number_of_calls_does_not_depend_on_tasks_and_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for ntasks in [3, 40] {
        let case = round_robin(ntasks, 3, 1);
        ranks(3, |comm| {
            let builder = case.builder().tasks(case.tasks_of(comm.rank()));
            let mut file = builder.create(comm, &path).unwrap();
            assert_eq!(file.comm().calls(), 7);
            file.commit().unwrap();
            assert_eq!(file.comm().calls(), 7 + 3);
        });
        ranks(3, |comm| {
            let file = case.builder().chunksizes(vec![1; ntasks as usize]).create(comm, &path);
            assert_eq!(file.unwrap().comm().calls(), 8);
        });
    }
}

#[test]
fn many_tasks_take_two_calls_for_each_further_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let each = 35_000; // more than 64 Ki in all
    ranks(2, |comm| {
        let rank = comm.rank();
        let sizes = (0..each).map(|i| (i + u64::from(rank)) % 3 + 1).collect();
        let mut file = Builder::new().fsblksize(1).chunksizes(sizes).create(comm, &path).unwrap();
        assert_eq!(file.comm().calls(), 8 + 2);
        for task in [0, each as u32 - 1] {
            let task = task + rank * each as u32;
            let mut writer = file.writer(task).unwrap();
            let room = writer.room();
            writer.write_all(&vec![task as u8; room as usize]).unwrap();
        }
        file.close().unwrap();
    });
    let set = serial::File::open(&path).unwrap();
    for (task, size) in [(0, 1), (each - 1, 2), (each, 2), (2 * each - 1, 3)] {
        let mut found = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(found, vec![task as u8; size]);
    }
}

#[test]
fn the_threads_of_a_rank_are_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(3, |comm| {
        let rank = comm.rank();
        let threads = [2, 0, 3][rank as usize]; // as many as each rank has
        let builder = Builder::new().fsblksize(512).nfiles(2).sealed(true);
        let mut file = builder.chunksizes(vec![100; threads]).create(comm, &path).unwrap();
        for _ in 0..2 {
            file.advance(1500).unwrap();
            std::thread::scope(|scope| {
                for mut writer in file.writers().unwrap() {
                    let bytes = vec![writer.task() as u8; 700];
                    scope.spawn(move || writer.write_all(&bytes).unwrap());
                }
            });
            file.commit().unwrap();
        }
        file.close().unwrap();
    });
    let expected: Vec<_> = (0..5).map(|task| vec![task; 1400]).collect();
    assert_eq!(read(&path, false), expected);
    assert!(striae::Verify::new().sion(&path, &mut |f| panic!("{f}")).unwrap().is_sound());
}

#[test]
fn an_error_of_a_thread_is_that_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let errors = ranks(2, |comm| {
        let sizes = if comm.rank() == 1 { vec![512, 0] } else { vec![512] };
        let mut file = Builder::new().chunksizes(sizes).create(comm, &path).unwrap();
        for mut writer in file.writers().unwrap() {
            let kind = writer.write_all(b"x").map_err(|error| error.kind());
            let has_room = writer.task() < 2;
            assert_eq!(kind, if has_room { Ok(()) } else { Err(ErrorKind::InvalidInput) });
        }
        file.close().map(drop).unwrap_err()
    });
    assert!(errors.iter().all(|e| (e.rank(), e.code()) == (Some(1), Code::Refused)), "{errors:?}");
}

#[test]
fn tasks_of_two_ranks_or_of_none_are_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let wrong: [(&[&[u64]], u32); 8] = [
        (&[&[0, 1], &[3]], 1),          // a gap
        (&[&[1], &[2]], 1),             // no task 0
        (&[&[0, 1], &[1, 3]], 1),       // one twice, one missing
        (&[&[0, 0], &[1]], 1),          // one twice
        (&[&[], &[]], 1),               // none
        (&[&[0, 1, 0], &[3]], 2),       // one file whole, one not
        (&[&[0, 0, 1, 1], &[4, 5]], 3), // a file of no rank
        (&[&[0], &[1]], 3),             // more files than tasks
    ];
    for (tasks, nfiles) in wrong {
        let errors = ranks(2, |comm| {
            let tasks = tasks[comm.rank() as usize].iter().map(|task| (*task, 100)).collect();
            let builder = Builder::new().fsblksize(512).nfiles(nfiles).force(true).tasks(tasks);
            builder.create(comm, &path).map(drop).unwrap_err()
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{tasks:?}: {errors:?}");
        assert_eq!(errors[0].code(), Code::Refused, "{tasks:?}: {errors:?}");
    }
}

#[test]
fn ranks_with_other_options_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let errors = ranks(2, |comm| {
        let rank = comm.rank();
        let builder = Builder::new().keyval(rank == 1).tasks(vec![(rank.into(), 100)]);
        builder.create(comm, &path).map(drop).unwrap_err().code()
    });
    assert_eq!(errors, [Code::Differ; 2]);
}

#[test]
fn key_value_sets_are_those_of_sionlib() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    let (folder, name) = (tempfile::tempdir().unwrap(), "m10_np4_keyval.sion");
    let path = folder.path().join(name);
    ranks(4, |comm| {
        let rank = comm.rank();
        let builder = Builder::new().fsblksize(512).chunksize(512).keyval(true);
        let mut file = builder.prefix(name.into()).create(comm, &path).unwrap();
        assert_eq!(file.write(b"x").unwrap_err().kind(), ErrorKind::InvalidInput);
        for (key, len) in [(1, 10), (2, 600 + rank)] {
            let byte = |j: u32| (j * 7 + (j >> 8) * 13 + rank * 37 + key * 101 + 11) as u8;
            let value: Vec<u8> = (0..len).map(byte).collect();
            file.write_key(key.into(), &value).unwrap();
        }
        file.close().unwrap();
    });
    assert!(std::fs::read(&path).unwrap() == std::fs::read(golden.join(name)).unwrap());
}

#[test]
fn a_set_of_sionlibs_mapped_writer_with_empty_tasks_is_read_and_dealt_as_by_sionlib() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let lens = [1300, 512, 1, 0, 0, 0, 600, 0]; // in chunks of 512 bytes
    let stream =
        |task: usize| -> Vec<u8> { (0..lens[task]).map(|i| (i * 7 + task) as u8).collect() };
    let builder = serial::Builder::new(8).fsblksize(512).chunksize(512);
    let mut set = builder.order(striae_core::endian::ByteOrder::Little).create(&path).unwrap();
    for task in 0..8 {
        set.task(task as u64).unwrap().write_all(&stream(task)).unwrap();
    }
    set.close().unwrap();
    // That writer stores -1 where a task has no such chunk, not 0 (`spec/sion.md`, "unused").
    let mut bytes = std::fs::read(&path).unwrap();
    let number = |bytes: &[u8], at: usize| i64::from_le_bytes(bytes[at..][..8].try_into().unwrap());
    let (start, mut changed) = (number(&bytes, 1080 + 16 * 8) as usize, 0);
    for task in 0..8 {
        for chunk in number(&bytes, start + 8 * task)..3 {
            let at = start + 64 + 64 * chunk as usize + 8 * task;
            assert_eq!(number(&bytes, at), 0);
            bytes[at..][..8].copy_from_slice(&(-1_i64).to_le_bytes());
            changed += 1;
        }
    }
    assert_eq!(changed, 6 * 2 + 1);
    std::fs::write(&path, &bytes).unwrap();
    // Each rank has 8 / 7 tasks, and the last one has the rest.
    let dealt = ranks(7, |comm| {
        let file = OpenOptions::new().open(comm, &path).unwrap();
        let tasks = file.tasks().iter().map(|entry| {
            let mut found = Vec::new();
            file.stream(entry.task).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == stream(entry.task as usize) && entry.bytes == found.len() as u64);
            entry.task
        });
        let tasks: Vec<u64> = tasks.collect();
        file.close(Ok(())).unwrap();
        tasks
    });
    assert_eq!(dealt, [vec![0], vec![1], vec![2], vec![3], vec![4], vec![5], vec![6, 7]]);
}
