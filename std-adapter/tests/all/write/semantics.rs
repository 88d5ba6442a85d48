//! What a writer promises about commits, drops, closes and single records.

use super::{assert_sound, is_unclosed, payload, payload_from, sion, streams};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use striae::Error;
use striae::error::ErrorKind;
use striae::sion::ErrorKind::Taken;
use striae::sion::{Builder, Durability, File, FileWriter};
use striae_core::sion::Error as SionError;
use striae_kit::adapter::{keep_warnings, warnings};
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    (folder, path)
}

fn builder(ntasks: u64) -> Builder {
    Builder::new(ntasks).chunksize(500).fsblksize(50).durability(Durability::None)
}

fn is_closed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed)
}

#[test]
fn a_commit_covers_what_was_accepted_before_it_was_called_by_any_thread() {
    for nfiles in [1, 2] {
        let (_folder, path) = folder();
        let file = builder(5).nfiles(nfiles).buffer(1 << 16).create(&path).unwrap();
        let accepted: [AtomicUsize; 4] = Default::default();
        // A reader of a file that is written has no promise that META2 stays where it found it.
        let writes = RwLock::new(());
        std::thread::scope(|scope| {
            for task in 0..4 {
                let (mut writer, accepted) = (file.task(task).unwrap(), &accepted);
                let writes = &writes;
                scope.spawn(move || {
                    for at in (0..40_000).step_by(40) {
                        let _writes = writes.read().unwrap();
                        writer.write_all(&payload_from(task, at, 40)).unwrap();
                        accepted[task as usize].store(at + 40, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..40 {
                let least = accepted.each_ref().map(|count| count.load(Ordering::SeqCst));
                file.commit().unwrap();
                let _nobody_writes = writes.write().unwrap();
                let lens = File::open(&path).unwrap();
                for (task, least) in (0..).zip(least) {
                    assert!(lens.task(task).unwrap().bytes >= least as u64);
                }
            }
        });
        drop(file);
    }
}

#[test]
fn a_dropped_writer_loses_nothing_of_its_buffer() {
    let (_folder, path) = folder();
    let mut file = builder(2).sealed(true).create(&path).unwrap();
    file.task(0).unwrap().write_all(&payload(0, 777)).unwrap();
    file.commit().unwrap();
    assert_eq!(streams(&path)[0], payload(0, 777));
    file.task(0).unwrap().write_all(&payload_from(0, 777, 10)).unwrap();
    file.task(1).unwrap().write_all(&payload(1, 1)).unwrap();
    file.close().unwrap();
    assert_eq!(streams(&path), [payload(0, 787), payload(1, 1)]);
    assert_sound(&path, true);
}

#[test]
fn a_task_has_one_writer_at_a_time() {
    let (_folder, path) = folder();
    let file = builder(3).nfiles(2).create(&path).unwrap();
    let first = file.task(1).unwrap();
    let error = file.task(1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Sion(Taken { task: 1 })), "{error:?}");
    drop(first);
    assert_eq!(file.task(1).unwrap().task(), 1);
    assert_eq!(sion(&file.task(3).unwrap_err()), SionError::NoTask { task: 3, ntasks: 3 });
}

#[test]
fn nothing_is_written_after_a_close_and_all_of_it_says_so() {
    let (_folder, path) = folder();
    let mut file = builder(3).create(&path).unwrap();
    let mut writer = file.task(0).unwrap();
    writer.write_all(&payload(0, 1200)).unwrap();
    file.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();

    assert!(is_closed(&writer.write_record(b"x").unwrap_err()));
    assert!(is_closed(&writer.ensure_free_space(1).unwrap_err()));
    let error = writer.write(b"x").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(is_closed(error.get_ref().unwrap().downcast_ref().unwrap()));
    writer.flush().unwrap(); // nothing is in the buffer
    for task in 0..3 {
        assert!(is_closed(&file.task(task).unwrap_err()), "task {task}");
    }
    file.commit().unwrap(); // all that was accepted is in the file
    file.close().unwrap();
    drop(file);
    assert!(is_closed(&writer.write_record(b"x").unwrap_err()));
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == bytes, "the file changed");
    assert_eq!(streams(&path)[0], payload(0, 1200));
}

#[test]
fn a_writer_that_outlives_its_set_loses_its_buffer_and_says_so() {
    for durability in [Durability::None, Durability::EveryRecord] {
        let (_folder, path) = folder();
        let file = builder(2).durability(durability).create(&path).unwrap();
        let mut writer = file.task(1).unwrap();
        writer.write_all(&payload(1, 30)).unwrap();
        drop(file);
        assert!(is_closed(&writer.write_record(b"x").unwrap_err()));
        assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        match durability {
            Durability::EveryRecord => {
                writer.flush().unwrap();
                assert_eq!(streams(&path)[1], payload(1, 30));
            }
            _ => {
                assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::InvalidInput);
                assert!(is_unclosed(&path));
            }
        }
    }
}

#[test]
fn a_drop_without_a_close_is_logged_only_if_something_is_lost() {
    keep_warnings();
    let warnings = |path: &Path| warnings(path).len();
    type Work = fn(&mut FileWriter);
    let cases: [(usize, Work); 8] = [
        (1, |_| {}), // it is unclosed
        (0, |file| file.commit().unwrap()),
        (0, |file| file.close().unwrap()),
        (1, |file| {
            file.commit().unwrap();
            file.task(1).unwrap().write_all(b"lost").unwrap();
        }),
        (0, |file| {
            file.task(1).unwrap().write_all(b"kept").unwrap();
            file.commit().unwrap();
            let _ = file.task(0).unwrap();
        }),
        (0, |file| {
            file.commit().unwrap();
            file.task(1).unwrap().write_record(&[]).unwrap();
            assert_eq!(file.task(1).unwrap().write(&[]).unwrap(), 0);
        }),
        (1, |file| {
            file.commit().unwrap();
            let mut writer = file.task(0).unwrap();
            writer.write_all(b"written, not committed").unwrap();
            writer.flush().unwrap();
        }),
        (0, |file| {
            file.close().unwrap();
            assert!(file.task(0).is_err());
        }),
    ];
    for (index, (expected, work)) in cases.into_iter().enumerate() {
        let (_folder, path) = folder();
        let mut file = builder(2).create(&path).unwrap();
        work(&mut file);
        drop(file);
        assert_eq!(warnings(&path), expected, "case {index}");
    }
    let (_folder, path) = folder();
    builder(2).create(&path).unwrap().close().unwrap();
    drop(FileWriter::reopen(&path).unwrap());
    assert_eq!(warnings(&path), 0, "reopened, and nothing written");
    let file = FileWriter::reopen(&path).unwrap();
    file.task(1).unwrap().write_all(b"lost").unwrap();
    drop(file);
    assert_eq!(warnings(&path), 1, "reopened, and written");
}

#[test]
fn each_record_is_committed_when_its_write_returns() {
    let (_folder, path) = folder();
    let file = builder(2).durability(Durability::EveryRecord).sealed(true).create(&path).unwrap();
    assert_eq!(streams(&path), [b"", b""]);
    let (mut a, mut b) = (file.task(0).unwrap(), file.task(1).unwrap());
    for (round, len) in [1, 50, 499, 500, 501, 3, 1300].into_iter().enumerate() {
        let before = streams(&path);
        let bytes = payload(round as u64, len);
        a.write_all(&bytes).unwrap();
        assert_eq!(streams(&path)[0], [before[0].clone(), bytes].concat());
        let record = payload(round as u64, len.min(500));
        b.write_record(&record).unwrap();
        assert_eq!(streams(&path)[1], [before[1].clone(), record].concat());
        assert_sound(&path, true);
    }
}

#[test]
fn records_of_many_threads_are_committed_together_and_each_before_its_write_returns() {
    let (_folder, path) = folder();
    let file = builder(6).durability(Durability::EveryRecord).create(&path).unwrap();
    let written: [AtomicUsize; 6] = Default::default();
    let writes = RwLock::new(());
    std::thread::scope(|scope| {
        for task in 0..6 {
            let mut writer = file.task(task).unwrap();
            let (path, written, writes) = (&path, &written, &writes);
            scope.spawn(move || {
                for round in 0..60usize {
                    let all_write = writes.read().unwrap();
                    writer.write_record(&payload_from(task, round * 40, 40)).unwrap();
                    written[task as usize].store(round * 40 + 40, Ordering::SeqCst);
                    drop(all_write);
                    if round % 10 == task as usize {
                        let _nobody_writes = writes.write().unwrap();
                        let found = streams(path).iter().map(Vec::len).collect::<Vec<_>>();
                        assert_eq!(found, written.each_ref().map(|n| n.load(Ordering::SeqCst)));
                    }
                }
            });
        }
    });
    let expected: Vec<_> = (0..6).map(|task| payload(task, 2400)).collect();
    assert!(streams(&path) == expected);
    drop(file);
    assert!(streams(&path) == expected);
}

#[test]
fn key_value_records_of_any_key_and_length_are_read_again() {
    use std::io::Read;
    for buffer in [0, 1, 20, 500, 5000] {
        let (_folder, path) = folder();
        let mut file = builder(2).keyval(true).buffer(buffer).create(&path).unwrap();
        let mut writer = file.task(1).unwrap();
        let lens = [0, 1, 483, 484, 485, 0, 1500];
        for (key, len) in [u64::MAX, 0, 1, u64::MAX - 1, 7, 8, u64::MAX].into_iter().zip(lens) {
            writer.write_key(key, &payload(key, len)).unwrap();
        }
        assert_eq!(sion(&writer.write_record(b"x").unwrap_err()), SionError::OnlyKeyval);
        assert!(writer.write(b"x").is_err());
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        let value = |key| {
            let mut bytes = Vec::new();
            file.value(1, key).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(value(u64::MAX), payload(u64::MAX, 1500)); // the first one was empty
        assert_eq!(value(1), payload(1, 483));
        assert_eq!(value(8), b"");
        assert_sound(&path, false);
    }
    let (_folder, path) = folder();
    let file = builder(1).create(&path).unwrap();
    let error = file.task(0).unwrap().write_key(1, b"x").unwrap_err();
    assert_eq!(sion(&error), SionError::NoKeyval);
}

#[test]
fn a_task_without_room_takes_nothing_but_nothing() {
    let (_folder, path) = folder();
    let mut file = builder(3).chunksizes(vec![0, 100, 0]).sealed(true).create(&path).unwrap();
    let mut writer = file.task(0).unwrap();
    writer.write_record(&[]).unwrap();
    writer.ensure_free_space(0).unwrap();
    let error = sion(&writer.write_record(b"x").unwrap_err());
    assert_eq!(error, SionError::NoRoom);
    assert!(writer.write(b"x").is_err());
    file.task(1).unwrap().write_all(&payload(1, 250)).unwrap();
    file.commit().unwrap();
    file.close().unwrap();
    assert_eq!(streams(&path), [vec![], payload(1, 250), vec![]]);
    assert_sound(&path, true);

    let (_folder, path) = folder();
    let mut file = builder(2).chunksize(0).create(&path).unwrap();
    assert!(file.task(1).unwrap().write(b"x").is_err());
    file.commit().unwrap();
    file.close().unwrap();
    assert_eq!(streams(&path), [b"", b""]);
    assert_sound(&path, false);
}

#[test]
fn a_record_is_never_split_and_a_stream_is_whenever_it_can_be() {
    for buffer in [0, 1, 60, 500, 501, 1 << 16] {
        let (_folder, path) = folder();
        let mut file = builder(2).buffer(buffer).create(&path).unwrap();
        let (mut records, mut stream) = (file.task(0).unwrap(), file.task(1).unwrap());
        for round in 0..10 {
            let record = payload(round, 300);
            records.write_record(&record).unwrap();
            assert_eq!(records.location(), (round as u32, 300), "one a chunk");
            assert_eq!(records.room(), 200);
            stream.write_all(&record).unwrap();
        }
        assert_eq!(stream.location(), (5, 500)); // the next byte goes to the next chunk
        let error = sion(&records.write_record(&[0; 501]).unwrap_err());
        assert_eq!(error, SionError::RecordTooLong { len: 501, chunksize: 500 });
        file.close().unwrap();
        let all: Vec<u8> = (0..10).flat_map(|round| payload(round, 300)).collect();
        assert_eq!(streams(&path), [all.clone(), all]);
        let file = File::open(&path).unwrap();
        let lens = |task| -> Vec<u64> {
            let entry = file.task(task).unwrap();
            file.chunk_lens(&entry).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(lens(0), [300; 10]);
        assert_eq!(lens(1), [500; 6]);
    }
}

#[test]
fn bytes_that_others_have_written_become_part_of_the_stream() {
    for sealed in [false, true] {
        let (_folder, path) = folder();
        let mut set = builder(2).sealed(sealed).create(&path).unwrap();
        let mut task = set.task(1).unwrap();
        task.write_all(b"before ").unwrap();
        let place = task.place().unwrap();
        assert_eq!((place.len(), task.path()), (493, &*path));
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(b"between ", place.offset()).unwrap();
        task.count_written(8).unwrap();
        task.write_all(b"after").unwrap();
        let error = task.count_written(481).unwrap_err();
        assert!(matches!(sion(&error), SionError::RecordTooLong { len: 481, chunksize: 480 }));
        assert_eq!(task.location(), (0, 20));
        set.close().unwrap();
        assert_eq!(streams(&path), [&b""[..], b"before between after"]);
        assert_sound(&path, sealed);
        assert!(is_closed(&task.count_written(1).unwrap_err()));
    }
}

#[test]
fn bytes_of_a_stream_are_replaced_where_they_are() {
    let (_folder, path) = folder();
    let mut set = builder(1).create(&path).unwrap();
    let mut task = set.task(0).unwrap();
    task.write_record(&[1; 300]).unwrap();
    task.write_record(&[2; 300]).unwrap();
    task.overwrite(0, 290, &[3; 10]).unwrap();
    task.overwrite(1, 0, &[4; 300]).unwrap(); // also bytes that only the buffer has
    task.overwrite(1, 300, &[]).unwrap();
    for (chunk, offset, len) in [(0, 400, 101), (1, 0, 301), (1, u64::MAX, 2)] {
        let error = task.overwrite(chunk, offset, &vec![5; len]).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
    }
    let error = task.overwrite(2, 0, b"x").unwrap_err();
    assert!(matches!(sion(&error), SionError::NoChunk { chunk: 2, blockcount: 2 }));
    set.close().unwrap();
    let expected = [vec![1; 290], vec![3; 10], vec![4; 300]].concat();
    assert_eq!(streams(&path), [expected]);
    assert_sound(&path, false);

    let set = builder(1).sealed(true).force(true).create(&path).unwrap();
    let mut task = set.task(0).unwrap();
    task.write_all(b"sealed").unwrap();
    let error = task.overwrite(0, 0, b"S").unwrap_err();
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Unsupported);
}
