//! What is written anew has the same frames, and checked reading believes only what is proven.

use super::*;
use made::frames_of;
use std::num::NonZeroU64;
use striae::Verify;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::Chunk;
use striae::gsd::convert::Convert;
use striae::gsd::{File, OpenOptions};
use striae_core::gsd::{ChunkType, Version};

fn every(step: u64) -> NonZeroU64 {
    NonZeroU64::new(step).unwrap()
}

/// Converts, and sees to it that the result is sound; its path.
fn converted(from: &Path, dir: &TempDir, convert: &Convert) -> PathBuf {
    let out = dir.path().join("out.gsd");
    convert
        .clone()
        .output(striae::Output::new().force(true))
        .run(&File::open(from).unwrap(), &out, &|_| {})
        .unwrap();
    let mut findings = Vec::new();
    let summary = Verify::new().gsd(&out, &mut |finding| findings.push(finding)).unwrap();
    assert!(summary.is_sound(), "{}: {findings:?}", from.display());
    out
}

#[test]
fn every_file_of_gsd_has_the_same_frames_when_it_is_written_anew() {
    let dir = crate::in_memory();
    for path in golden_files("v") {
        let old = File::open(&path).unwrap();
        let frames = frames_of(&path).unwrap();
        let plain = Convert::new();
        for (convert, align) in [
            (plain.clone(), 1),
            (plain.clone().checksums(true), 1),
            (plain.clone().align(4096), 4096),
            (plain.upgrade(true).checksums(true).align(64), 64),
        ] {
            let out = converted(&path, &dir, &convert);
            assert_eq!(frames_of(&out).unwrap(), frames, "{}: {convert:?}", path.display());
            let new = File::open(&out).unwrap();
            let (a, b) = (old.header(), new.header());
            assert_eq!(a.application, b.application);
            assert_eq!((a.schema, a.schema_version), (b.schema, b.schema_version));
            for chunk in new.chunks().map(Result::unwrap).filter(|chunk| chunk.n > 0) {
                assert_eq!(chunk.span.offset() % align, 0, "{}: {chunk:?}", path.display());
            }
        }
    }
}

#[test]
fn a_layer_is_kept_unless_it_shall_be_another() {
    let dir = crate::in_memory();
    let v1 = golden_dir().join("v10_all_types.gsd");
    let kept = File::open(converted(&v1, &dir, &Convert::new())).unwrap();
    assert_eq!(kept.header().version, Version { major: 1, minor: 0 });
    assert_eq!(kept.header().names.units, 128, "gsd 1.10 makes no list longer than its own");
    let upgraded = File::open(converted(&v1, &dir, &Convert::new().upgrade(true))).unwrap();
    assert_eq!(upgraded.header().version, Version::LAYER);
}

#[test]
fn checksums_are_made_kept_or_dropped_as_is_asked_for() {
    let dir = crate::in_memory();
    let made = Made::new(Shape { frames: 20, ..Shape::default() });
    let (_old, path) = file_of(&made.bytes);
    for (convert, is_sealed) in [
        (Convert::new(), true),
        (Convert::new().checksums(true), true),
        (Convert::new().checksums(false), false),
    ] {
        let out = converted(&path, &dir, &convert);
        assert_eq!(frames_of(&out).unwrap(), made.frames);
        let summary = Verify::new().gsd(&out, &mut |_| {}).unwrap();
        assert_eq!(summary.checked > 0, is_sealed, "{convert:?}");
    }
}

#[test]
fn frames_are_chosen_and_numbered_anew() {
    let dir = crate::in_memory();
    let made = Made::new(Shape { frames: 30, ..Shape::default() });
    let (_old, path) = file_of(&made.bytes);
    for (start, end, step) in [(0, 30, 1), (3, 4, 1), (5, 30, 7), (0, 30, 29), (10, 10, 1)] {
        let out = converted(&path, &dir, &Convert::new().frames(start..end, every(step)));
        let wanted: Vec<_> =
            (start..end).step_by(step as usize).map(|i| made.frames[i as usize].clone()).collect();
        assert_eq!(frames_of(&out).unwrap(), wanted, "{start}..{end}:{step}");
    }
    let file = File::open(&path).unwrap();
    let behind = Convert::new().frames(0..31, every(1)).run(&file, &dir.path().join("x"), &|_| {});
    assert!(matches!(behind.unwrap_err().kind(), ErrorKind::Gsd(_)));
    // Frames without chunks are frames.
    let sparse = golden_dir().join("v21_sparse_chunks.gsd");
    let out = converted(&sparse, &dir, &Convert::new().frames(1..12, every(2)));
    let frames = frames_of(&sparse).unwrap();
    let wanted: Vec<_> = (1..12).step_by(2).map(|i| frames[i].clone()).collect();
    let got = frames_of(&out).unwrap();
    assert_eq!(got, wanted[..got.len()]);
    assert!(wanted[got.len()..].iter().all(|frame| frame.is_empty()));
}

#[test]
fn what_is_dead_is_left_out_and_a_second_time_changes_nothing() {
    let dir = crate::in_memory();
    let path = golden_dir().join("v21_realloc_500_flush.gsd");
    let once = converted(&path, &dir, &Convert::new());
    let len = fs::metadata(&once).unwrap().len();
    assert!(len < fs::metadata(&path).unwrap().len());
    let copy = dir.path().join("copy.gsd");
    fs::rename(&once, &copy).unwrap();
    let twice = converted(&copy, &dir, &Convert::new());
    assert_eq!(fs::metadata(&twice).unwrap().len(), len);
}

#[test]
fn long_chunks_are_copied_whole_with_and_without_checksums() {
    let dir = crate::in_memory();
    let path = dir.path().join("long.gsd");
    let values: Vec<u32> = (0..1_000_003_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let mut writer = striae::gsd::Builder::new().checksums(true).create(&path).unwrap();
    for _ in 0..2 {
        writer.write("long", &values, 1).unwrap();
        writer.write("zeros", &vec![0_u8; 3 << 20], 1).unwrap();
        writer.write("short", &[1_u8, 2, 3], 1).unwrap();
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    for convert in [Convert::new(), Convert::new().checksums(false), Convert::new().align(4096)] {
        let out = converted(&path, &dir, &convert);
        assert_eq!(frames_of(&out).unwrap(), frames_of(&path).unwrap());
    }
}

#[test]
fn data_that_are_not_as_their_checksum_says_are_not_written_anew() {
    let made = Made::new(Shape::small());
    let (dir, path) = file_of(&made.bytes);
    let file = File::open(&path).unwrap();
    let chunk = file.chunk(1, "tag").unwrap();
    assert_eq!(chunk.kind, ChunkType::U8);
    let mut bytes = made.bytes;
    bytes[chunk.span.offset() as usize] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let out = dir.path().join("out.gsd");
    let refused = Convert::new().run(&file, &out, &|_| {}).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Gsd(Chunk { frame: 1, .. })), "{refused}");
    assert!(!out.exists());
    Convert::new().checksums(false).run(&file, &out, &|_| {}).unwrap();
}

/// Nothing but an error, or what was written: of every bit of a file with checksums.
#[test]
fn checked_reading_gives_what_was_written_or_an_error_whatever_bit_is_wrong() {
    let made = Made::new(Shape::small());
    let (mut right, mut refused) = (0, 0);
    for bit in (0..made.bytes.len() * 8).step_by(3) {
        let mut bytes = made.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (_dir, path) = file_of(&bytes);
        match read_checked(&path) {
            Ok(frames) => {
                assert_eq!(frames, made.frames, "bit {} of byte {}", bit % 8, bit / 8);
                right += 1;
            }
            Err(_) => refused += 1,
        }
    }
    println!("{right} right, {refused} refused");
    assert!(refused > 1000);
}

fn read_checked(path: &Path) -> Result<Vec<made::Frame>, striae::Error> {
    let file = OpenOptions::new().attempts(1).checked(true).open(path)?;
    let mut frames = Vec::new();
    for frame in 0..file.frames() {
        let mut read = made::Frame::new();
        for name in ["position", "step", "tag"] {
            if let Some(chunk) = file.find(frame, name)? {
                let bytes = file.read_bytes(&chunk)?;
                read.insert(name.as_bytes().to_vec(), (chunk.kind, chunk.n, chunk.m, bytes));
            }
        }
        frames.push(read);
    }
    Ok(frames)
}

#[test]
fn checked_reading_of_a_sound_file_reads_it_all() {
    let made = Made::new(Shape { frames: 50, commit: 9, ..Shape::default() });
    let (_dir, path) = file_of(&made.bytes);
    assert_eq!(read_checked(&path).unwrap(), made.frames);
    for path in golden_files("v") {
        OpenOptions::new().checked(true).open(&path).unwrap();
    }
}
