//! When the ranks of collective writes meet.

use crate::world::ranks;
use std::io::Read;
use std::path::Path;
use striae::sion::File;
use striae_mpi::Collective;
use striae_mpi::sion::Builder;

const CHUNK: u64 = 512;

fn builder() -> Builder {
    Builder::new().fsblksize(512).chunksize(CHUNK)
}

fn stream(path: &Path, task: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().stream(task).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn ranks_of_other_files_write_as_many_records_as_they_like() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let done = ranks(4, |comm| {
        let file = comm.rank() / 2;
        let mut set = builder().nfiles(2).create(comm, &path)?;
        (0..=file).try_for_each(|_| set.coll_write(b"record"))?;
        set.commit()?;
        set.coll_write(b"more")?;
        set.advance(2000)?;
        (0..file).try_for_each(|_| set.coll_write(b"record"))?;
        set.commit_set()?;
        set.close().map(drop)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let expected = [&b"recordmore"[..], b"recordrecordmorerecord"];
    for task in 0..4 {
        assert_eq!(stream(&path, task), expected[task as usize / 2]);
    }
}
