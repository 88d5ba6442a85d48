//! Buddy sets of ranks: those of the serial writer and of SIONlib, and what is left if files are
//! lost or a rank is.

use crate::common::faulty::Fault;
use crate::world::{Sweep, ranks, sweep};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use striae::posix::PosixFile;
use striae::sion::{self as serial, buddy_path};
use striae_mpi::sion::{Builder, FileReader, FileWriter, OpenOptions};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collect, Collective, Error};

/// In memory, if there is such a folder: what is synced is not the matter here.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The paths of the files of a set, of which the main set is first.
fn paths(path: &Path, nfiles: u32, buddies: u32) -> Vec<PathBuf> {
    let copies = (0..buddies).map(|level| buddy_path(path, level));
    let sets = std::iter::once(path.to_owned()).chain(copies);
    sets.flat_map(|set| (0..nfiles).map(move |file| sibling(&set, file))).collect()
}

fn sibling(path: &Path, number: u32) -> PathBuf {
    match number {
        0 => path.to_owned(),
        _ => format!("{}.{number:06}", path.display()).into(),
    }
}

#[derive(Debug, Clone)]
struct Case {
    /// For each rank the size of its chunks, and the lengths of its records.
    tasks: Vec<(u64, Vec<usize>)>,
    nfiles: u32,
    buddies: u32,
    sealed: bool,
    keyval: bool,
    /// How many bytes wait at most.
    buffer: usize,
    /// Whether records are written collectively.
    collective: bool,
}

impl Case {
    fn record(&self, rank: usize, round: usize) -> Vec<u8> {
        let (chunksize, lens) = &self.tasks[rank];
        let len = if *chunksize == 0 { 0 } else { lens[round] };
        (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
    }

    fn rounds(&self) -> usize {
        self.tasks[0].1.len()
    }

    fn builder(&self) -> Builder {
        let builder = Builder::new().fsblksize(512).nfiles(self.nfiles).buddies(self.buddies);
        let builder =
            builder.prefix(b"a".into()).sealed(self.sealed).set_identity(1).keyval(self.keyval);
        builder.force(true).collect(Collect::new().ranks_per_writer(1).buffer(self.buffer))
    }

    /// `commits`: whether there is a commit after each round.
    fn program<C: Collective>(&self, comm: C, path: &Path, commits: bool) -> Result<(), Error> {
        let rank = comm.rank() as usize;
        let mut file = self.builder().chunksize(self.tasks[rank].0).create(comm, path)?;
        for round in 0..self.rounds() {
            let record = self.record(rank, round);
            if self.collective && !self.keyval {
                file.coll_write(&record)?;
            } else {
                file.advance(record.len() as u64 + 16)?;
                match self.keyval {
                    true if record.is_empty() => {}
                    true => file.write_key(round as u64, &record).unwrap(),
                    false => {
                        file.write(&record).unwrap_or_else(|e| assert!(record.is_empty(), "{e}"))
                    }
                }
            }
            if commits {
                file.commit()?;
            }
        }
        file.close().map(drop)
    }

    fn write(&self, path: &Path, commits: bool) {
        let done = ranks(self.tasks.len() as u32, |comm| self.program(comm, path, commits));
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }

    fn write_serially(&self, path: &Path) {
        let sizes = self.tasks.iter().map(|(size, _)| *size).collect();
        let builder = serial::Builder::new(self.tasks.len() as u64).chunksizes(sizes);
        let builder = builder.fsblksize(512).nfiles(self.nfiles).buddies(self.buddies);
        let builder =
            builder.prefix(b"a".into()).sealed(self.sealed).set_identity(1).keyval(self.keyval);
        let mut set = builder.create(path).unwrap();
        for rank in 0..self.tasks.len() {
            let mut task = set.task(rank as u64).unwrap();
            for round in 0..self.rounds() {
                let record = self.record(rank, round);
                match self.keyval {
                    true if record.is_empty() => {}
                    true => task.write_key(round as u64, &record).unwrap(),
                    // A record that fits into a chunk is not split.
                    false if self.collective => task.write_record(&record).unwrap(),
                    false => task.write_all(&record).unwrap(),
                }
            }
        }
        set.close().unwrap();
    }

    fn files(&self, path: &Path) -> Vec<Vec<u8>> {
        let paths = paths(path, self.nfiles, self.buddies);
        paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
    }

    fn streams(&self) -> Vec<Vec<u8>> {
        let stream = |rank| (0..self.rounds()).flat_map(|round| self.record(rank, round)).collect();
        (0..self.tasks.len()).map(stream).collect()
    }
}

fn case() -> impl Strategy<Value = Case> {
    let levels = prop_oneof![Just((2, 1)), Just((3, 1)), Just((3, 2)), Just((5, 1)), Just((4, 1))];
    let settings = (any::<[bool; 3]>(), prop_oneof![Just(1 << 20), Just(700usize)]);
    (levels, 0usize..4, 1usize..4, settings).prop_flat_map(
        |((nfiles, buddies), more, rounds, ([sealed, keyval, collective], buffer))| {
            let size = prop_oneof![1 => Just(0), 9 => 600u64..1200];
            let lens = prop::collection::vec(0usize..600, rounds);
            prop::collection::vec((size, lens), nfiles as usize + more).prop_map(move |tasks| {
                Case { tasks, nfiles, buddies, sealed, keyval, buffer, collective }
            })
        },
    )
}

proptest! {
    #![proptest_config(crate::config(20))]

    #[test]
    fn buddy_sets_are_those_of_the_serial_writer_byte_for_byte(case in case()) {
        let folder = folder();
        let (ours, serial) = (folder.path().join("ours"), folder.path().join("serial"));
        case.write(&ours, false);
        case.write_serially(&serial);
        prop_assert!(case.files(&ours) == case.files(&serial));
    }

    #[test]
    fn whatever_file_is_lost_with_what_is_kept_beside_it_nothing_is_lost(
        case in case(),
        lost in 0u32..5,
        size in 1u32..4,
    ) {
        let folder = folder();
        let path = folder.path().join("a");
        let case = Case { keyval: false, ..case };
        case.write(&path, true);
        let lost = lost % case.nfiles;
        std::fs::remove_file(sibling(&path, lost)).unwrap();
        for level in 0..case.buddies {
            let kept = (lost + level + 1) % case.nfiles;
            std::fs::remove_file(sibling(&buddy_path(&path, level), kept)).unwrap();
        }
        prop_assert_eq!(read_by(size, &path), case.streams());
    }
}

/// The streams of a set, read by so many ranks.
fn read_by(size: u32, path: &Path) -> Vec<Vec<u8>> {
    let read = |file: &FileReader<_>| -> Vec<Vec<u8>> {
        let mut streams = Vec::new();
        for task in file.tasks() {
            let mut bytes = Vec::new();
            file.stream(task.task).unwrap().read_to_end(&mut bytes).unwrap();
            streams.push(bytes);
        }
        streams
    };
    let done = ranks(size, |comm| {
        let file = OpenOptions::new().open(comm, path).unwrap();
        let streams = read(&file);
        file.close(Ok(())).unwrap();
        streams
    });
    done.into_iter().flatten().collect()
}

/// What the generator of the golden files writes.
fn payload(i: u64, globalrank: u32) -> u8 {
    (i * 7 + (i >> 8) * 13 + u64::from(globalrank) * 37 + 11) as u8
}

#[test]
fn the_files_are_those_that_sionlib_makes_of_the_same_request() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    let (folder, name) = (folder(), "m11_np4_buddy.sion");
    let path = folder.path().join(name);
    let done = ranks(4, |comm| {
        let rank = comm.rank();
        let builder = Builder::new().fsblksize(512).nfiles(2).buddies(1).chunksize(512);
        let mut file = builder.prefix(name.into()).create(comm, &path)?;
        let first = 100 + u64::from(rank);
        for record in [0..first, first..first + 450] {
            let record: Vec<u8> = record.map(|i| payload(i, rank)).collect();
            file.ensure_free_space(record.len() as u64).unwrap();
            file.write(&record).unwrap();
        }
        file.close().map(drop)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    for ours in paths(&path, 2, 1) {
        let theirs = golden.join(ours.file_name().unwrap());
        assert!(std::fs::read(&ours).unwrap() == std::fs::read(theirs).unwrap(), "{ours:?}");
    }
}

fn small(nfiles: u32, buddies: u32, size: usize) -> Case {
    let tasks = (0..size).map(|rank| (300, vec![200 + rank, 170])).collect();
    let (sealed, keyval, collective) = (true, false, false);
    Case { tasks, nfiles, buddies, sealed, keyval, buffer: 1 << 10, collective }
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error() {
    let folder = folder();
    let path = folder.path().join("a");
    let case = one_round(small(2, 1, 2));
    sweep(2, |comm| case.program(comm, &path, true), |_| {});
}

#[test]
fn a_rank_that_has_gone_is_known_to_ranks_of_other_files() {
    let folder = folder();
    let path = folder.path().join("a");
    let case = Case { collective: true, ..one_round(small(3, 1, 3)) };
    // Whoever is late, but not lost, may find that others have given up waiting for each other.
    let faults = vec![Fault::Fail, Fault::Panic, Fault::Vanish];
    let sweep = Sweep { faults, ..Sweep::new(3) };
    sweep.run(|| {}, |comm, ()| case.program(comm, &path, false), |_, ()| {});
}

fn one_round(case: Case) -> Case {
    let tasks = case.tasks.iter().map(|(size, lens)| (*size, lens[..1].to_vec())).collect();
    Case { tasks, ..case }
}

#[test]
fn only_the_first_keeper_opens_a_copy() {
    let folder = folder();
    let path = folder.path().join("a");
    let opened = ranks(6, |comm| {
        let (rank, case) = (comm.rank(), small(3, 2, 6));
        let names = Rc::new(RefCell::new(BTreeSet::new()));
        let seen = Rc::clone(&names);
        let mut file = case.builder().create_in(comm, &path, move |name, anew| {
            seen.borrow_mut().insert(name.file_name().unwrap().to_owned());
            if anew { PosixFile::create(name, true) } else { PosixFile::open_rw(name) }
        });
        for round in 0..3 {
            let file = file.as_mut().unwrap();
            file.advance(500).unwrap();
            file.write(&vec![round; 500]).unwrap();
            file.commit().unwrap();
        }
        file.unwrap().close().unwrap();
        let names = names.borrow();
        (rank, names.iter().map(|name| name.to_str().unwrap().to_owned()).collect::<Vec<_>>())
    });
    // File f of level b is kept by the ranks of file f - b - 1, two of which each file has.
    let expected = [
        vec!["a", "a_BUDDY_00.000001", "a_BUDDY_01.000002"],
        vec!["a"],
        vec!["a.000001", "a_BUDDY_00.000002", "a_BUDDY_01"],
        vec!["a.000001"],
        vec!["a.000002", "a_BUDDY_00", "a_BUDDY_01.000001"],
        vec!["a.000002"],
    ];
    for (rank, names) in opened {
        assert_eq!(names, expected[rank as usize], "rank {rank}");
    }
}

#[test]
fn a_buddy_set_takes_as_many_calls_whatever_the_number_of_ranks() {
    let folder = folder();
    for (size, name) in [(2, "a"), (7, "b")] {
        let path = folder.path().join(name);
        let calls = ranks(size, |comm| {
            let mut file = small(2, 1, 7).builder().create(comm, &path).unwrap();
            let calls = |file: &FileWriter<Rank>| file.whole().unwrap().traffic().calls;
            let made = calls(&file);
            file.commit().unwrap();
            let committed = calls(&file) - made;
            file.close().unwrap();
            (made, committed)
        });
        // The set: a split, 5 calls for its file, and one for all. The buddy set: a split for each
        // of two files, one for the group of its writer, 5 for the file, and one for all.
        // A commit: 3 for each of three files, one before, one for the buddy set, one for the set.
        assert_eq!(calls, vec![(1 + 5 + 1 + 2 * (1 + 1 + 5) + 1, 3 * 3 + 3); size as usize]);
    }
}

#[test]
fn what_waits_for_a_copy_is_bounded() {
    let folder = folder();
    let path = folder.path().join("a");
    let case = small(2, 1, 4);
    ranks(4, |comm| {
        let builder = case.builder().chunksize(4096);
        let mut file = builder.create(comm, &path).unwrap();
        file.write(&[1; 1000]).unwrap(); // 1024 bytes wait at most
        let error = file.write(&[2; 100]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        file.advance(100).unwrap();
        file.write(&[2; 100]).unwrap();
        file.close().unwrap();
    });
    let expected = [vec![1; 1000], vec![2; 100]].concat();
    assert_eq!(read_by(2, &path), vec![expected; 4]);
}

#[test]
fn levels_that_sionlib_breaks_are_refused_with_the_reason() {
    let folder = folder();
    let path = folder.path().join("a");
    for (nfiles, buddies, reason) in [
        (4, 2, "2 and 4 must have no common divisor"),
        (4, 3, "2 and 4 must"),
        (6, 3, "2 and 6 must"),
        (3, 3, "3 and 3 must"),
        (1, 1, "of 1 files"),
    ] {
        let done = ranks(6, |comm| {
            let builder = Builder::new().nfiles(nfiles).buddies(buddies);
            builder.create(comm, &path).map(drop).unwrap_err()
        });
        for error in done {
            assert_eq!((error.rank(), error.code()), (Some(0), Code::Refused));
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_set_is_not_written_beside_an_old_buddy_set() {
    let folder = folder();
    let path = folder.path().join("a");
    small(2, 1, 4).write(&path, false);
    let before = small(2, 1, 4).files(&path);
    let done = ranks(4, |comm| {
        let builder = Builder::new().nfiles(2).force(true);
        builder.create(comm, &path).map(drop).unwrap_err()
    });
    assert!(done.iter().all(|error| error.code() == Code::Io(17)), "{done:?}");
    assert!(small(2, 1, 4).files(&path) == before);
}

#[test]
fn sets_of_other_kinds_have_no_buddy_sets() {
    use striae_core::sion::{ChunkRule, Grouping};
    let folder = folder();
    let path = folder.path().join("a");
    let one = || Builder::new().nfiles(2).buddies(1);
    let merged = || one().rule(ChunkRule::Merged(Grouping::Automatic));
    for builder in [one().chunksizes(vec![1]), one().color(0), merged()] {
        let done = ranks(2, |comm| builder.create(comm, &path).map(drop).unwrap_err());
        assert!(done.iter().all(|error| error.code() == Code::Refused), "{done:?}");
    }
    ranks(2, |comm| {
        let mut file = one().create(comm, &path).unwrap();
        assert_eq!(file.writers().unwrap_err().kind(), ErrorKind::Unsupported);
        file.close().unwrap();
    });
}

#[test]
fn a_commit_of_the_whole_set_is_also_one_of_its_copies() {
    let folder = folder();
    let path = folder.path().join("a");
    let done = ranks(4, |comm| -> Result<(), Error> {
        let builder = Builder::new().fsblksize(512).chunksize(512).nfiles(2).buddies(1);
        let mut file = builder.sealed(true).create(comm, &path)?;
        for round in 1..4 {
            file.write(&[round; 40]).unwrap();
            file.commit_set()?;
        }
        file.close().map(drop)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let stream = [[1; 40], [2; 40], [3; 40]].concat();
    let sets = [path.clone(), buddy_path(&path, 0)];
    for set in &sets {
        let mut found = Vec::new();
        let verified = striae::Verify::new().sion(set, &mut |finding| found.push(finding)).unwrap();
        assert!(verified.is_sound(), "{set:?}: {found:?}");
    }
    std::fs::remove_file(sibling(&path, 1)).unwrap();
    assert_eq!(read_by(3, &path), vec![stream; 4]);
}
