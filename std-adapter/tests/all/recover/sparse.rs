//! Holes are not read, and stay holes.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::sion::ErrorKind::TooManyChunks;
use striae::sion::recover::{Doubt, Proof, Recover};
use striae::sion::{Builder, Durability};
use striae_core::endian::ByteOrder;
use striae_core::sion::recover::Certainty;

/// An unclosed file of `len` bytes with these bytes in it, and holes.
fn unclosed(dir: &Path, builder: Builder, len: u64, data: &[(u64, &[u8])]) -> PathBuf {
    let path = dir.join("a.sion");
    drop(builder.order(ByteOrder::Little).durability(Durability::None).create(&path).unwrap());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(len).unwrap();
    for (at, bytes) in data {
        file.write_all_at(bytes, *at).unwrap();
    }
    path
}

#[test]
fn a_sparse_terabyte_takes_as_long_as_its_data() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(4).fsblksize(4096).chunksize(4096);
    let (first, skip) = (4096, 4 * 4096);
    let last = (1 << 26) - 1; // the last block
    let data: [(u64, &[u8]); 3] = [
        (first + 17, b"task 0, chunk 0"),
        (first + 3 * skip + 4096, b"task 1, chunk 3"),
        (first + last * skip + 3 * 4096, b"task 3"),
    ];
    let path = unclosed(dir.path(), builder, 1 << 40, &data[..2]);
    let out = dir.path().join("out");
    let recovery = Recover::new().examine(&path).unwrap();
    let found: Vec<_> =
        recovery.tasks().map(|task| (task.recovered.blockcount, task.recovered.bytes)).collect();
    assert_eq!(found, [(1, 32), (4, 15), (1, 0), (1, 0)]);
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(fs::metadata(&out).unwrap().len(), first + 4 * skip + 8 * 4 * 5 + 4);
    assert!(fs::metadata(&out).unwrap().blocks() < 512, "holes were filled");

    // 2^26 chunks of 4 tasks have 2^28 block sizes: 2 GiB of META2, and no memory for it.
    let (at, bytes) = data[2];
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(bytes, at).unwrap_or(());
    let recovery = Recover::new().examine(&path).unwrap();
    assert_eq!(recovery.tasks().map(|task| task.recovered.blockcount).max(), Some(last + 1));
}

#[test]
fn chunks_without_number_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(1).fsblksize(1).chunksize(1);
    let path = unclosed(dir.path(), builder, 1 << 36, &[((1 << 36) - 1, b"x")]);
    let error = Recover::new().examine(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Sion(TooManyChunks { .. })), "{error}");

    // A record that says so.
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(1).fsblksize(1).chunksize(1).keyval(true);
    let mut header = [0; 16];
    header[0] = 1;
    header[8..].copy_from_slice(&(1u64 << 35).to_le_bytes());
    let path = unclosed(dir.path(), builder, 1 << 36, &[(1104, &header)]);
    let error = Recover::new().examine(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Sion(TooManyChunks { .. })), "{error}");
}

#[test]
fn holes_inside_streams_stay_holes() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(2).fsblksize(4096).chunksize(1 << 30);
    let chunk: u64 = 1 << 30;
    let data: [(u64, &[u8]); 3] =
        [(4096, b"front"), (4096 + chunk - 9, b"the end"), (4096 + chunk, b"other")];
    let path = unclosed(dir.path(), builder, 4096 + 2 * chunk, &data);
    let out = dir.path().join("out");
    let recovery = Recover::new().examine(&path).unwrap();
    recovery.write(&out, &|_| {}).unwrap();
    let bytes: Vec<_> = recovery.tasks().map(|task| task.recovered.bytes).collect();
    assert_eq!(bytes, [chunk - 2, 5]);
    assert!(fs::metadata(&out).unwrap().blocks() < 512, "holes were filled");
}

#[test]
fn a_meta2_that_is_a_hole_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(1).fsblksize(1).chunksize(1);
    let (first, chunks) = (1 << 16, 1u64 << 28); // no chunk shares a block with META1
    let start = first + chunks; // where a close puts META2
    let data: [(u64, &[u8]); 5] = [
        (20, &(first as u32).to_le_bytes()),
        (1084, &1u64.to_le_bytes()),
        (1092, &(chunks as u32).to_le_bytes()),
        (1096, &start.to_le_bytes()),
        (start, &chunks.to_le_bytes()),
    ];
    let path = unclosed(dir.path(), builder, start + 8 * (1 + chunks) + 4, &data);
    let judge = || Recover::new().examine(&path).unwrap().tasks().next().unwrap().recovered;
    let empty = judge();
    assert_eq!((empty.blockcount, empty.bytes), (chunks, 0));
    assert_eq!(empty.certainty, Certainty::AsFound(Proof::Meta2));

    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"x", first + chunks / 2).unwrap();
    let guess = judge();
    assert_eq!((guess.blockcount, guess.bytes), (chunks, 1));
    assert_eq!(guess.certainty, Certainty::Guess(Doubt::ZeroBlocksize));
}
