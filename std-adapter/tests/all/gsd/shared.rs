//! Chunks that share bytes: what is read and written of them is no multiple of the file.

use super::refused;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use striae::Verify;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::{Damaged, Format};
use striae::gsd::convert::Convert;
use striae::gsd::recover::{Certainty, Loss, Recover};
use striae::gsd::verify::FindingKind;
use striae::gsd::{Extract, File};
use striae_core::gsd::{Chunk, ChunkType, Error, Version, checksums};
use striae_core::span::Span;
use striae_kit::piled::{chunk, data_at, file};
use tempfile::TempDir;

const LAYERS: [Version; 2] = [Version { major: 1, minor: 0 }, Version::LAYER];

/// Frames whose only chunks all lie on these many bytes.
const FRAMES: u64 = 200;
const LEN: u64 = 1 << 14;

fn put(dir: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join("shared.gsd");
    fs::write(&path, bytes).unwrap();
    path
}

fn names_in(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

fn plain(layer: Version) -> Vec<u8> {
    let chunks: Vec<_> = (0..FRAMES).map(|frame| chunk(frame, 0, ChunkType::U8, LEN, 0)).collect();
    file("test", layer, &["x"], &chunks, &vec![7; LEN as usize])
}

/// Sum and length that such an error names.
fn sums_of(error: &striae::Error) -> (u64, u64) {
    match *error.kind() {
        ErrorKind::Gsd(Format(Error::Shared { bytes, file_len })) => (bytes, file_len),
        _ => panic!("{error}"),
    }
}

#[test]
fn more_bytes_of_chunks_than_the_file_has_are_neither_converted_nor_extracted() {
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let bytes = plain(layer);
        let path = put(&dir, &bytes);
        let (old, out) = (File::open(&path).unwrap(), dir.path().join("out"));
        // The second chunk has no room, next to the index.
        let wanted = (2 * LEN, bytes.len() as u64);
        let error = Convert::new().run(&old, &out, &|_| {}).unwrap_err();
        let ErrorKind::Gsd(Damaged(finding)) = error.kind() else { panic!("{error}") };
        assert!(matches!(finding.what, FindingKind::Overlap { .. }), "{error}");
        assert_eq!(sums_of(&Extract::new().run(&old, &out, &|_| {}).unwrap_err()), wanted);
        assert_eq!(sums_of(&Extract::new().bytes(&old).unwrap_err()), wanted);
        assert_eq!(names_in(dir.path()), 1);
        // Nor is one of the frames that share them converted, but its bytes can be had.
        let one = Convert::new().frames(8..9, std::num::NonZeroU64::MIN);
        let error = one.run(&old, &out, &|_| {}).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Gsd(Damaged(_))), "{error}");
        let folder = dir.path().join("arrays");
        let extracted = Extract::new().frames(8..9).run(&old, &folder, &|_| {}).unwrap();
        assert_eq!(extracted.bytes, LEN);
    }
}

#[test]
fn the_program_says_what_is_too_much_and_what_helps() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = plain(Version::LAYER);
    let path = put(&dir, &bytes);
    let out = dir.path().join("out");
    let shared = format!(
        "chunks have {} bytes together, but the file has {}, so that some share bytes: verify tells \
         which, and fewer frames or names at once can be had",
        2 * LEN,
        bytes.len()
    );
    let overlaps = "must not overlap the chunk of slot 0 from";
    for (command, says) in [("convert", overlaps), ("extract", shared.as_str())] {
        refused(&[command, path.to_str().unwrap(), out.to_str().unwrap()], 1, says);
        assert_eq!(names_in(dir.path()), 1);
    }
}

/// As they fill the index of a striae writer.
#[test]
fn copies_of_the_last_entry_are_no_more_bytes() {
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let one = chunk(0, 0, ChunkType::U8, LEN, 0);
        let other = chunk(0, 1, ChunkType::U8, LEN, LEN);
        let chunks: Vec<_> = [one].into_iter().chain([other; 100]).collect();
        let data: Vec<u8> = (0..2 * LEN).map(|at| (at / LEN) as u8).collect();
        let path = put(&dir, &file("test", layer, &["x", "y"], &chunks, &data));
        let (old, out) = (File::open(&path).unwrap(), dir.path().join("out.gsd"));
        assert_eq!(Convert::new().run(&old, &out, &|_| {}).unwrap().bytes, 2 * LEN);
        let folder = dir.path().join("arrays");
        let extracted = Extract::new().run(&old, &folder, &|_| {}).unwrap();
        assert_eq!((extracted.files, extracted.bytes), (2, 2 * LEN));
        let array = fs::read(folder.join("y.npy")).unwrap();
        assert!(array.ends_with(&data[LEN as usize..]) && array.len() as u64 <= LEN + 128);
    }
}

/// These frames with checksums, each in its own place, which are right.
fn sealed() -> Vec<u8> {
    let names = ["x", std::str::from_utf8(checksums::NAME).unwrap()];
    let mut data = vec![7; LEN as usize];
    let x_crc = crc32c::crc32c(&data);
    let mut chunks = Vec::new();
    for frame in 0..FRAMES {
        let pair = [
            chunk(frame, 0, ChunkType::U8, LEN, 0),
            Chunk { n: 2, m: 2, ..chunk(frame, 1, ChunkType::U32, 4, data.len() as u64) },
        ];
        let at = data_at(Version::LAYER, &names, 2 * FRAMES as usize);
        let sealed_crc = |chunk: Chunk, crc| {
            let span = Span::new(at + chunk.span.offset(), chunk.span.len()).unwrap();
            Chunk { span, ..chunk }.to_raw().sealed_crc(crc, crc32c::crc32c_append)
        };
        let row = [0, sealed_crc(pair[0], x_crc)].map(u32::to_le_bytes).concat();
        let own = [1, sealed_crc(pair[1], crc32c::crc32c(&row))].map(u32::to_le_bytes).concat();
        data.extend([row, own].concat());
        chunks.extend(pair);
    }
    file("test", Version::LAYER, &names, &chunks, &data)
}

#[test]
fn verify_finds_shared_bytes_without_reading_them_for_each_chunk() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sealed();
    let (path, file_len) = (put(&dir, &bytes), bytes.len() as u64);
    let (mut kinds, read) = (Vec::new(), AtomicU64::new(0));
    let mut each = |finding: striae::gsd::verify::Finding| kinds.push(finding.what);
    let progress = |len| {
        read.fetch_add(len, Ordering::Relaxed);
    };
    let summary = Verify::new().progress(&progress).gsd(&path, &mut each).unwrap();
    assert!(FRAMES * LEN > 16 * file_len, "else this says nothing");
    let read = read.into_inner();
    assert!(read <= 16 * file_len && read > 8 * file_len, "{read} {file_len}");
    assert!(summary.checked > 0 && summary.checked < FRAMES);
    let shared =
        kinds.iter().filter(|kind| matches!(kind, FindingKind::Wrong(Error::Shared { .. })));
    assert_eq!(shared.count(), 1, "{kinds:?}");
    let overlaps = kinds.iter().filter(|kind| matches!(kind, FindingKind::Overlap { .. }));
    assert_eq!(overlaps.count() as u64, FRAMES - 1);
    assert_eq!(kinds.len() as u64, FRAMES, "nothing else is wrong with it");
}

#[test]
fn recover_saves_no_more_shared_bytes_than_it_compares() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = sealed();
    let (path, file_len) = (put(&dir, &bytes), bytes.len() as u64);
    let recovery = Recover::new().examine(&path).unwrap();
    assert_eq!(recovery.frames() + recovery.lost(), FRAMES);
    assert!(recovery.lost() > 0 && recovery.bytes() <= 16 * file_len && !recovery.is_complete());
    let lost = recovery.runs().filter(|run| !run.certainty.is_saved());
    assert!(lost.map(|run| run.certainty).eq([Certainty::Lost(Loss::Overlap)]));
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(File::open(&out).unwrap().frames(), recovery.frames());
}
