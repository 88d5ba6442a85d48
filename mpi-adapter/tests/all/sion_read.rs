//! Any number of ranks read sets of any number of tasks.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use striae::posix::PosixFile;
use striae::sion as serial;
use striae_core::endian::ByteOrder;
use striae_mpi::sion::{FileReader, OpenOptions};
use striae_mpi::{Code, Collective, Error};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion")
}

/// The streams of a set, as a serial reader has them.
fn serially(path: &Path) -> Vec<Vec<u8>> {
    let set = serial::File::open(path).unwrap();
    let read = |task| {
        let mut bytes = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    (0..set.ntasks()).map(read).collect()
}

/// The streams of this rank, by task.
fn mine<C: Collective>(file: &FileReader<C>) -> BTreeMap<u64, Vec<u8>> {
    let read = |entry: &striae_mpi::sion::TaskEntry| {
        let mut bytes = Vec::new();
        let mut stream = file.stream(entry.task).unwrap();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!((entry.bytes, stream.len()), (bytes.len() as u64, bytes.len() as u64));
        (entry.task, bytes)
    };
    file.tasks().iter().map(read).collect()
}

/// Reads the set by `size` ranks: the streams of all of them, in order. Each is there once.
fn read_by(size: u32, path: &Path) -> Vec<Vec<u8>> {
    let read = ranks(size, |rank| {
        let file = OpenOptions::new().open(rank, path).unwrap();
        let streams = mine(&file);
        assert_eq!(file.close(Ok(())).unwrap().size(), size);
        streams
    });
    let most = read.iter().map(BTreeMap::len).max().unwrap();
    assert!(read.iter().all(|streams| streams.len() + 1 >= most), "not even");
    let all: Vec<_> = read.into_iter().flatten().collect();
    assert!(all.iter().map(|(task, _)| *task).eq(0..all.len() as u64));
    all.into_iter().map(|(_, bytes)| bytes).collect()
}

fn set(ntasks: u64, path: &Path, sealed: bool) {
    let builder = serial::Builder::new(ntasks).fsblksize(512).chunksize(512).nfiles(2);
    let mut set = builder.sealed(sealed).create(path).unwrap();
    for task in 0..ntasks {
        let bytes: Vec<u8> = (0..task * 300).map(|i| (i * 7 + task) as u8).collect();
        set.task(task).unwrap().write_all(&bytes).unwrap();
    }
    set.close().unwrap();
}

#[test]
fn sets_of_sionlib_are_read_by_any_number_of_ranks() {
    let mut sets = 0;
    for entry in std::fs::read_dir(golden()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sion") {
            continue;
        }
        let Ok(serial::Opened::Closed(_)) = serial::OpenOptions::new().open(&path) else {
            continue; // files that are damaged or unclosed on purpose
        };
        let expected = serially(&path);
        for size in [1, 2, 3, 5, 9] {
            assert!(read_by(size, &path) == expected, "{} by {size}", path.display());
        }
        sets += 1;
    }
    assert!(sets > 20, "{sets}");
}

#[test]
fn opening_takes_three_calls_and_two_for_each_further_window_of_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let calls = |ntasks: u64, nfiles: u32, size: u32| {
        let path = folder.path().join(format!("{ntasks} {nfiles} {size}"));
        let builder = serial::Builder::new(ntasks).chunksize(1).fsblksize(1).nfiles(nfiles);
        builder.create(&path).unwrap().close().unwrap();
        let calls = ranks(size, |rank| {
            let file = OpenOptions::new().open(rank, &path).unwrap();
            assert_eq!(file.ntasks(), ntasks);
            file.comm().calls()
        });
        assert!(calls.iter().all(|other| *other == calls[0]));
        calls[0]
    };
    for (ntasks, nfiles, size) in [(1, 1, 1), (9, 1, 2), (9, 4, 3), (12_000, 1, 3), (40, 40, 5)] {
        assert_eq!(calls(ntasks, nfiles, size), 3);
    }
    assert_eq!(calls(30_000, 1, 2), 3 + 2 * 2);
}

#[test]
fn a_rank_reads_a_bounded_number_of_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let one_task = std::fs::read(golden().join("s01_one_task.sion")).unwrap();
    let fields = 1076 + 16; // after the table of one task: maxchunks, start_of_varheader
    let start = u64::from_le_bytes(one_task[fields + 4..fields + 12].try_into().unwrap());
    let says_of = |count: i32| {
        let mut bytes = one_task[..start as usize].to_vec();
        bytes[fields..fields + 4].copy_from_slice(&count.to_le_bytes());
        bytes.extend(i64::from(count).to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(start + 8 + 8 * u64::try_from(count).unwrap()).unwrap(); // sparse
        let errors = ranks(2, |rank| OpenOptions::new().open(rank, &path).map(drop).unwrap_err());
        assert!(errors.iter().all(|error| error.code() == Code::Refused), "{errors:?}");
        errors[0].to_string()
    };
    let of_rank = says_of((1 << 26) + 1);
    assert!(of_rank.contains("have 67108865 chunks, at most 67108864 are read"), "{of_rank}");
    let of_task = says_of((1 << 24) + 1);
    assert!(of_task.contains("task 0 has 16777217 chunks, at most 16777216 are read"), "{of_task}");
}

#[test]
fn a_rank_opens_only_the_files_of_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    serial::Builder::new(8).nfiles(4).create(&path).unwrap().close().unwrap();
    let opened = ranks(4, |rank| {
        let count = AtomicU32::new(0);
        let open = |path: &Path| {
            count.fetch_add(1, Ordering::Relaxed);
            PosixFile::open(path)
        };
        let file = OpenOptions::new().open_in(rank, &path, open).unwrap();
        assert_eq!(file.tasks().len(), 2);
        count.into_inner()
    });
    assert_eq!(opened, [1, 1, 1, 1]);
}

#[test]
fn a_rank_reads_the_tasks_that_it_wants() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let mut set =
        serial::Builder::new(5).globalranks(vec![10, -3, 7, 99, 0]).create(&path).unwrap();
    for task in 0..5 {
        set.task(task).unwrap().write_all(format!("task {task}").as_bytes()).unwrap();
    }
    set.close().unwrap();
    let text = |task: u64| (task, format!("task {task}").into_bytes());
    let read = ranks(3, |rank| {
        let tasks = [vec![4, 1, 1], vec![], vec![1, 3]];
        let options = OpenOptions::new().tasks(tasks[rank.rank() as usize].clone());
        mine(&options.open(rank, &path).unwrap())
    });
    assert_eq!(read[0], BTreeMap::from([text(1), text(4)])); // two ranks read task 1
    assert_eq!(read[1], BTreeMap::new());
    assert_eq!(read[2], BTreeMap::from([text(1), text(3)]));
    let read = ranks(2, |rank| {
        let wanted = if rank.rank() == 0 { vec![99, -3] } else { vec![] };
        let file = OpenOptions::new().globalranks(wanted).open(rank, &path).unwrap();
        assert_eq!(file.stream(0).unwrap_err().kind(), ErrorKind::InvalidInput);
        mine(&file)
    });
    assert_eq!(read[0], BTreeMap::from([text(1), text(3)]));
    let wrong = |options: &(dyn Fn(u32) -> OpenOptions + Sync)| {
        let errors = ranks(3, |rank| {
            let options = options(rank.rank());
            options.open(rank, &path).map(drop).unwrap_err()
        });
        assert!(errors.iter().all(|e| (e.code(), e.rank()) == (Code::Refused, Some(1))));
    };
    wrong(&|rank| OpenOptions::new().tasks(if rank == 1 { vec![0, 5] } else { vec![] }));
    wrong(&|rank| OpenOptions::new().globalranks(if rank == 1 { vec![7, 8] } else { vec![7] }));
}

fn error_of(path: &Path) -> Error {
    let errors = ranks(3, |rank| OpenOptions::new().open(rank, path).map(drop).unwrap_err());
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors[0].clone()
}

#[test]
fn what_cannot_be_opened_is_the_same_error_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let enoent = Code::Io(2);
    assert_eq!(error_of(&path).code(), enoent);

    set(6, &path, false);
    let second = folder.path().join("a.sion.000001");
    let bytes = std::fs::read(&second).unwrap();
    std::fs::remove_file(&second).unwrap();
    let error = error_of(&path);
    assert_eq!((error.code(), error.rank()), (enoent, Some(0)));
    assert!(error.text().contains("a.sion.000001"), "{error}");

    let open = serial::Builder::new(6).nfiles(2).force(true).create(&path).unwrap();
    assert_eq!(error_of(&path).code(), Code::Unclosed);
    drop(open);

    set_over(&path, &bytes);
    std::fs::write(&second, &bytes[..bytes.len() - 1]).unwrap(); // META2 is cut
    assert_eq!(error_of(&path).code(), Code::Damaged);
    std::fs::write(&path, b"no SIONlib file").unwrap();
    assert_eq!(error_of(&path).code(), Code::Damaged);
}

/// A sparse file of a few kilobytes on the disk says that its tasks have 2^24 chunks each: each is
/// allowed, all five are not.
#[test]
fn lengths_of_chunks_are_kept_up_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = serial::Builder::new(5).fsblksize(512).chunksize(512);
    builder.order(ByteOrder::Big).create(&path).unwrap().close().unwrap();
    let (fields, counts) = {
        let file = serial::File::open(&path).unwrap();
        let (_, head) = file.files().next().unwrap();
        (head.meta1.layout().commit_fields(), head.meta2.unwrap().blockcounts())
    };
    let claimed = 1_i64 << 24;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&(claimed as i32).to_be_bytes(), fields.offset()).unwrap(); // maxchunks
    for task in 0..5 {
        file.write_all_at(&claimed.to_be_bytes(), counts.offset() + 8 * task).unwrap();
    }
    file.set_len(1 << 40).unwrap();
    let errors = ranks(1, |rank| OpenOptions::new().open(rank, &path).map(drop).unwrap_err());
    assert_eq!(errors[0].code(), Code::Refused);
    assert!(errors[0].text().contains("have 83886080 chunks, at most 67108864"), "{}", errors[0]);
}

/// Makes the set again, whose second file had these bytes.
fn set_over(path: &Path, second: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(path.with_extension("sion.000001")).unwrap();
    set(6, path, false);
    assert!(std::fs::read(path.with_extension("sion.000001")).unwrap() == second);
}

#[test]
fn a_file_that_one_rank_cannot_open_is_its_error_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    set(6, &path, false);
    let errors = ranks(3, |rank| {
        let number = rank.rank();
        let open = |path: &Path| match number {
            1 => Err(std::io::Error::from_raw_os_error(13)),
            _ => PosixFile::open(path),
        };
        OpenOptions::new().open_in(rank, &path, open).map(drop).unwrap_err()
    });
    assert!(errors.iter().all(|e| (e.code(), e.rank()) == (Code::Io(13), Some(1))));
}

#[test]
fn whatever_happens_to_a_reader_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    set(7, &path, true);
    let read = |rank| {
        let file = OpenOptions::new().open(rank, &path)?;
        mine(&file);
        assert!(file.check()?);
        file.close(Ok(())).map(drop)
    };
    sweep(4, read, |_| {});
}

#[test]
fn data_that_is_not_as_sealed_is_an_error_of_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    set(6, &path, true);
    let check = || ranks(3, |rank| OpenOptions::new().open(rank, &path).unwrap().check());
    assert_eq!(check(), [Ok(true), Ok(true), Ok(true)]);
    // Task 4, of rank 2, in the second file.
    let place = serial::File::open(&path).unwrap().task(4).unwrap().place;
    let second = folder.path().join("a.sion.000001");
    let mut bytes = std::fs::read(&second).unwrap();
    bytes[place.chunks.chunk(1).unwrap().offset() as usize] ^= 1;
    std::fs::write(&second, bytes).unwrap();
    for result in check() {
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.rank()), (Code::Damaged, Some(2)));
        assert!(error.text().contains("chunk 1 of task 4"), "{error}");
    }
    let unsealed = golden().join("m05_np8_3files.sion");
    assert_eq!(ranks(2, |r| OpenOptions::new().open(r, &unsealed).unwrap().check())[1], Ok(false));
}

#[test]
fn streams_seek_and_values_of_keys_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = serial::Builder::new(2).fsblksize(512).chunksize(512).keyval(true);
    let mut set = builder.create(&path).unwrap();
    for task in 0..2 {
        let mut task = set.task(task).unwrap();
        for (key, byte) in [(5, b'a'), (7, b'b'), (5, b'c')] {
            task.write_key(key, &[byte; 300]).unwrap();
        }
    }
    set.close().unwrap();
    ranks(2, |rank| {
        let task = rank.rank().into();
        let file = OpenOptions::new().open(rank, &path).unwrap();
        assert_eq!(file.keyval(), serial::KeyvalMode::Inline);
        let mut stream = file.stream(task).unwrap();
        let mut value = Vec::new();
        stream.value(5).unwrap().read_to_end(&mut value).unwrap();
        assert!(value == [[b'a'; 300], [b'c'; 300]].concat());
        let keys = stream.records().unwrap().map(|record| record.unwrap().key);
        assert_eq!(keys.collect::<Vec<_>>(), [5, 7, 5]);
        assert_eq!(stream.value(6).unwrap().read(&mut [0; 9]).unwrap(), 0);
        assert_eq!(stream.seek(SeekFrom::End(-1)).unwrap(), stream.len() - 1);
        let mut last = [0];
        stream.read_exact(&mut last).unwrap();
        assert_eq!(last, [b'c']);
        assert_eq!(stream.position_of(1, 8).unwrap(), 512 + 8);
    });
}

#[test]
fn a_lost_file_is_read_from_its_buddy() {
    let path = golden().join("m11_np4_buddy.sion");
    let expected = serially(&path);
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "_BUDDY_00", "_BUDDY_00.000001"] {
        let name = format!("m11_np4_buddy.sion{name}");
        std::fs::copy(golden().join(&name), folder.path().join(&name)).unwrap();
    }
    let path = folder.path().join("m11_np4_buddy.sion");
    assert!(read_by(3, &path) == expected);
    let errors = ranks(2, |rank| {
        OpenOptions::new().buddies(false).open(rank, &path).map(drop).unwrap_err().code()
    });
    assert_eq!(errors, [Code::Io(2); 2]);
}

proptest! {
    #![proptest_config(crate::config(60))]

    #[test]
    fn what_a_serial_writer_wrote_is_read_by_any_number_of_ranks(
        lens in prop::collection::vec(prop::collection::vec(0usize..1500, 0..4), 1..9),
        nfiles in 1u32..4,
        size in 1u32..7,
        commits in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let nfiles = nfiles.min(lens.len() as u32);
        let builder = serial::Builder::new(lens.len() as u64).fsblksize(512).chunksize(600);
        let mut set = builder.nfiles(nfiles).create(&path).unwrap();
        let mut streams = vec![Vec::new(); lens.len()];
        for round in 0..4 {
            for (task, lens) in lens.iter().enumerate() {
                let Some(len) = lens.get(round) else { continue };
                let bytes: Vec<u8> = (0..*len).map(|i| (i * 7 + task * 31 + round) as u8).collect();
                set.task(task as u64).unwrap().write_all(&bytes).unwrap();
                streams[task].extend(bytes);
            }
            if commits {
                set.commit().unwrap();
                prop_assert!(read_by(size, &path) == streams);
            }
        }
        set.close().unwrap();
        prop_assert!(read_by(size, &path) == streams);
    }
}
