//! `direct::Writer` against plain bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::{fs, io};
use striae::direct::{Policy, Writer};
use striae::posix::PosixFile;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_kit::adapter::denying::deny;
use tempfile::TempDir;

#[derive(Debug, Clone)]
enum Operation {
    /// How far behind the last write, length, and the byte.
    Follow(u64, usize, u8),
    Write(u64, usize, u8),
    Size(u64),
    Sync,
    Read(u64, usize),
    /// Closes the file and opens it again.
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    let len = prop_oneof![8 => 0..700_usize, 2 => 0..10_000_usize, 1 => 900_000..2_200_000_usize];
    let offset = || prop_oneof![0..3000_u64, 0..400_000_u64];
    prop_oneof![
        6 => (prop_oneof![Just(0), 0..6000_u64], len.clone(), 1..=255_u8)
            .prop_map(|(gap, len, byte)| Operation::Follow(gap, len, byte)),
        3 => (offset(), len, 1..=255_u8)
            .prop_map(|(offset, len, byte)| Operation::Write(offset, len, byte)),
        1 => offset().prop_map(Operation::Size),
        2 => Just(Operation::Sync),
        3 => (offset(), 0..5000_usize).prop_map(|(offset, len)| Operation::Read(offset, len)),
        1 => Just(Operation::Reopen),
    ]
}

/// A folder on the disk of the build: `/tmp` may be memory.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("a");
    (folder, path)
}

fn open(path: &Path, policy: Policy) -> Writer {
    let file = PosixFile::open_rw(path).or_else(|_| PosixFile::create(path, false)).unwrap();
    Writer::new(file, policy).unwrap()
}

fn run(policy: Policy, operations: &[Operation]) {
    let (_folder, path) = folder();
    let mut writer = open(&path, policy);
    let (mut model, mut next) = (Vec::new(), 0);
    for operation in operations {
        let (offset, len, byte) = match *operation {
            Operation::Follow(gap, len, byte) => ((next + gap).min(1 << 22), len, byte),
            Operation::Write(offset, len, byte) => (offset, len, byte),
            Operation::Size(len) => {
                writer.set_size(len).unwrap();
                model.resize(len as usize, 0);
                (0, 0, 0)
            }
            Operation::Sync => {
                writer.sync().unwrap();
                assert!(fs::read(&path).unwrap() == model, "a sync left something");
                (0, 0, 0)
            }
            Operation::Read(offset, len) => {
                let have = (offset as usize).min(model.len())..model.len();
                let expected = &model[have.start..have.end.min(have.start + len)];
                let mut bytes = vec![0x55; expected.len()];
                writer.read_exact_at(offset, &mut bytes).unwrap();
                assert!(bytes == expected, "{len} bytes at {offset}");
                (0, 0, 0)
            }
            Operation::Reopen => {
                drop(writer);
                assert!(fs::read(&path).unwrap() == model, "dropping left something");
                writer = open(&path, policy);
                (0, 0, 0)
            }
        };
        let bytes: Vec<u8> = (0..len).map(|i| byte.wrapping_add((i % 251) as u8)).collect();
        writer.write_all_at(offset, &bytes).unwrap();
        if len > 0 {
            let (start, end) = (offset as usize, offset as usize + len);
            model.resize(model.len().max(end), 0);
            model[start..end].copy_from_slice(&bytes);
            next = offset + len as u64;
        }
        assert_eq!(writer.size().unwrap(), model.len() as u64);
    }
    writer.sync().unwrap();
    assert!(fs::read(&path).unwrap() == model);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn what_is_written_past_the_page_cache_is_there_and_nothing_else(
        policy in prop_oneof![3 => Just(Policy::Preferred), 1 => Just(Policy::Off)],
        operations in vec(operation(), 1..40),
    ) {
        run(policy, &operations);
    }
}

#[test]
fn a_file_on_a_disk_is_written_directly_and_one_that_must_be_is_refused_elsewhere() {
    let (_folder, path) = folder();
    let mut writer = open(&path, Policy::Preferred);
    // Not every file system can; one that cannot says why.
    assert_eq!(writer.is_direct(), writer.why().is_none());
    writer.write_all_at(0, &[7; 10_000]).unwrap();
    writer.sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), [7; 10_000]);
    drop(writer);
    let cached = Writer::new(PosixFile::open_rw(&path).unwrap(), Policy::Off).unwrap();
    assert!(!cached.is_direct() && cached.why().is_none());
}

#[test]
fn a_write_where_no_file_can_be_is_refused_and_changes_nothing() {
    const LAST: u64 = i64::MAX as u64;
    for policy in [Policy::Preferred, Policy::Off] {
        let (_folder, path) = folder();
        let mut writer = open(&path, policy);
        writer.write_all_at(0, b"abc").unwrap();
        let far = [(1 << 63, &b"x"[..]), (LAST, b"x"), (LAST - 1, b"xy"), (u64::MAX - 1, b"abcd")];
        for (offset, bytes) in far {
            let error = writer.write_all_at(offset, bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{offset}: {error}");
            assert_eq!(writer.size().unwrap(), 3);
            let mut all = [0; 3];
            assert_eq!((writer.read_at(0, &mut all).unwrap(), &all), (3, b"abc"));
        }
        writer.write_all_at(u64::MAX, b"").unwrap();
        writer.write_all_at(3, b"d").unwrap();
        writer.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abcd");
    }
}

/// A file that could not be cut to its length is cut by the next call.
#[test]
fn a_cut_that_failed_is_repeated() {
    let (_folder, path) = folder();
    let mut writer = open(&path, Policy::Preferred);
    writer.write_all_at(0, &[7; 5000]).unwrap();
    let is_direct = writer.is_direct();
    std::thread::scope(|scope| {
        let failing = || {
            deny(libc::SYS_ftruncate, Errno::NOSPC);
            writer.flush()
        };
        let flushed = scope.spawn(failing).join().unwrap();
        assert_eq!(flushed.is_err(), is_direct, "{flushed:?}");
    });
    writer.flush().unwrap();
    assert_eq!(writer.size().unwrap(), 5000);
    assert_eq!(fs::read(&path).unwrap(), [7; 5000]);
}

/// open(2) with O_DIRECT may succeed on a file that refuses all direct writes.
#[test]
fn what_must_be_written_past_the_page_cache_is_never_written_through_it() {
    let (_folder, path) = folder();
    let file = PosixFile::create(&path, false).unwrap();
    let mut writer = match Writer::new(file, Policy::Required) {
        Err(error) => return assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        Ok(writer) => writer,
    };
    writer.write_all_at(0, &[7; 5000]).unwrap();
    std::thread::scope(|scope| {
        let refusing = || {
            deny(libc::SYS_pwrite64, Errno::INVAL);
            writer.flush().unwrap_err().kind()
        };
        assert_eq!(scope.spawn(refusing).join().unwrap(), io::ErrorKind::Unsupported);
    });
    assert!(writer.is_direct());
    writer.sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), [7; 5000]);
}

#[test]
fn room_that_was_made_before_does_not_change_the_length() {
    let (_folder, path) = folder();
    let mut writer = open(&path, Policy::Preferred);
    writer.write_all_at(0, b"abc").unwrap();
    writer.flush().unwrap();
    if writer.preallocate(Span::new(3, 1 << 20).unwrap()).is_ok() {
        assert_eq!(fs::metadata(&path).unwrap().len(), 3);
    }
    writer.write_all_at(3, &[1; 5000]).unwrap();
    writer.sync().unwrap();
    let expected = [&b"abc"[..], &[1; 5000]].concat();
    assert!(fs::read(&path).unwrap() == expected);
}

/// A store is a store: core's logger writes a GSD file through it, and goes on with it.
#[test]
fn a_gsd_file_is_logged_past_the_page_cache() {
    use striae_core::gsd::{Attributes, ChunkType, Logger};
    let (_folder, path) = folder();
    let about = Attributes { application: "a test", schema: "probe", ..Attributes::default() };
    for frame in 0..20_u8 {
        let store = open(&path, Policy::Preferred);
        let mut log = Logger::<_, 4>::open_or_create(store, &about).unwrap();
        let name = log.name("bytes").unwrap();
        log.chunk(name, ChunkType::U8, 1, &[frame; 5000]).unwrap();
        log.end_frame().unwrap();
    }
    let file = striae::gsd::File::open(&path).unwrap();
    assert_eq!(file.frames(), 20);
    for frame in 0..20 {
        let chunk = file.find(frame, "bytes").unwrap().unwrap();
        assert_eq!(file.read_bytes(&chunk).unwrap(), [u8::try_from(frame).unwrap(); 5000]);
    }
}
