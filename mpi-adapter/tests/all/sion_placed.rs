//! Ranks say where each of their tasks is in a set.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::path::Path;
use striae::sion as serial;
use striae_mpi::sion::{Builder, Placed};
use striae_mpi::{Code, Collective, Error};

/// What the generator of the golden files writes.
fn payload(i: u64, globalrank: u32) -> u8 {
    (i * 7 + (i >> 8) * 13 + u64::from(globalrank) * 37 + 11) as u8
}

fn bytes(globalrank: u32, len: u64) -> Vec<u8> {
    (0..len).map(|i| payload(i, globalrank)).collect()
}

fn write<C: Collective>(
    comm: C,
    builder: &Builder,
    tasks: &[Vec<Placed>],
    path: &Path,
    len: impl Fn(u32) -> u64,
) -> Result<(), Error> {
    let tasks = &tasks[comm.rank() as usize];
    let mut file = builder.clone().placed(tasks.clone()).create(comm, path)?;
    for task in tasks {
        let mut writer = file.writer(task.globalrank).unwrap();
        writer.write_all(&bytes(task.globalrank, len(task.globalrank))).unwrap();
    }
    file.commit_set()?;
    file.close().map(drop)
}

/// The set of the reference run: six tasks of two ranks in two files.
fn reference(size: u32) -> Vec<Vec<Placed>> {
    let place = |g: u32| Placed { file: g % 2, local: g / 2, globalrank: g, chunksize: 512 };
    (0..size).map(|rank| (0..6).filter(|g| g % size == rank).map(place).collect()).collect()
}

#[test]
fn a_mapped_set_is_that_of_sionlib_but_for_entries_that_nobody_reads() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    let name = "p01_mapped_np2_6tasks_2files.sion";
    let set = serial::File::open(golden.join(name)).unwrap();
    let len = |globalrank: u32| {
        let task = set.find_globalrank(globalrank.into()).unwrap();
        set.task(task).unwrap().bytes
    };
    let lens: Vec<_> = (0..6).map(len).collect();
    for size in 1..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let builder = Builder::new().fsblksize(512).nfiles(2).prefix(name.into());
        ranks(size, |comm| {
            let tasks = &reference(size)[comm.rank() as usize];
            let mut file = builder.clone().placed(tasks.clone()).create(comm, &path).unwrap();
            for task in tasks {
                let len = lens[task.globalrank as usize];
                let mut writer = file.writer(task.globalrank).unwrap();
                writer.write_all(&bytes(task.globalrank, len)).unwrap();
            }
            file.close().unwrap();
        });
        for suffix in ["", ".000001"] {
            let name = format!("{name}{suffix}");
            let ours = std::fs::read(folder.path().join(&name)).unwrap();
            let mut theirs = std::fs::read(golden.join(&name)).unwrap();
            // For chunks that a task did not use, this writer of SIONlib has -1, all others 0.
            for entry in theirs[4608..].chunks_exact_mut(8) {
                if *entry == [0xff; 8] {
                    entry.fill(0);
                }
            }
            assert!(ours == theirs, "{name} by {size}");
        }
    }
}

#[test]
fn placing_tasks_takes_eleven_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(3, |comm| {
        let local = 2 - comm.rank();
        let task = Placed { file: 0, local, globalrank: comm.rank(), chunksize: 1 };
        let file = Builder::new().placed(vec![task]).create(comm, &path).unwrap();
        assert_eq!(file.comm().calls(), 11);
    });
}

#[test]
fn whatever_happens_to_a_rank_that_places_tasks_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let builder = Builder::new().fsblksize(512).nfiles(2).sealed(true).force(true);
    sweep(2, |comm| write(comm, &builder, &reference(2), &path, |g| 100 * u64::from(g)), |_| {});
}

#[test]
fn places_that_are_missing_or_taken_twice_are_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let place = |(file, local, globalrank)| Placed { file, local, globalrank, chunksize: 1 };
    let wrong: [&[(u32, u32, u32)]; 7] = [
        &[(0, 0, 0), (1, 1, 1)],            // no first task of file 1
        &[(0, 0, 0), (0, 0, 1), (1, 0, 2)], // a place twice
        &[(0, 0, 0), (0, 1, 0), (1, 0, 1)], // a global rank twice
        &[(0, 0, 0), (1, 0, 2)],            // a global rank missing
        &[(0, 0, 0), (0, 1, 1)],            // no file 1
        &[(0, 0, 0), (2, 0, 1)],            // a file too many
        &[(1, 0, 0), (1, 1, 1)],            // no file 0
    ];
    for tasks in wrong {
        let errors = ranks(2, |comm| {
            let mine = tasks.iter().copied().map(place).enumerate();
            let mine = mine.filter(|(i, _)| *i as u32 % 2 == comm.rank());
            let builder = Builder::new().fsblksize(512).nfiles(2).force(true);
            let builder = builder.placed(mine.map(|(_, task)| task).collect());
            builder.create(comm, &path).map(drop).unwrap_err()
        });
        assert_eq!(errors[0], errors[1], "{tasks:?}");
        assert_eq!(errors[0].code(), Code::Refused, "{tasks:?}: {errors:?}");
    }
}

proptest! {
    #![proptest_config(crate::config(30))]

    #[test]
    fn tasks_are_where_they_were_placed(
        tasks in prop::collection::vec((0u32..3, 0u32..3, 1u64..900), 3..9),
        order in Just((0..9u32).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut counts = [0; 3];
        let mut placed = vec![Vec::new(); 3];
        let ntasks = tasks.len() as u32;
        let globalranks = order.into_iter().filter(|rank| *rank < ntasks);
        let mut expected = Vec::new();
        for (i, (task, globalrank)) in tasks.into_iter().zip(globalranks).enumerate() {
            let (file, rank, chunksize) = task;
            let file = if i < 3 { i as u32 } else { file }; // each has one
            let local = counts[file as usize];
            counts[file as usize] += 1;
            placed[rank as usize].push(Placed { file, local, globalrank, chunksize });
            expected.push((globalrank, file, local));
        }
        let builder = Builder::new().fsblksize(512).nfiles(3).sealed(true);
        let len = |globalrank: u32| u64::from(globalrank) * 190;
        let done = ranks(3, |comm| write(comm, &builder, &placed, &path, len));
        prop_assert!(done.iter().all(Result::is_ok), "{done:?}");
        let set = serial::File::open(&path).unwrap();
        for (globalrank, file, local) in expected {
            let task = set.reader().mapped(globalrank.into()).unwrap().unwrap();
            let entry = set.task(task).unwrap();
            prop_assert_eq!((entry.file, entry.place.local), (file, local));
            let mut found = Vec::new();
            set.stream(task).unwrap().read_to_end(&mut found).unwrap();
            prop_assert!(found == bytes(globalrank, len(globalrank)));
        }
    }
}
