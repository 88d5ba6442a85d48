//! Many threads, one stream each.

use crate::{payload, streams};
use std::io::Write;
use striae::sion::verify::verify;
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
        let summary = verify(&path, &mut |finding| panic!("{finding}")).unwrap();
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
