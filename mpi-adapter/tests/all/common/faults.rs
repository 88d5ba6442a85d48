//! The faults at which SIONlib's parallel calls hang, or lose data and return success. Four ranks
//! meet each of them: all get the same error, or nothing is lost.

use std::io::{self, Read};
use std::path::Path;
use striae::posix::PosixFile;
use striae::sion as serial;
use striae_core::store::{ReadAt, WriteAt};
use striae_mpi::sion::{Builder, FileWriter, OpenOptions};
use striae_mpi::{Code, Collect, Collective, Error, Failure};

/// The ranks that meet the faults.
pub(crate) const RANKS: u32 = 4;

type Case<C> = fn(C, &Path) -> Result<(), Error>;

/// The faults by name, and the codes that all ranks may get: with none, all ranks succeed.
fn cases<C: Collective + 'static>() -> [(&'static str, Case<C>, &'static [Code]); 15] {
    const FULL: &[Code] = &[Code::Io(28)]; // ENOSPC
    const MISSING: &[Code] = &[Code::Io(2)]; // ENOENT
    [
        ("directory_missing", |comm, at| create(comm, &at.join("none/a"), 512), MISSING),
        (
            "chunksize_of_one_rank_refused",
            |comm, at| {
                let is_one = comm.rank() == 2;
                create(comm, &at.join("a"), if is_one { u64::MAX } else { 512 })
            },
            &[Code::Refused, Code::Full, Code::Overflow],
        ),
        ("record_larger_than_the_chunk_of_a_sender", |comm, at| records(comm, at, 2), &[]),
        ("record_larger_than_a_merged_chunk", |comm, at| records(comm, at, 4), &[]),
        ("disk_full_at_collector_0", |comm, at| full(comm, at, 0, 2), FULL),
        ("disk_full_at_collector_2", |comm, at| full(comm, at, 2, 2), FULL),
        ("disk_full_at_rank_0", |comm, at| full(comm, at, 0, 1), FULL),
        ("disk_full_at_rank_1", |comm, at| full(comm, at, 1, 1), FULL),
        ("disk_full_at_rank_2", |comm, at| full(comm, at, 2, 1), FULL),
        ("disk_full_at_rank_3", |comm, at| full(comm, at, 3, 1), FULL),
        ("several_files_read_by_fewer_ranks", |comm, at| read(comm, at, (4, 2), 2), &[]),
        ("several_files_read_by_more_ranks", |comm, at| read(comm, at, (2, 4), 2), &[]),
        ("a_file_read_by_fewer_ranks", |comm, at| read(comm, at, (4, 2), 1), &[]),
        ("a_file_read_by_more_ranks", |comm, at| read(comm, at, (2, 4), 1), &[]),
        (
            "file_to_be_read_missing",
            |comm, at| OpenOptions::new().open(comm, at.join("a")).map(drop),
            MISSING,
        ),
    ]
}

/// Meets all faults. Returns what became of each, which is equal at all ranks.
pub(crate) fn meet<C: Collective + 'static>(comm: &C, folder: &Path) -> String {
    let mut all = String::new();
    for (name, case, codes) in cases::<C>() {
        let at = folder.join(name);
        let made = match comm.rank() {
            0 => std::fs::create_dir(&at).map_err(|error| Failure::io("making a folder", &error)),
            _ => Ok(()),
        };
        comm.agree(made).unwrap();
        let done = case(comm.split(Ok(0)).unwrap(), &at);
        let code = done.as_ref().err().map(Error::code);
        assert_eq!(code.is_none(), codes.is_empty(), "{name}: {done:?}");
        assert!(code.is_none_or(|code| codes.contains(&code)), "{name}: {done:?}");
        all += &format!("{name}: {done:?}\n");
        comm.agree(Ok(())).unwrap(); // all have left the files
        if comm.rank() == 0 && name.starts_with("disk_full") {
            assert_eq!(streams(&at.join("a")), (0..RANKS).map(first).collect::<Vec<_>>(), "{name}");
        }
    }
    all
}

fn create<C: Collective>(comm: C, path: &Path, chunksize: u64) -> Result<(), Error> {
    Builder::new().fsblksize(512).chunksize(chunksize).create(comm, path)?.close().map(drop)
}

/// A record of a rank.
fn record(rank: u32, len: u32) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + rank * 31) as u8).collect()
}

fn first(rank: u32) -> Vec<u8> {
    record(rank, 100 + rank)
}

/// All streams of a set.
fn streams(path: &Path) -> Vec<Vec<u8>> {
    let set = serial::File::open(path).unwrap();
    let stream = |task| {
        let mut found = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut found).unwrap();
        found
    };
    (0..set.ntasks()).map(stream).collect()
}

/// Rank 1 writes a record of four chunks, all others one of 400 bytes.
fn records<C: Collective>(comm: C, folder: &Path, per_writer: u32) -> Result<(), Error> {
    let (rank, path) = (comm.rank(), folder.join("a"));
    let collect = Collect::new().ranks_per_writer(per_writer).buffer(2048);
    let builder = Builder::new().fsblksize(512).chunksize(1024).collect(collect);
    let len = |rank| if rank == 1 { 4096 } else { 400 };
    let mut file = builder.create(comm, &path)?;
    file.coll_write(&record(rank, len(rank)))?;
    let comm = file.close()?;
    let expected: Vec<_> = (0..RANKS).map(|rank| record(rank, len(rank))).collect();
    assert!(rank > 0 || streams(&path) == expected);
    comm.agree(Ok(()))
}

/// The disk of one rank is full after the first commit.
fn full<C: Collective>(comm: C, folder: &Path, at: u32, per_writer: u32) -> Result<(), Error> {
    let rank = comm.rank();
    let open = move |path: &Path, anew: bool| {
        let file = match anew {
            true => PosixFile::create(path, true),
            false => PosixFile::open_rw(path),
        };
        let marker = path.with_extension("full");
        file.map(|file| Limited { file, marker: (rank == at).then_some(marker) })
    };
    let collect = Collect::new().ranks_per_writer(per_writer).buffer(2048);
    let builder = Builder::new().fsblksize(512).chunksize(1 << 14).collect(collect);
    let mut file: FileWriter<C, Limited> = builder.create_in(comm, folder.join("a"), open)?;
    file.coll_write(&first(rank))?;
    file.commit()?;
    file.comm().agree(match rank {
        0 => std::fs::write(folder.join("a.full"), "").map_err(|e| Failure::io("writing", &e)),
        _ => Ok(()),
    })?;
    for _ in 0..4 {
        file.coll_write(&record(rank, 1000))?;
    }
    file.close().map(drop)
}

/// Some ranks write a set of four tasks, and others read all of it.
fn read<C: Collective>(
    comm: C,
    folder: &Path,
    (writers, readers): (u32, u32),
    nfiles: u32,
) -> Result<(), Error> {
    let (rank, path) = (comm.rank(), folder.join("a"));
    let own = comm.split(Ok(u32::from(rank >= writers)))?;
    if rank < writers {
        let tasks = (0..RANKS).filter(|task| task % writers == rank);
        let builder = Builder::new().fsblksize(512).nfiles(nfiles);
        let tasks: Vec<_> = tasks.map(|task| (u64::from(task), 512)).collect();
        let mut file = builder.tasks(tasks.clone()).create(own, &path)?;
        for (task, _) in tasks {
            let task = task as u32;
            io::Write::write_all(&mut file.writer(task).unwrap(), &first(task)).unwrap();
        }
        file.close()?;
    }
    comm.agree(Ok(()))?;
    let own = comm.split(Ok(u32::from(rank >= readers)))?;
    if rank < readers {
        let set = OpenOptions::new().open(own, &path)?;
        for task in set.tasks() {
            let mut found = Vec::new();
            set.stream(task.task).unwrap().read_to_end(&mut found).unwrap();
            assert_eq!(found, first(task.task as u32));
        }
        let count = set.tasks().len() as u64;
        let [all] = set.comm().combine(Ok([count]), [striae_mpi::Fold::Sum])?;
        assert_eq!(all, u64::from(RANKS));
        set.close(Ok(()))?;
    }
    comm.agree(Ok(()))
}

/// A file on a disk that is full for one rank as soon as there is a file of this name.
#[derive(Debug)]
struct Limited {
    file: PosixFile,
    marker: Option<std::path::PathBuf>,
}

impl Limited {
    fn check(&self) -> io::Result<()> {
        match self.marker.as_ref().is_some_and(|marker| marker.exists()) {
            true => Err(io::Error::from_raw_os_error(28)),
            false => Ok(()),
        }
    }
}

impl ReadAt for &Limited {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        ReadAt::size(&self.file)
    }
}

impl WriteAt for &Limited {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.check()?;
        self.file.set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.sync()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        self.file.sync()
    }
}
