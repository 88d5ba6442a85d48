//! `posix`.

use super::in_a_process_with_file_limit;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{SeccompCondition, SeccompRule};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use striae::lock::{lock, lock_replaced};
use striae::posix::{PosixFile, sync_folder, sync_parent};
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::adapter::denying::deny_if;

const KIB: u64 = 1024;

#[test]
fn a_new_file_is_empty_and_both_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = PosixFile::create(&dir.path().join("a"), false).unwrap();
    assert_eq!(file.size().unwrap(), 0);
    file.write_all_at(5, b"five").unwrap();
    let mut bytes = [1; 9];
    file.read_exact_at(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"\0\0\0\0\0five");
    file.set_size(6).unwrap();
    file.sync().unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"\0\0\0\0\0f");
    assert!(file.block_size().unwrap() >= 1);
    sync_parent(&dir.path().join("a")).unwrap();
    sync_folder(dir.path()).unwrap();
    sync_parent(Path::new("a")).unwrap();
    sync_parent(Path::new("/")).unwrap();
}

#[test]
fn what_is_there_is_kept_unless_it_may_be_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "old").unwrap();
    let error = PosixFile::create(&path, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    PosixFile::open_rw(&path).unwrap().write_all_at(3, b"er").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"older");
    assert_eq!(PosixFile::create(&path, true).unwrap().size().unwrap(), 0);
    assert_eq!(fs::read(&path).unwrap(), b"");
    let missing = PosixFile::open_rw(&dir.path().join("b")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    PosixFile::create(&dir.path().join("b"), true).unwrap();
}

#[test]
fn a_symbolic_link_is_followed_only_to_overwrite_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    fs::write(&file, "old").unwrap();
    symlink("file", &link).unwrap();
    let error = PosixFile::create(&link, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&file).unwrap(), b"old");
    PosixFile::create(&link, true).unwrap().write_all_at(0, b"new").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

    fs::remove_file(&file).unwrap();
    for overwrite in [false, true] {
        let error = PosixFile::create(&link, overwrite).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(!file.exists());
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    for path in [&*pipe, Path::new("/dev/null")] {
        for refused in [PosixFile::create(path, true), PosixFile::open_rw(path)] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        let refused = PosixFile::create(path, false).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    }
    let refused = PosixFile::create(dir.path(), true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IsADirectory);
}

/// From now on, open(2) with O_NONBLOCK fails as if a server of SMB or NFS had a lease.
fn lease(call: i64, argument: u8) {
    let flag = u64::from(OFlags::NONBLOCK.bits());
    let flags = SeccompCondition::new(argument, Dword, MaskedEq(flag), flag).unwrap();
    deny_if(call, vec![SeccompRule::new(vec![flags]).unwrap()], Errno::WOULDBLOCK);
}

#[test]
fn a_file_with_a_lease_is_waited_for_and_a_pipe_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (path, pipe) = (dir.path().join("a"), dir.path().join("pipe"));
    fs::write(&path, "old").unwrap();
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    let leased = || {
        lease(libc::SYS_openat, 2);
        #[cfg(target_arch = "x86_64")]
        lease(libc::SYS_open, 1);
        PosixFile::open_rw(&path).unwrap().write_all_at(3, b"er").unwrap();
        assert_eq!(PosixFile::open(&path).unwrap().size().unwrap(), 5);
        for missed in [PosixFile::open(&pipe), PosixFile::open(dir.path())] {
            assert_eq!(missed.unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    };
    std::thread::scope(|scope| scope.spawn(leased).join().unwrap());
}

#[test]
fn a_file_that_was_opened_for_reading_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "old").unwrap();
    let file = PosixFile::open(&path).unwrap();
    file.write_all_at(0, b"new").unwrap_err();
    file.set_size(0).unwrap_err();
    file.set_size(7).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn nothing_is_behind_the_longest_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = PosixFile::create(&dir.path().join("a"), false).unwrap();
    file.write_all_at(0, b"bytes").unwrap();
    let max = u64::try_from(i64::MAX).unwrap();
    for offset in [max, max + 1, u64::MAX] {
        let error = file.write_all_at(offset, b"b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(file.read_at(offset, &mut [0]).unwrap(), 0);
    }
    assert_eq!(file.set_size(max + 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(file.size().unwrap(), 5);
}

#[test]
fn many_threads_write_one_file_at_once() {
    const THREADS: u64 = 8;
    const RECORDS: u64 = 500;
    const LEN: usize = 37;
    let dir = tempfile::tempdir().unwrap();
    let file = PosixFile::create(&dir.path().join("a"), false).unwrap();
    let record = |number: u64| [u8::try_from(number % 251).unwrap(); LEN];
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut store = &file; // a store of its own for each thread, and no lock
            scope.spawn(move || {
                for number in (thread..THREADS * RECORDS).step_by(8) {
                    let at = number * u64::try_from(LEN).unwrap();
                    WriteAt::write_all_at(&mut store, at, &record(number)).unwrap();
                }
                WriteAt::sync(&mut store).unwrap();
            });
        }
    });
    let bytes = fs::read(dir.path().join("a")).unwrap();
    assert_eq!(bytes, (0..THREADS * RECORDS).flat_map(record).collect::<Vec<_>>());
}

#[test]
fn the_limit_of_file_sizes_is_an_error_and_not_the_end_of_the_process() {
    let name = "posix::file::the_limit_of_file_sizes_is_an_error_and_not_the_end_of_the_process";
    if !in_a_process_with_file_limit(name, 4 * KIB) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = PosixFile::create(&dir.path().join("a"), false).unwrap();
    assert_eq!(file.write_some_at(4 * KIB - 3, b"12345").unwrap(), 3);
    for refused in [
        file.write_all_at(4 * KIB - 3, b"12345"),
        file.write_all_at(4 * KIB, b"1"),
        file.write_all_at(1 << 40, b"1"),
        file.set_size(4 * KIB + 1),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
    assert_eq!(file.size().unwrap(), 4 * KIB);
    file.set_size(KIB).unwrap();
    file.set_size(4 * KIB).unwrap();
}

/// NFS locks a file that is open for reading against writers only.
#[test]
fn a_file_to_be_replaced_is_locked_where_an_exclusive_lock_needs_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    PosixFile::create(&path, false).unwrap();
    let operation = (libc::LOCK_EX | libc::LOCK_NB).cast_unsigned().into();
    let is_exclusive = SeccompCondition::new(1, Dword, Eq, operation).unwrap();
    let replaced = std::thread::scope(|scope| {
        let on_nfs = || {
            let rule = SeccompRule::new(vec![is_exclusive]).unwrap();
            deny_if(libc::SYS_flock, vec![rule], Errno::BADF);
            lock_replaced(&path).unwrap()
        };
        scope.spawn(on_nfs).join().unwrap()
    });
    let write = || lock(PosixFile::open_rw(&path).unwrap(), &path, true);
    assert!(matches!(write().unwrap_err().kind(), striae::error::ErrorKind::Locked));
    drop(replaced);
    write().unwrap();
}
