//! What a program does to streams of its own besides appending to them.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use striae_mpi::sion::{Builder, FileWriter, OpenOptions};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collect, Collective, Error, Failure, Threads};

fn each(size: u32, work: impl Fn(Rank) -> Result<(), Error> + Sync) {
    Threads::new(size).run(work).into_iter().for_each(|done| done.unwrap().unwrap());
}

fn create(rank: Rank, path: &Path, collect: bool) -> Result<FileWriter<Rank>, Error> {
    let builder = Builder::new().chunksize(100).fsblksize(64).nfiles(2);
    let builder =
        if collect { builder.collect(Collect::new().ranks_per_writer(1)) } else { builder };
    builder.create(rank, path)
}

/// The stream of a task, and its used bytes in each chunk.
fn stream(path: &Path, task: u64) -> (Vec<u8>, Vec<u64>) {
    let file = striae::sion::File::open(path).unwrap();
    let (mut bytes, entry) = (Vec::new(), file.task(task).unwrap());
    file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
    (bytes, file.chunk_lens(&entry).unwrap().map(Result::unwrap).collect())
}

#[test]
fn bytes_that_a_rank_writes_by_itself_are_part_of_its_stream() {
    for collect in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.sion");
        each(4, |rank| {
            let number = rank.rank();
            let mut file = create(rank, &path, collect)?;
            file.write(b"before").unwrap();
            file.flush().unwrap();
            let own = file.own_tasks().next().unwrap();
            assert_eq!((own.task, own.file, own.place.local), (number, number / 2, number % 2));
            let (_, name) = file.paths().find(|(file, _)| *file == own.file).unwrap();
            let outside = std::fs::OpenOptions::new().write(true).open(name).unwrap();
            outside.write_all_at(b"outside", own.place.chunks.start + 6).unwrap();
            file.count_written(number, 7).unwrap();
            assert_eq!(file.location(number), Some((0, 13)));
            file.write(b"after").unwrap();
            let room = 128 - 18;
            let refused = file.count_written(number, room + 1).unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
            assert!(file.count_written(number + 1, 1).is_err());
            file.close().map(drop)
        });
        for task in 0..4 {
            assert_eq!(stream(&path, task), (b"beforeoutsideafter".to_vec(), vec![18]));
        }
    }
}

#[test]
fn bytes_of_any_chunk_are_replaced() {
    for collect in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.sion");
        each(3, |rank| {
            let number = rank.rank();
            let mut file = create(rank, &path, collect)?;
            file.write(&[b'a'; 200]).unwrap();
            file.overwrite(number, 0, 126, b"bc").unwrap();
            file.overwrite(number, 1, 0, b"d").unwrap();
            for (chunk, offset, len) in [(0, 127, 2), (1, 71, 2), (1, 72, 1), (2, 0, 1)] {
                assert!(file.overwrite(number, chunk, offset, &vec![0; len]).is_err());
            }
            file.close().map(drop)
        });
        let mut expected = [b'a'; 200];
        expected[126..129].copy_from_slice(b"bcd");
        for task in 0..3 {
            assert_eq!(stream(&path, task), (expected.to_vec(), vec![128, 72]));
        }
    }
}

/// Its thread could write the older bytes of this rank after the new ones.
#[test]
fn bytes_that_a_thread_of_another_rank_may_have_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.sion");
    each(2, |rank| {
        let number = rank.rank();
        let collect = Collect::new().write_behind(true);
        let mut file = Builder::new().chunksize(100).collect(collect).create(rank, &path)?;
        file.coll_write(b"bytes")?;
        let refused = file.overwrite(number, 0, 0, b"x").unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
        file.close().map(drop)
    });
    assert_eq!(stream(&path, 1).0, b"bytes");
}

#[test]
fn a_sealed_set_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    each(2, |rank| {
        let number = rank.rank();
        let mut file = Builder::new().sealed(true).create(rank, folder.path().join("set.sion"))?;
        file.write(b"bytes").unwrap();
        for refused in [file.count_written(number, 1), file.overwrite(number, 0, 0, b"x")] {
            assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
        }
        file.close().map(drop)
    });
}

#[test]
fn what_a_rank_did_wrong_is_the_error_of_all_at_the_close() {
    let folder = tempfile::tempdir().unwrap();
    let done = Threads::new(3).run(|rank| {
        let number = rank.rank();
        let mut file = create(rank, &folder.path().join("set.sion"), false)?;
        if number == 1 {
            file.fail(Failure::new(Code::Other(7), "the program is wrong"));
        }
        file.close().map(drop)
    });
    for done in done {
        let error = done.unwrap().unwrap_err();
        assert_eq!((error.code(), error.rank()), (Code::Other(7), Some(1)));
    }
}

#[test]
fn a_rank_reads_its_streams_in_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.sion");
    each(4, |rank| {
        let mut file = create(rank, &path, false)?;
        file.write(&[b'x'; 300]).unwrap();
        file.close().map(drop)
    });
    each(2, |rank| {
        let number = rank.rank();
        let (comm, streams) = OpenOptions::new().open(rank, &path)?.into_streams();
        assert_eq!((streams.ntasks(), streams.tasks().len()), (4, 2));
        std::thread::scope(|scope| {
            for entry in streams.tasks() {
                let streams = &streams;
                scope.spawn(move || {
                    assert_eq!(entry.chunk_lens().collect::<Vec<_>>(), [128, 128, 44]);
                    assert_eq!(streams.file_of(entry.task), Some(number));
                    let mut stream = streams.stream(entry.task).unwrap();
                    stream.seek(SeekFrom::Start(290)).unwrap();
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes).unwrap();
                    assert_eq!(bytes, [b'x'; 10]);
                });
            }
        });
        assert!(streams.entry(u64::from(2 - 2 * number)).is_none());
        comm.free(Ok(()))
    });
}
