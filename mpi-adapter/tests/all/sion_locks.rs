//! Ranks that write a set keep other writers out.

use crate::world::ranks;
use std::path::Path;
use striae::error::ErrorKind;
use striae::sion as serial;
use striae_mpi::sion::{Builder, Reopen};
use striae_mpi::{Code, Collective};

const BUSY: Code = Code::Io(16);

/// Nobody else can write the set; trying does not change it.
fn is_locked(path: &Path) {
    let before = std::fs::read(path).unwrap();
    let error = serial::FileWriter::reopen(path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
    let again = ranks(2, |comm| Reopen::new().open(comm, path).map(drop).unwrap_err().code());
    assert_eq!(again, [BUSY; 2]);
    let builder = Builder::new().force(true).nfiles(2);
    let anew = ranks(2, |comm| builder.create(comm, path).map(drop).unwrap_err().code());
    assert_eq!(anew, [BUSY; 2]);
    assert!(std::fs::read(path).unwrap() == before);
}

#[test]
fn a_set_is_locked_from_its_creation_to_its_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(3, |comm| {
        let rank = comm.rank();
        let builder = Builder::new().fsblksize(512).chunksize(512).nfiles(2);
        let mut file = builder.create(comm, &path).unwrap();
        file.commit().unwrap();
        file.whole().unwrap().agree(Ok(())).unwrap();
        if rank == 1 {
            is_locked(&path); // by rank 0 of its file
            is_locked(&folder.path().join("a.000001"));
        }
        file.whole().unwrap().agree(Ok(())).unwrap();
        file.close().unwrap();
    });
    serial::FileWriter::reopen(&path).unwrap();
}

#[test]
fn a_set_that_is_appended_to_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial::Builder::new(5).nfiles(2).create(&path).unwrap().close().unwrap();
    ranks(3, |comm| {
        let rank = comm.rank();
        let mut file = Reopen::new().open(comm, &path).unwrap();
        file.commit().unwrap();
        if rank == 1 {
            is_locked(&path);
        }
        file.whole().unwrap().agree(Ok(())).unwrap();
        file.close().unwrap();
    });
    serial::FileWriter::reopen(&path).unwrap();
    // A writer that is dropped without a close lets go, too.
    ranks(2, |comm| Reopen::new().open(comm, &path).map(drop).unwrap());
    serial::FileWriter::reopen(&path).unwrap();
}
