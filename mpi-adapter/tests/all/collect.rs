//! Few ranks write for all: the set has the bytes that all ranks would have written by themselves,
//! and what happens to a rank is the error of all.

mod kept;

use crate::world::{Sweep, all};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use striae::posix::PosixFile;
use striae::sion::File;
use striae_core::store::{ReadAt, WriteAt};
use striae_mpi::sion::{Builder, FileWriter};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collect, Collective, Error, Threads};

fn world(ranks: u32, per_node: u32) -> Threads {
    crate::world::world(ranks).ranks_per_node(per_node)
}

/// What rank `rank` writes as its record `number`.
fn record(rank: u32, number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + rank as usize * 31 + number * 13) as u8).collect()
}

/// A rank's turns: the length of a record, and whether a commit follows.
type Turns = Vec<(Vec<usize>, bool)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Alone,
    Together,
}

fn write_set(builder: &Builder, world: Threads, path: &Path, turns: &Turns, how: How) {
    all(world, |comm| {
        let rank = comm.rank();
        let mut file = builder.create(comm, path).unwrap();
        for (number, (lens, commit)) in turns.iter().enumerate() {
            let record = record(rank, number, lens[rank as usize % lens.len()]);
            match how {
                How::Together => file.coll_write(&record).unwrap(),
                How::Alone => {
                    let chunksize = 512;
                    file.advance(record.len() as u64 + chunksize).unwrap();
                    if record.len() as u64 <= chunksize {
                        file.ensure_free_space(record.len() as u64).unwrap();
                    }
                    file.write(&record).unwrap();
                }
            }
            if *commit {
                file.commit().unwrap();
            }
        }
        file.close().unwrap();
    });
}

fn bytes_of_set(path: &Path, nfiles: u32) -> Vec<Vec<u8>> {
    let name = |number: u32| match number {
        0 => path.to_owned(),
        _ => format!("{}.{number:06}", path.display()).into(),
    };
    (0..nfiles).map(|number| std::fs::read(name(number)).unwrap()).collect()
}

fn check_streams(path: &Path, ranks: u32, turns: &Turns) {
    let file = File::open(path).unwrap();
    for rank in 0..ranks {
        let mut found = Vec::new();
        file.stream(rank.into()).unwrap().read_to_end(&mut found).unwrap();
        let expected: Vec<u8> = turns
            .iter()
            .enumerate()
            .flat_map(|(number, (lens, _))| record(rank, number, lens[rank as usize % lens.len()]))
            .collect();
        assert!(found == expected, "rank {rank}");
    }
}

proptest! {
    #![proptest_config(crate::config(24))]

    /// Without commits, equal records give equal bytes, whoever writes them; with commits they give
    /// equal streams.
    #[test]
    fn a_set_does_not_depend_on_who_writes_it(
        ranks in 1_u32..7,
        per_node in 1_u32..5,
        per_writer in 1_u32..5,
        nfiles in 1_u32..3,
        buffer in prop::sample::select(vec![0_usize, 1, 40, 700, 5000, 1 << 20]),
        sealed: bool,
        shares: bool,
        behind: bool,
        commits: bool,
        turns in prop::collection::vec(
            (prop::collection::vec(0_usize..900, 1..4), prop::bool::weighted(0.3)),
            0..9,
        ),
    ) {
        let nfiles = nfiles.min(ranks);
        let turns = turns.into_iter().map(|(lens, commit)| (lens, commit && commits));
        let turns: Turns = turns.collect();
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let builder = Builder::new().fsblksize(512).chunksize(512).nfiles(nfiles).sealed(sealed);
        let builder = builder.prefix(b"set".to_vec()).set_identity(1);
        write_set(&builder, world(ranks, per_node), &one, &turns, How::Alone);
        let collect = Collect::new().ranks_per_writer(per_writer).buffer(buffer);
        let collect = collect.shared_memory(shares).write_behind(behind);
        let builder = builder.collect(collect);
        for how in [How::Together, How::Alone] {
            let builder = builder.clone().force(true);
            write_set(&builder, world(ranks, per_node), &other, &turns, how);
            check_streams(&other, ranks, &turns);
            if !turns.iter().any(|(_, commit)| *commit) || how == How::Alone {
                let same = bytes_of_set(&one, nfiles) == bytes_of_set(&other, nfiles);
                prop_assert!(same, "{how:?}");
            }
        }
    }
}

/// A file that counts what is done to it, and has room for a number of bytes.
struct Counted {
    file: PosixFile,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    openers: Mutex<BTreeSet<u32>>,
    /// The length of each write, with the rank whose thread made it.
    writes: Mutex<Vec<(u32, usize)>>,
    syncs: AtomicU32,
    /// No write that ends after this offset succeeds.
    room: Option<u64>,
}

thread_local! {
    /// The rank that this thread is.
    static RANK: Cell<u32> = const { Cell::new(u32::MAX) };
}

impl ReadAt for &Counted {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl WriteAt for &Counted {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.writes.lock().unwrap().push((RANK.get(), bytes.len()));
        if self.counts.room.is_some_and(|room| offset + bytes.len() as u64 > room) {
            return Err(io::Error::from_raw_os_error(28)); // ENOSPC
        }
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.counts.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync()
    }
}

fn create(
    builder: &Builder,
    comm: Rank,
    path: &Path,
    counts: &Arc<Counts>,
) -> Result<FileWriter<Rank, Counted>, Error> {
    let (rank, counts) = (comm.rank(), Arc::clone(counts));
    RANK.set(rank);
    builder.create_in(comm, path, move |path, anew| {
        counts.openers.lock().unwrap().insert(rank);
        let file = if anew { PosixFile::create(path, true) } else { PosixFile::open_rw(path) };
        Ok(Counted { file: file?, counts: Arc::clone(&counts) })
    })
}

fn collecting(per_writer: u32, behind: bool) -> Builder {
    let collect = Collect::new().ranks_per_writer(per_writer).buffer(4096);
    let collect = collect.write_behind(behind);
    Builder::new().fsblksize(512).chunksize(8192).force(true).collect(collect)
}

#[test]
fn only_writers_open_the_file_and_short_records_are_few_writes_and_few_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let counts = Arc::new(Counts::default());
    all(world(8, 6), |comm| {
        let mut file = create(&collecting(3, false), comm, &path, &counts).unwrap();
        let before = file.comm().calls();
        for step in 0..1000_u64 {
            file.coll_write(&step.to_le_bytes()).unwrap();
        }
        // At the first record the ranks learn that each of them can write its full buffer itself.
        assert_eq!(file.comm().calls() - before, 2);
        file.close().unwrap();
    });
    // Nodes of 6 and 2 ranks.
    assert_eq!(*counts.openers.lock().unwrap(), BTreeSet::from([0, 3, 6]));
    // Each rank writes its buffer once when it is full; the rest of all ranks, tables and front are
    // few writes of the writers.
    let writes = counts.writes.lock().unwrap();
    let full = |rank| writes.iter().filter(|(by, len)| (*by, *len) == (rank, 4096)).count();
    assert!((0..8).all(|rank| full(rank) == 1), "{writes:?}");
    let of_others = writes.iter().filter(|(by, _)| ![0, 3, 6].contains(by)).count();
    assert!(of_others == 5 && writes.len() < 60, "{writes:?}");
    let expected: Vec<u8> = (0..1000_u64).flat_map(u64::to_le_bytes).collect();
    let file = File::open(&path).unwrap();
    for rank in 0..8 {
        let mut found = Vec::new();
        file.stream(rank).unwrap().read_to_end(&mut found).unwrap();
        assert!(found == expected);
    }
}

/// Opens of ranks, and long writes of each rank, when all write long records in one file.
fn write_long(collect: Collect) -> (BTreeSet<u32>, Vec<usize>, u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = Builder::new().fsblksize(512).chunksize(2 << 20).collect(collect);
    let counts = Arc::new(Counts::default());
    all(world(8, 6), |comm| {
        let rank = comm.rank();
        let mut file = create(&builder, comm, &path, &counts).unwrap();
        for number in 0..3 {
            file.coll_write(&record(rank, number, 1 << 20)).unwrap();
        }
        file.close().unwrap();
    });
    check_streams(&path, 8, &vec![(vec![1 << 20], false); 3]);
    let writes = counts.writes.lock().unwrap();
    let long = |rank| writes.iter().filter(|(by, len)| *by == rank && *len == 1 << 20).count();
    let of_writers = writes.iter().filter(|(by, _)| [0, 3, 6].contains(by)).count();
    let long_of_writers = [0, 3, 6].map(long).iter().sum::<usize>();
    assert!(of_writers > long_of_writers, "tables and front");
    let openers = counts.openers.lock().unwrap().clone();
    (openers, (0..8).map(long).collect(), counts.syncs.load(Ordering::Relaxed))
}

#[test]
fn each_rank_writes_its_long_records_by_the_file_that_the_writer_opened() {
    let (writers, all) = (BTreeSet::from([0, 3, 6]), (0..8).collect::<BTreeSet<u32>>());
    let collect = Collect::new().ranks_per_writer(3);
    for collect in [collect, collect.buffer(4096), collect.buffer(2 << 20)] {
        let (openers, long, syncs) = write_long(collect);
        assert_eq!((openers, long), (writers.clone(), vec![3; 8]), "{collect:?}");
        // Without memory in common nothing is passed, and who opened the file syncs it.
        let (openers, long, more) = write_long(collect.buffer(4096).shared_memory(false));
        assert_eq!((openers, long, more), (all.clone(), vec![3; 8], syncs + 5));
    }
}

#[test]
fn at_a_commit_each_rank_writes_what_is_long_and_the_writer_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    // The first record is handed over when the ranks meet to learn who can write.
    for (records, of_others) in [(20, vec![19 * 4096]), (10, vec![])] {
        let counts = Arc::new(Counts::default());
        let builder = Builder::new().fsblksize(512).sealed(true).force(true);
        let builder = builder.collect(Collect::new());
        all(world(4, 4), |comm| {
            let rank = comm.rank();
            let mut file = create(&builder, comm, &path, &counts).unwrap();
            for number in 0..records {
                file.coll_write(&record(rank, number, 4096)).unwrap();
            }
            file.close().unwrap();
        });
        check_streams(&path, 4, &vec![(vec![4096], false); records]);
        let writes = counts.writes.lock().unwrap();
        for rank in 1..4 {
            let found = writes.iter().filter(|(by, _)| *by == rank).map(|(_, len)| *len);
            assert_eq!(found.collect::<Vec<_>>(), of_others);
        }
    }
}

#[test]
fn a_full_disk_at_a_rank_that_writes_by_a_passed_file_is_the_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    for (len, buffer) in [(100_000, 4096), (1000, 4096), (100_000, 1 << 20)] {
        for behind in [false, true] {
            // The chunk of the last rank starts a bit after 7 MiB.
            let counts = Arc::new(Counts { room: Some((7 << 20) + 5000), ..Counts::default() });
            let collect = Collect::new().buffer(buffer).write_behind(behind);
            let builder = Builder::new().fsblksize(512).chunksize(1 << 20).force(true);
            let builder = builder.collect(collect);
            let errors = all(world(8, 8), |comm| {
                let rank = comm.rank();
                let mut file = create(&builder, comm, &path, &counts).unwrap();
                let written = (0..8).try_for_each(|at| file.coll_write(&record(rank, at, len)));
                let error = written.and_then(|()| file.commit()).unwrap_err();
                assert_eq!(file.coll_write(&[]).unwrap_err(), error); // from now on
                error
            });
            assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
            // Rank 0 has no room for the tables, and may come to that before the thread has failed.
            assert_eq!(errors[0].code(), Code::Io(28));
            assert!(errors[0].rank() == Some(7) || behind, "{:?}", errors[0]);
            assert_eq!(*counts.openers.lock().unwrap(), BTreeSet::from([0]));
        }
    }
}

#[test]
fn a_full_disk_at_a_writer_is_the_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let whole = 16384 + 8 * 8192;
    for (room, behind) in
        [(600, true), (4096, false), (20_000, true), (whole, false), (whole, true)]
    {
        let counts = Arc::new(Counts { room: Some(room), ..Counts::default() });
        let errors = all(world(8, 8), |comm| {
            let work = || {
                let mut file = create(&collecting(4, behind), comm, &path, &counts)?;
                for step in 0..2000_u64 {
                    file.coll_write(&step.to_le_bytes())?;
                }
                file.commit()?;
                file.close().map(drop)
            };
            work().unwrap_err()
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{room}: {errors:?}");
        assert_eq!(errors[0].code(), Code::Io(28), "{room}");
    }
}

/// Rounds of records, commits and the close. `committed` is how many rounds are in the file.
fn program<C: Collective>(
    comm: C,
    path: &Path,
    builder: &Builder,
    committed: &mut u32,
) -> Result<(), Error> {
    let rank = comm.rank();
    let mut file = builder.create(comm, path)?;
    for round in 0..2 {
        for number in 0..3 {
            file.coll_write(&record(rank, number, 60 * (1 + rank as usize)))?;
        }
        if round == 0 {
            file.commit()?;
            *committed = 1;
        }
    }
    file.close()?;
    *committed = 2;
    Ok(())
}

fn check_rounds(path: &Path, allowed: [u32; 2]) {
    let file = File::open(path).unwrap();
    let is = |rounds: u32| {
        (0..4_u32).all(|rank| {
            let mut found = Vec::new();
            file.stream(rank.into()).unwrap().read_to_end(&mut found).unwrap();
            let numbers = (0..rounds).flat_map(|_| 0..3);
            let expected: Vec<u8> =
                numbers.flat_map(|at| record(rank, at, 60 * (1 + rank as usize))).collect();
            found == expected
        })
    };
    assert!(allowed.into_iter().any(is), "not {allowed:?} rounds");
}

#[test]
fn whatever_happens_to_a_rank_all_get_one_error_and_the_file_is_that_of_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    // Without messages a thread writes.
    for shares in [false, true] {
        let collect = Collect::new().ranks_per_writer(2).buffer(200).shared_memory(shares);
        let collect = collect.write_behind(shares);
        let builder = Builder::new().fsblksize(512).chunksize(512).force(true).collect(collect);
        let world = world(4, 3);
        let sweep = Sweep { world, ranks: vec![0, 1, 3], whole: 2, ..Sweep::new(4) };
        sweep.run(
            || {},
            |comm, committed| program(comm, &path, &builder, committed),
            |_, rounds| {
                if rounds > 0 {
                    check_rounds(&path, [rounds, rounds + 1]);
                }
            },
        );
    }
}
