//! `copy`.

use super::in_a_process_with_file_limit;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use striae::copy::{Copier, CopyError, Place};
use striae::direct::OpenOptions;
use striae::posix::PosixFile;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use tempfile::TempDir;

const KIB: u64 = 1024;

fn span(offset: u64, len: u64) -> Span {
    Span::new(offset, len).unwrap()
}

fn usize_of(n: u64) -> usize {
    usize::try_from(n).unwrap()
}

/// A byte that depends on its place, and is never zero.
fn byte(offset: u64) -> u8 {
    u8::try_from(offset % 251 + 1).unwrap()
}

/// A file of `len` bytes that holds data in `extents` only, and its contents.
fn sparse(path: &Path, len: u64, extents: &[Span]) -> (PosixFile, Vec<u8>) {
    let file = PosixFile::create(path, true).unwrap();
    file.set_size(len).unwrap();
    for extent in extents {
        let bytes: Vec<_> = (extent.offset()..extent.end()).map(byte).collect();
        file.write_all_at(extent.offset(), &bytes).unwrap();
    }
    file.sync().unwrap(); // blocks are counted when they have a place
    let contents = fs::read(path).unwrap();
    (file, contents)
}

/// Through the page cache, and past it.
fn copiers() -> [Copier; 2] {
    let options = OpenOptions::new().max_io(20_000).memory(100_000);
    [None, Some(options)].map(|direct| Copier::new().direct(direct))
}

fn allocated(file: &PosixFile, path: &Path) -> u64 {
    file.sync().unwrap();
    fs::metadata(path).unwrap().blocks() * 512
}

/// Two folders: on one file system, that of the build, and on two if this machine has another one.
fn folders() -> Vec<(TempDir, TempDir)> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut pairs = vec![(dir_in(built), dir_in(built))];
    let memory = ["/dev/shm", "/run"].into_iter().find_map(|dir| tempfile::tempdir_in(dir).ok());
    let memory = memory.into_iter().flat_map(|dir| {
        let here = dir.path().parent().unwrap().to_owned();
        [(dir, dir_in(built)), (dir_in(built), dir_in(&here))]
    });
    pairs.extend(memory);
    pairs
}

fn dir_in(parent: &Path) -> TempDir {
    tempfile::tempdir_in(parent).unwrap()
}

/// Copies with and without looking at the bytes, and compares all that can be seen of it.
fn copies_right(from_dir: &Path, to_dir: &Path, len: u64, extents: &[Span], part: Span, to: u64) {
    let (source, contents) = sparse(&from_dir.join("from"), len, extents);
    let expected = &contents[usize_of(part.offset())..usize_of(part.end())];
    let source_blocks = allocated(&source, &from_dir.join("from"));
    let all = [(true, true), (true, false), (false, true), (false, false)];
    for (zeros, seeing) in all {
        for mut copier in copiers() {
            let path = to_dir.join("to");
            let target = PosixFile::create(&path, true).unwrap();
            if !zeros {
                target.write_all_at(0, &vec![0xee; usize_of(len)]).unwrap();
            }
            let place = Place { file: &target, offset: to, zeros };
            let (told, seen) = (Cell::new(0), RefCell::new(Vec::new()));
            let progress = |n| told.set(told.get() + n);
            if seeing {
                let mut see = |bytes: &[u8]| seen.borrow_mut().extend_from_slice(bytes);
                copier.copy_seen(&source, part, &place, &progress, &mut see).unwrap();
                assert_eq!(seen.take(), expected);
            } else {
                copier.copy(&source, part, &place, &progress).unwrap();
            }
            assert_eq!(told.get(), part.len());
            let size = target.size().unwrap().max(to + part.len());
            target.set_size(size).unwrap();

            let copied = fs::read(&path).unwrap();
            let (before, rest) = copied.split_at(usize_of(to));
            let (copied, behind) = rest.split_at(expected.len());
            assert_eq!(copied, expected);
            let around = if zeros { 0 } else { 0xee };
            let old = before.iter().take(usize_of(len)).chain(behind);
            assert!(old.clone().all(|&byte| byte == around), "a neighbour was changed");
            if zeros {
                // Each extent may begin in another place of its block than before. A part that is
                // shorter than a block is copied without a look for holes: it may touch two.
                let count = u64::try_from(extents.len()).unwrap() + 2;
                let most = source_blocks + count * target.block_size().unwrap();
                assert!(allocated(&target, &path) <= most, "a hole was filled");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_has_the_bytes_and_the_holes_of_its_source(
        extents in prop::collection::vec((0u64..400 * KIB, 1u64..40 * KIB), 0..6),
        (a, b) in (0u64..440 * KIB, 0u64..440 * KIB),
        to in prop_oneof![Just(0u64), Just(4 * KIB), 0u64..100 * KIB],
    ) {
        let extents: Vec<_> = extents.into_iter().map(|(at, len)| span(at, len)).collect();
        for (from_dir, to_dir) in folders() {
            let part = span(a.min(b), a.abs_diff(b));
            copies_right(from_dir.path(), to_dir.path(), 440 * KIB, &extents, part, to);
        }
    }
}

/// Where no block of the source has a place, and the copy of the part lies in two blocks.
#[test]
fn a_part_of_a_hole_that_is_shorter_than_a_block_takes_two_blocks_at_most() {
    for (from_dir, to_dir) in folders() {
        copies_right(from_dir.path(), to_dir.path(), 440 * KIB, &[], span(228_195, 4095), 2);
    }
}

#[test]
fn more_than_one_piece_is_copied_and_progress_is_told_of_each() {
    let dir = tempfile::tempdir().unwrap();
    let len = 20 << 20;
    let (source, contents) = sparse(&dir.path().join("from"), len, &[span(0, len)]);
    for mut copier in copiers() {
        let target = PosixFile::create(&dir.path().join("to"), true).unwrap();
        let place = Place { file: &target, offset: 0, zeros: true };
        let told = RefCell::new(Vec::new());
        let progress = |n| told.borrow_mut().push(n);
        copier.copy(&source, span(0, len), &place, &progress).unwrap();
        assert!(told.borrow().iter().all(|&n| n <= 8 << 20), "{told:?}");
        assert_eq!(told.borrow().iter().sum::<u64>(), len);
        assert!(fs::read(dir.path().join("to")).unwrap() == contents);
    }
}

#[test]
fn a_huge_hole_costs_neither_time_nor_space() {
    let dir = tempfile::tempdir().unwrap();
    let len = 1 << 33;
    let source = PosixFile::create(&dir.path().join("from"), false).unwrap();
    source.set_size(len).unwrap();
    source.write_all_at(len - 5, b"12345").unwrap();
    for zeros in [true, false] {
        let target = PosixFile::create(&dir.path().join("to"), true).unwrap();
        target.set_size(len).unwrap();
        let place = Place { file: &target, offset: 0, zeros };
        Copier::new().copy(&source, span(0, len), &place, &|_| {}).unwrap();
        let mut end = [0; 5];
        target.read_exact_at(len - 5, &mut end).unwrap();
        assert_eq!(&end, b"12345");
        assert!(allocated(&target, &dir.path().join("to")) < 1 << 20);
    }
}

#[test]
fn a_source_that_ends_early_is_told_and_where() {
    for (from_dir, to_dir) in folders() {
        let extents = [span(0, 10 * KIB), span(64 * KIB, 5)];
        for len in [0, 100, 8 * KIB, 12 * KIB, 40 * KIB, 64 * KIB + 5, 70 * KIB] {
            let (source, contents) = sparse(&from_dir.path().join("from"), 128 * KIB, &extents);
            source.set_size(len).unwrap();
            for part in [span(0, len + 1), span(0, 100 * KIB), span(90 * KIB, 1)] {
                for mut copier in copiers() {
                    let target = PosixFile::create(&to_dir.path().join("to"), true).unwrap();
                    let place = Place { file: &target, offset: 0, zeros: true };
                    let copied = copier.copy(&source, part, &place, &|_| {});
                    let Err(CopyError::Ended { offset }) = copied else {
                        panic!("{len} {part:?}: {copied:?}")
                    };
                    assert_eq!(offset, len.max(part.offset()));
                    target.set_size(offset - part.offset()).unwrap();
                    let front = &contents[usize_of(part.offset())..usize_of(offset)];
                    assert_eq!(fs::read(to_dir.path().join("to")).unwrap(), front);
                }
            }
        }
    }
}

#[test]
fn the_file_that_is_to_blame_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let (source, _) = sparse(&from, 64 * KIB, &[span(0, 64 * KIB)]);
    fs::write(&to, "").unwrap();
    let target = PosixFile::open(&to).unwrap(); // for reading only
    let place = Place { file: &target, offset: 0, zeros: true };
    let error = Copier::new().copy(&source, span(0, 64 * KIB), &place, &|_| {}).unwrap_err();
    assert!(matches!(error, CopyError::Write(_)), "{error:?}");
    assert_eq!(error.of_files(&from, &to).path(), to);

    let target = PosixFile::open_rw(&to).unwrap();
    let place = Place { file: &target, offset: 0, zeros: true };
    let error = Copier::new().copy(&source, span(0, 65 * KIB), &place, &|_| {}).unwrap_err();
    assert!(matches!(error, CopyError::Ended { .. }), "{error:?}");
    assert_eq!(error.of_files(&from, &to).path(), from);
}

#[test]
fn the_limit_of_file_sizes_ends_a_copy_and_not_the_process() {
    let name = "posix::copy::the_limit_of_file_sizes_ends_a_copy_and_not_the_process";
    if !in_a_process_with_file_limit(name, 64 * KIB) {
        return;
    }
    for (from_dir, to_dir) in folders() {
        let (source, contents) = sparse(&from_dir.path().join("from"), 0, &[span(0, 60 * KIB)]);
        let [cached, direct] = copiers();
        let [cached_too, direct_too] = copiers();
        let all = [(true, cached), (false, cached_too), (true, direct), (false, direct_too)];
        for (seeing, mut copier) in all {
            let target = PosixFile::create(&to_dir.path().join("to"), true).unwrap();
            let place = Place { file: &target, offset: 10 * KIB, zeros: true };
            let part = span(0, 60 * KIB);
            let copied = match seeing {
                true => copier.copy_seen(&source, part, &place, &|_| {}, &mut |_| {}),
                false => copier.copy(&source, part, &place, &|_| {}),
            };
            let Err(CopyError::Write(error)) = copied else { panic!("{copied:?}") };
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            let bytes = fs::read(to_dir.path().join("to")).unwrap();
            assert_eq!(bytes[usize_of(10 * KIB)..], contents[..usize_of(54 * KIB)]);
        }
    }
}

/// Room that is asked for ahead counts, too, on some file systems.
#[test]
fn the_limit_of_file_sizes_ends_a_long_copy_and_not_the_process() {
    let name = "posix::copy::the_limit_of_file_sizes_ends_a_long_copy_and_not_the_process";
    if !in_a_process_with_file_limit(name, 3072 * KIB) {
        return;
    }
    for (from_dir, to_dir) in folders() {
        let (source, contents) = sparse(&from_dir.path().join("from"), 0, &[span(0, 2048 * KIB)]);
        for mut copier in copiers() {
            let target = PosixFile::create(&to_dir.path().join("to"), true).unwrap();
            let place = Place { file: &target, offset: 2048 * KIB, zeros: true };
            let copied = copier.copy(&source, span(0, 2048 * KIB), &place, &|_| {});
            let Err(CopyError::Write(error)) = copied else { panic!("{copied:?}") };
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            let bytes = fs::read(to_dir.path().join("to")).unwrap();
            let copied = &bytes[usize_of(2048 * KIB).min(bytes.len())..];
            let of_source = contents.iter().zip(copied);
            assert!(of_source.clone().all(|(old, new)| new == old || *new == 0));
        }
    }
}

/// What one writes directly and another through the page cache lie side by side, in one block.
#[test]
fn threads_that_copy_to_neighbouring_places_do_not_undo_each_other() {
    let dir = dir_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let (lens, mut parts, mut at) = ([70_001, 20_480, 33_333, 131_072, 16_385], Vec::new(), 7);
    for len in lens.into_iter().cycle().take(60) {
        parts.push(span(at, len));
        at += len;
    }
    let (source, contents) = sparse(&dir.path().join("from"), at, &[span(0, at)]);
    for turn in 0..4 {
        let target = PosixFile::create(&dir.path().join("to"), true).unwrap();
        let next = std::sync::Mutex::new(parts.iter());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (source, target, next) = (&source, &target, &next);
                scope.spawn(move || {
                    let [cached, direct] = copiers();
                    let mut copier = if (thread + turn) % 4 == 0 { cached } else { direct };
                    while let Some(&part) = { next.lock().unwrap().next() } {
                        let place = Place { file: target, offset: part.offset(), zeros: true };
                        copier.copy(source, part, &place, &|_| {}).unwrap();
                    }
                });
            }
        });
        assert!(fs::read(dir.path().join("to")).unwrap()[7..] == contents[7..]);
    }
}
