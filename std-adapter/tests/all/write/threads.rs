//! Many threads, one stream each.

use super::{payload, streams};
use std::io::Write;
use striae::Verify;
use striae::sion::{Builder, Durability, FileWriter};

#[test]
fn each_thread_writes_its_own_stream_while_others_commit() {
    for (nfiles, sealed) in [(1, false), (3, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(8).chunksize(5000).fsblksize(512).nfiles(nfiles).sealed(sealed);
        let builder = builder.buffer(1000).durability(Durability::None); // some thousand commits
        let mut file = builder.create(&path).unwrap();
        std::thread::scope(|scope| {
            for task in 0..8u64 {
                let (mut writer, file) = (file.task(task).unwrap(), &file);
                scope.spawn(move || {
                    let bytes = payload(task, 200_000);
                    for (i, part) in bytes.chunks(1 + 37 * task as usize).enumerate() {
                        writer.write_all(part).unwrap();
                        if i % 300 == 0 {
                            file.commit().unwrap();
                        }
                    }
                });
            }
        });
        file.commit().unwrap();
        let expected: Vec<_> = (0..8).map(|task| payload(task, 200_000)).collect();
        assert!(streams(&path) == expected, "after the commit");
        file.close().unwrap();
        assert!(streams(&path) == expected, "after the close");
        let summary = Verify::new().sion(&path, &mut |finding| panic!("{finding}")).unwrap();
        assert!(summary.is_sound());
    }
}

#[test]
fn a_set_is_gone_on_with_task_by_task() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = Builder::new(3).chunksizes(vec![100, 0, 1000]).fsblksize(1).sealed(true);
    let mut file = builder.globalranks(vec![7, -1, 7]).create(&path).unwrap();
    file.task(0).unwrap().write_all(&payload(0, 250)).unwrap();
    file.close().unwrap();
    drop(file);

    let file = FileWriter::reopen(&path).unwrap();
    let mut writer = file.task(2).unwrap();
    writer.write_record(&payload(2, 990)).unwrap();
    writer.write_record(&[1; 20]).unwrap(); // skips 10 bytes
    file.commit().unwrap();
    drop((writer, file)); // not closed
    let mut file = FileWriter::reopen(&path).unwrap();
    file.task(0).unwrap().write_all(&payload(0, 300)[250..]).unwrap();
    file.close().unwrap();
    let last = [payload(2, 990), vec![1; 20]].concat();
    assert_eq!(streams(&path), [payload(0, 300), vec![], last]);
}

/// What a set has after the writers went away without a close.
fn left(path: &std::path::Path, work: impl FnOnce(FileWriter)) -> Vec<Vec<u8>> {
    work(FileWriter::reopen(path).unwrap());
    streams(path)
}

#[test]
fn a_task_commits_by_itself_and_the_set_opens_with_what_it_wrote() {
    for (nfiles, sealed) in [(1, false), (1, true), (3, false), (3, true)] {
        for task in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.sion");
            let builder = Builder::new(6).chunksize(100).fsblksize(1).nfiles(nfiles);
            let file = builder.sealed(sealed).durability(Durability::None).create(&path).unwrap();
            let mut writer = file.task(task).unwrap();
            writer.write_all(&payload(task, 350)).unwrap();
            writer.commit().unwrap();
            writer.write_all(&payload(9, 77)).unwrap(); // not committed
            drop((writer, file));
            let mut expected = vec![Vec::new(); 6];
            expected[task as usize] = payload(task, 350);
            assert_eq!(streams(&path), expected, "{nfiles} {sealed}");
            // Gone on with, it commits again; others come along only with a commit of theirs.
            expected[task as usize].extend([1; 100]);
            let found = left(&path, |file| {
                let mut writer = file.task(task).unwrap();
                writer.write_all(&[1; 100]).unwrap();
                writer.commit().unwrap();
            });
            assert_eq!(found, expected, "{nfiles} {sealed}");
            super::assert_sound(&path, sealed);
        }
    }
}

#[test]
fn what_other_tasks_of_the_file_have_in_their_buffers_is_committed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let file = Builder::new(2).chunksize(100).create(&path).unwrap();
    let (mut first, mut second) = (file.task(0).unwrap(), file.task(1).unwrap());
    first.write_all(&payload(0, 50)).unwrap();
    second.write_all(&payload(1, 60)).unwrap();
    second.commit().unwrap();
    drop((first, second, file));
    assert_eq!(streams(&path), [payload(0, 50), payload(1, 60)]);
}

#[test]
fn threads_commit_by_themselves_at_once() {
    for (nfiles, sealed) in [(1, true), (4, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(8).chunksize(5000).fsblksize(512).nfiles(nfiles).sealed(sealed);
        let file = builder.buffer(1000).durability(Durability::None).create(&path).unwrap();
        // Each owns its writer, and nothing of the set's.
        let threads: Vec<_> = (0..8u64)
            .map(|task| {
                let mut writer = file.task(task).unwrap();
                std::thread::spawn(move || {
                    for (i, part) in
                        payload(task, 60_000).chunks(1 + 97 * task as usize).enumerate()
                    {
                        writer.write_all(part).unwrap();
                        if i % 100 == 0 {
                            writer.commit().unwrap();
                        }
                    }
                    writer.commit().unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(file); // not closed
        let expected: Vec<_> = (0..8).map(|task| payload(task, 60_000)).collect();
        assert!(streams(&path) == expected, "{nfiles}");
    }
}

#[test]
fn a_task_has_nothing_to_commit_after_the_close_and_cannot_without_its_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let mut file = Builder::new(1).chunksize(100).create(&path).unwrap();
    let mut writer = file.task(0).unwrap();
    writer.write_all(&[7; 50]).unwrap();
    file.close().unwrap();
    writer.commit().unwrap();
    drop((writer, file));
    let file = FileWriter::reopen(&path).unwrap();
    let mut writer = file.task(0).unwrap();
    writer.write_all(&[8; 50]).unwrap();
    drop(file);
    let error = writer.commit().unwrap_err();
    assert!(matches!(error.kind(), striae::error::ErrorKind::Closed), "{error}");
    assert_eq!(streams(&path), [vec![7; 50]]);
}
