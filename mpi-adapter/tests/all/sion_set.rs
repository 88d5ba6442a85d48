//! A commit of all files of a set together.

use crate::common::faulty;
use crate::world::{ranks, sweep};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use striae::posix::PosixFile;
use striae::sion as serial;
use striae_core::sion::{Physical, SealState};
use striae_core::store::{ReadAt, WriteAt};
use striae_mpi::sion::{Builder, FileWriter, OpenOptions, Placed, Reopen};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error};

fn bytes(rank: u32, round: u32) -> Vec<u8> {
    let len = 1 + (rank * 331 + round * 190) % 1400;
    (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
}

/// How many rounds each file has.
fn rounds(size: u32, path: &Path) -> Vec<u32> {
    let set = serial::File::open(path).unwrap();
    let mut rounds = vec![None; set.files().len()];
    for task in 0..size {
        let mut found = Vec::new();
        set.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
        let is =
            |n: &u32| found == (0..*n).flat_map(|round| bytes(task, round)).collect::<Vec<_>>();
        let n = (0..5).find(is).unwrap();
        let file = set.task(task.into()).unwrap().file as usize;
        assert_eq!(*rounds[file].get_or_insert(n), n, "a file of two commits");
    }
    rounds.into_iter().map(Option::unwrap).collect()
}

fn builder() -> Builder {
    Builder::new().fsblksize(512).chunksize(512).nfiles(2).sealed(true).force(true)
}

fn write<C: Collective, F>(file: &mut FileWriter<C, F>, rank: u32, round: u32) -> Result<(), Error>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    file.advance(1500)?;
    file.write(&bytes(rank, round)).unwrap();
    file.commit_set()
}

#[test]
fn whatever_happens_to_a_rank_all_files_are_those_of_the_same_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let program = |comm: faulty::Faulty<_>| {
        let rank = comm.rank();
        let mut file = builder().create(comm, &path)?;
        (0..3).try_for_each(|round| write(&mut file, rank, round))
    };
    let mut seen = [false; 4];
    sweep(4, program, |case| {
        let Ok(set) = serial::OpenOptions::new().open(&path) else { return }; // not even made
        if let serial::Opened::Closed(_) = set {
            let rounds = rounds(4, &path);
            assert!(rounds.iter().all(|other| *other == rounds[0]), "{case:?}: {rounds:?}");
            seen[rounds[0] as usize] = true;
        }
    });
    assert_eq!(seen, [false, true, true, true]);
}

#[test]
fn a_commit_of_the_set_takes_six_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(4, |comm| {
        let rank = comm.rank();
        let mut file = builder().create(comm, &path).unwrap();
        file.write(&bytes(rank, 0)).unwrap();
        let calls = |file: &FileWriter<Rank>| {
            file.comm().calls() + file.whole().map_or(0, Collective::calls)
        };
        let before = calls(&file);
        file.commit_set().unwrap();
        assert_eq!(calls(&file), before + 3 + 3);
        file.close().unwrap();
    });
    assert_eq!(rounds(4, &path), [1, 1]);
}

/// A file of which a sync fails.
struct Full {
    file: PosixFile,
    syncs: Arc<AtomicU32>,
}

impl ReadAt for &Full {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        ReadAt::size(&self.file)
    }
}

impl WriteAt for &Full {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.sync()
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.syncs.load(Ordering::Relaxed).checked_sub(1) {
            None => Err(io::Error::from_raw_os_error(28)), // ENOSPC
            Some(left) => {
                self.syncs.store(left, Ordering::Relaxed);
                self.file.sync()
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_at_one_rank_leaves_all_files_at_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut outcomes = Vec::new();
    for left in 0..12 {
        let done = ranks(4, |comm| {
            let rank = comm.rank();
            let syncs = Arc::new(AtomicU32::new(u32::MAX));
            let shared = Arc::clone(&syncs);
            let open = move |name: &Path, anew: bool| {
                let file = match anew {
                    true => PosixFile::create(name, true),
                    false => PosixFile::open_rw(name),
                };
                file.map(|file| Full { file, syncs: Arc::clone(&shared) })
            };
            let mut file = builder().create_in(comm, &path, open).unwrap();
            write(&mut file, rank, 0).unwrap();
            let left = if rank == 3 { left } else { u32::MAX }; // not the root of its file
            syncs.store(left, Ordering::Relaxed);
            let done = (1..3).try_for_each(|round| write(&mut file, rank, round));
            if let Err(error) = &done {
                assert!(file.write(b"x").is_err() && file.writers().is_err());
                assert_eq!(file.commit().unwrap_err(), *error);
            }
            done
        });
        assert!(done.iter().all(|other| *other == done[0]), "{done:?}");
        let expected = match &done[0] {
            Ok(()) => 3,
            Err(error) => {
                assert_eq!((error.code(), error.rank()), (Code::Io(28), Some(3)));
                1 + left // it syncs once a commit
            }
        };
        assert_eq!(rounds(4, &path), [expected; 2], "{left}");
        outcomes.push(done[0].is_ok());
    }
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

/// The identity that the seal of each file of a set names.
fn identities(path: &Path) -> Vec<u32> {
    let set = serial::File::open(path).unwrap();
    let identity = |file: &Physical<_>| match file.seal().unwrap() {
        SealState::Sealed(seal) => seal.varheader().set_identity(),
        state => panic!("{state:?}"),
    };
    set.reader().files().iter().map(identity).collect()
}

fn is_other_set(error: &Error) -> bool {
    error.code() == Code::Damaged && error.to_string().contains("another set")
}

#[test]
fn a_file_of_another_run_is_no_file_of_the_set_however_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a", "b"].map(|name| folder.path().join(name));
    let ways: [fn(u32) -> Builder; 6] = [
        |_| builder(),
        |_| builder().chunksizes(vec![512]),
        |rank| builder().tasks(vec![(3 - u64::from(rank), 512)]),
        |globalrank| {
            let (file, local) = (globalrank % 2, globalrank / 2);
            builder().placed(vec![Placed { file, local, globalrank, chunksize: 512 }])
        },
        |rank| builder().color(rank % 2),
        |_| builder().nfiles(4).buddies(1),
    ];
    let mut seen = Vec::new();
    for (number, way) in ways.into_iter().enumerate() {
        for path in [&path, &other] {
            ranks(4, |comm| {
                let rank = comm.rank();
                let made = way(rank).create(comm, path);
                let mut file = made.unwrap();
                if number == 5 {
                    file.write(&bytes(rank, 0)).unwrap();
                }
                file.commit_set().unwrap();
                file.close().unwrap();
            });
            let of_files = identities(path);
            assert!(of_files.iter().all(|&it| it == of_files[0] && it > 0), "{number}");
            seen.push(of_files[0]);
        }
        let suffixed = |path: &Path| format!("{}.000001", path.display());
        std::fs::copy(suffixed(&other), suffixed(&path)).unwrap();
        for done in ranks(3, |comm| OpenOptions::new().open(comm, &path).map(drop)) {
            assert!(is_other_set(&done.unwrap_err()), "{number}");
        }
        for done in ranks(3, |comm| Reopen::new().open(comm, &path).map(drop)) {
            let error = done.unwrap_err();
            assert!(is_other_set(&error) || number == 5, "{number}: {error}"); // has buddy sets
        }
        for entry in folder.path().read_dir().unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2 * ways.len());
}

#[test]
fn an_identity_stays_when_ranks_append_and_is_new_with_the_first_seals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let make = |sealed| {
        ranks(4, |comm| {
            let made = builder().sealed(sealed).set_identity(77).create(comm, &path);
            made.unwrap().close().unwrap();
        });
    };
    let append = |sealed| {
        ranks(3, |comm| {
            let mut file = Reopen::new().sealed(sealed).open(comm, &path).unwrap();
            file.commit_set().unwrap();
            file.close().unwrap();
        });
    };
    make(true);
    append(true);
    assert_eq!(identities(&path), [77, 77]);
    make(false);
    append(true);
    let new = identities(&path);
    assert!(new[0] == new[1] && new[0] > 0 && new[0] != 77);
}

#[test]
fn all_ranks_know_a_file_of_an_older_commit() {
    let folder = tempfile::tempdir().unwrap();
    let [path, second] = ["a", "a.000001"].map(|name| folder.path().join(name));
    let mut writer = serial::Builder::new(4).nfiles(2).sealed(true).create(&path).unwrap();
    writer.commit().unwrap();
    let old = std::fs::read(&second).unwrap();
    writer.task(3).unwrap().write_all(b"more").unwrap();
    writer.commit().unwrap();
    writer.close().unwrap();
    let older = || {
        let open = |comm| OpenOptions::new().open(comm, &path).unwrap();
        ranks(3, |comm| open(comm).older().to_vec())
    };
    assert_eq!(older(), [const { Vec::new() }; 3]);
    std::fs::write(&second, old).unwrap();
    for found in older() {
        let [file] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((&file.path, &file.newer, file.number), (&second, &path, 1));
        let serial = serial::File::open(&path).unwrap();
        let expected = serial.older().unwrap()[0].into_error().to_string();
        assert_eq!(file.clone().into_error().to_string(), expected);
    }
}
