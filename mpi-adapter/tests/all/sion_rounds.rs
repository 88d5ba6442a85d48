//! When the ranks of collective writes meet, and the records that wait until then.

use crate::world::ranks;
use std::io::{self, Read, Write};
use std::path::Path;
use striae::sion::File;
use striae_mpi::Collective;
use striae_mpi::sion::{Builder, FileWriter};
use striae_mpi::threads::Rank;

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

#[test]
fn bytes_come_after_the_records_that_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    ranks(2, |comm| {
        let rank = comm.rank();
        let mut file = builder().create(comm, &path).unwrap();
        file.coll_write(b"a").unwrap();
        file.commit().unwrap();
        file.coll_write(b"b").unwrap(); // the ranks meet, and know of no longer records
        file.coll_write(&[b'c'; 3000]).unwrap();
        let mut would_block = |work: &mut dyn FnMut(&mut FileWriter<Rank>) -> io::Result<()>| {
            assert_eq!(work(&mut file).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        };
        would_block(&mut |file| file.write(b"d"));
        would_block(&mut |file| file.ensure_free_space(1));
        would_block(&mut |file| file.writer(rank).unwrap().write_all(b"d"));
        would_block(&mut |file| file.writer(rank).unwrap().ensure_free_space(1));
        would_block(&mut |file| file.writers().unwrap()[0].write_all(b"d"));
        file.advance(1).unwrap();
        file.write(b"d").unwrap();
        file.coll_write(b"e").unwrap();
        file.close().unwrap();
    });
    let expected = [&b"ab"[..], &[b'c'; 3000], b"de"].concat();
    for task in 0..2 {
        assert!(stream(&path, task) == expected);
    }
}

#[test]
fn records_that_have_waited_are_each_in_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    for advances in [false, true] {
        let path = folder.path().join(format!("{advances}.sion"));
        ranks(2, |comm| {
            let mut file = builder().create(comm, &path).unwrap();
            file.coll_write(&[1; 8]).unwrap();
            file.commit().unwrap();
            file.coll_write(&[1; 8]).unwrap();
            for _ in 0..6 {
                file.coll_write(&[2; 300]).unwrap();
            }
            if advances {
                file.advance(212).unwrap(); // so many bytes are left of the last chunk
                file.write(&[3; 212]).unwrap();
            }
            file.close().unwrap();
        });
        let set = File::open(&path).unwrap();
        let task = set.task(1).unwrap();
        let lens: Vec<u64> = set.chunk_lens(&task).unwrap().map(Result::unwrap).collect();
        let last = if advances { 512 } else { 300 };
        assert_eq!(lens, [316, 300, 300, 300, 300, last]);
    }
}
