//! A child of fork(2) has the files of its parent, and drops them.
#![expect(unsafe_code, reason = "std cannot fork")]

use crate::*;
use std::io::Read;
use striae::direct::Writer;
use striae::posix::PosixFile;

/// The child drops what its parent has, and ends.
fn drop_in_child<T>(file: T) -> T {
    // SAFETY: the only thread of this process that does anything forks it; no other has a lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(file);
        // SAFETY: it takes a number.
        unsafe { libc::_exit(7) };
    }
    let mut status = 0;
    // SAFETY: `status` lives.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 7);
    file
}

/// A child that drops the writers of its parent writes nothing.
fn drop_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut writer = striae::gsd::Builder::new().create(&path).unwrap();
    writer.write("a", &[1_u8; 10], 1).unwrap();
    writer.end_frame().unwrap();
    assert!(!writer.is_forked());
    let before = std::fs::read(&path).unwrap();
    let mut writer = drop_in_child(writer);
    assert!(std::fs::read(&path).unwrap() == before, "it wrote nothing");
    let locked = striae::gsd::FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(locked.kind(), ErrorKind::Locked), "it unlocked nothing");
    writer.close().unwrap();
    assert_eq!(striae::gsd::File::open(&path).unwrap().frames(), 1);
    let path = folder.path().join("a");
    let file = PosixFile::create(&path, false).unwrap();
    let mut writer = Writer::new(file, Policy::Preferred).unwrap();
    writer.write_all_at(0, &[1; 5000]).unwrap();
    let mut writer = drop_in_child(writer);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "it flushed nothing");
    writer.sync().unwrap();
    assert!(std::fs::read(&path).unwrap() == [1; 5000]);
}

#[test]
#[ignore = "a process of its own, which forks"]
fn process() {
    let Some(_) = argument() else { return };
    let bytes = content(300_701);
    let made = made(&bytes);
    for top in Rung::ALL {
        let file = OpenOptions::new().top(top).max_io(4096).open(made.path()).unwrap();
        let (rung, mut random) = (file.rung(), Random(3));
        check_all(&file, &bytes, &mut random);
        // Reads of a stream that was left are under way.
        let mut left = file.stream([span(0, 300_000)], Order::Asked).unwrap();
        assert!(left.next_piece().unwrap().is_some());
        drop(left);
        let file = drop_in_child(file);
        check_all(&file, &bytes, &mut random);
        assert_eq!(file.rung(), rung, "{:?}", file.steps());
    }
    drop_writers();
    println!("forked: dropped");
}

#[test]
fn a_child_that_drops_a_file_takes_nothing_from_its_parent() {
    run(child("forked::process", "all"), &["forked: "]);
}

/// The KiB of this process's memory that are pinned.
fn pinned() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPin:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
#[ignore = "a process of its own, which forks and whose pinned memory is counted"]
fn pinning() {
    let Some(_) = argument() else { return };
    let made = made(&[]);
    made.as_file().set_len(20 << 20).unwrap(); // takes 32 MiB of memory
    let (before, whole) = (pinned(), span(0, 20 << 20));
    let file = DirectFile::open(made.path()).unwrap();
    let batches = [0; 3].map(|_| file.read_spans(&[whole]).unwrap());
    assert!(batches.iter().all(|batch| batch.get(0).unwrap().iter().all(|&byte| byte == 0)));
    let most = pinned() - before;
    assert!(most <= 32 << 10, "{most} KiB are pinned");
    let (mut end, writer) = io::pipe().unwrap();
    // SAFETY: the only thread of this process that does anything forks it; no other has a lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(writer);
        let _ = end.read(&mut [0]); // until the parent has ended, with the ring of the parent
        // SAFETY: it takes a number.
        unsafe { libc::_exit(0) };
    }
    assert!(child > 0);
    drop((batches, file));
    assert_eq!(pinned(), before);
    println!("forked: {most} KiB were pinned");
}

#[test]
fn memory_is_pinned_up_to_a_limit_and_until_its_file_is_dropped() {
    run(child("forked::pinning", "all"), &["forked: "]);
}
