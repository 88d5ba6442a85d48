//! Ranks that write by the file that their writer opened.

use std::cell::Cell;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use striae::posix::PosixFile;
use striae::sion::File;
use striae_mpi::sion::Builder;
use striae_mpi::{Collect, Collective, Error};

fn record(rank: u32, number: u32) -> Vec<u8> {
    (0..1_u32 << 20).map(|i| (i * 7 + rank * 31 + number * 13) as u8).collect()
}

/// What the descriptors of this process are of.
fn descriptors() -> Vec<PathBuf> {
    let folder = std::fs::read_dir("/proc/self/fd").unwrap();
    folder.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect()
}

fn of_file(path: &Path) -> usize {
    descriptors().iter().filter(|link| *link == path).count()
}

/// Sockets of this process that a descriptor can come to.
fn sockets() -> usize {
    let (all, own) = (std::fs::read_to_string("/proc/net/unix").unwrap(), descriptors());
    let named = all.lines().filter(|line| line.contains("@striae-"));
    let inode =
        |line: &str| line.split_whitespace().nth(6).map(|inode| format!("socket:[{inode}]"));
    named.filter_map(inode).filter(|socket| own.contains(&socket.into())).count()
}

/// All ranks of a node write long records, and only one of them opens the file.
pub(crate) fn write<C: Collective>(comm: C, path: &Path) -> Result<(), Error> {
    let (rank, opens) = (comm.rank(), Rc::<Cell<u32>>::default());
    let counted = Rc::clone(&opens);
    let open = move |path: &Path, anew| {
        counted.set(counted.get() + 1);
        if anew { PosixFile::create(path, false) } else { PosixFile::open_rw(path) }
    };
    let builder = Builder::new().chunksize(2 << 20).collect(Collect::new());
    let mut file = builder.create_in(comm, path, open)?;
    for number in 0..2 {
        file.coll_write(&record(rank, number))?;
    }
    let path = path.canonicalize().unwrap();
    assert_eq!((opens.get(), of_file(&path)), (u32::from(rank == 0), 1));
    assert_eq!(sockets(), usize::from(rank > 0));
    file.commit()?;
    file.coll_write(&record(rank, 2))?;
    file.close()?;
    assert_eq!((opens.get(), of_file(&path), sockets()), (u32::from(rank == 0), 0, 0));
    Ok(())
}

pub(crate) fn check(path: &Path, size: u32) {
    let file = File::open(path).unwrap();
    for rank in 0..size {
        let mut found = Vec::new();
        file.stream(rank.into()).unwrap().read_to_end(&mut found).unwrap();
        let expected: Vec<u8> = (0..3).flat_map(|number| record(rank, number)).collect();
        assert!(found == expected, "rank {rank}");
    }
}
