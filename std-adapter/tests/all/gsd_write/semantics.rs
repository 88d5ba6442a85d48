//! What calls do, and what they refuse.

use super::{Random, builder, check_frames, gsd, values, variant, write_frame};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use striae::Verify;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::Chunk;
use striae::gsd::{Builder, Element, File, FileWriter, OpenOptions, Reopen};
use striae_core::gsd::{ChunkType, Error as GsdError, State, Version};
use striae_kit::gsd_files::{image, with_image};

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(values: &[T]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    let chunk = file.write("a", values, 2).unwrap();
    assert_eq!((chunk.n as usize, chunk.m, chunk.kind), (values.len() / 2, 2, T::KIND));
    file.end_frame().unwrap();
    file.close().unwrap();
    let read = File::open(&path).unwrap();
    assert_eq!(read.read::<T>(&read.chunk(0, "a").unwrap()).unwrap(), values);
}

#[test]
fn values_of_all_types_are_read_as_they_were_written() {
    round_trip(&[0_u8, 1, 254, 255]);
    round_trip(&[0_u16, 1, 0x1234, u16::MAX]);
    round_trip(&[0_u32, 1, 0x1234_5678, u32::MAX]);
    round_trip(&[0_u64, 1, 0x1234_5678_9abc_def0, u64::MAX]);
    round_trip(&[0_i8, -1, i8::MIN, i8::MAX]);
    round_trip(&[0_i16, -2, i16::MIN, i16::MAX]);
    round_trip(&[0_i32, -3, i32::MIN, i32::MAX]);
    round_trip(&[0_i64, -4, i64::MIN, i64::MAX]);
    round_trip(&[0.5_f32, -1.25, f32::MIN_POSITIVE, f32::INFINITY]);
    round_trip(&[0.5_f64, -1.25, f64::MIN_POSITIVE, f64::NEG_INFINITY]);
    round_trip::<f64>(&[]);
}

#[test]
fn values_are_little_endian_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    let chunk = file.write("a", &[0x0102_0304_u32, 0x1112_1314], 1).unwrap();
    file.end_frame().unwrap();
    file.close().unwrap();
    let at = chunk.span.offset() as usize;
    assert_eq!(fs::read(&path).unwrap()[at..], [4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11]);
}

#[test]
fn text_is_a_column_of_characters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    let chunk = file.write_text("a", "häm").unwrap();
    assert_eq!((chunk.n, chunk.m, chunk.kind), (4, 1, ChunkType::Character));
    file.end_frame().unwrap();
    file.close().unwrap();
    let read = File::open(&path).unwrap();
    assert_eq!(read.read_text(&read.chunk(0, "a").unwrap()).unwrap(), "häm");
}

#[test]
fn a_chunk_that_comes_in_pieces_is_one_chunk_and_one_that_is_dropped_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    for checksums in [false, true] {
        let builder = builder().force(true).checksums(checksums);
        let mut file = builder.create(&path).unwrap();
        let bytes: Vec<u8> = values(0, 30_000).iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut left = file.begin_chunk("left", ChunkType::U8, 1).unwrap();
        left.write_all(&[7; 3000]).unwrap();
        drop(left);
        let mut chunk = file.begin_chunk("a", ChunkType::U32, 3).unwrap();
        assert!(chunk.is_empty());
        for piece in bytes.chunks(1777) {
            chunk.write_all(piece).unwrap();
        }
        assert_eq!(chunk.len(), bytes.len() as u64);
        let chunk = chunk.finish().unwrap();
        assert_eq!((chunk.n, chunk.m), (10_000, 3));
        let mut half = file.begin_chunk("half", ChunkType::U32, 3).unwrap();
        half.write_all(&[7; 16]).unwrap();
        let error = half.finish().unwrap_err();
        assert_eq!(gsd(&error), GsdError::Rows { len: 16, want: 12 });
        file.write("b", &[1_u8], 1).unwrap();
        file.end_frame().unwrap();
        file.close().unwrap();
        let read = File::open(&path).unwrap();
        assert_eq!(read.read::<u32>(&read.chunk(0, "a").unwrap()).unwrap(), values(0, 30_000));
        assert_eq!(read.read::<u8>(&read.chunk(0, "b").unwrap()).unwrap(), [1]);
        assert!(read.find(0, "left").unwrap().is_none() && read.find(0, "half").unwrap().is_none());
    }
}

#[test]
fn what_no_file_can_have_is_refused_and_named_and_leaves_the_frame_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    write_frame(&mut file).unwrap();
    file.write("a", &[1_u8], 1).unwrap();
    let errors = [
        file.write("", &[1_u8], 1).unwrap_err(),
        file.write("a\0b", &[1_u8], 1).unwrap_err(),
        file.write("a", &[1_u8], 1).unwrap_err(),
        file.write("b", &[1_u8], 0).unwrap_err(),
        file.write("b", &[1_u8; 4], 3).unwrap_err(),
        file.write_bytes("b", ChunkType::F64, 1, &[1; 12]).unwrap_err(),
        file.begin_chunk("a", ChunkType::F64, 1).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error.kind(), ErrorKind::Gsd(Chunk { frame: 1, .. })), "{error}");
        assert!(gsd(&error).blames_caller(), "{error}");
        assert_eq!(error.path(), path);
    }
    file.end_frame().unwrap();
    file.close().unwrap();
    let read = File::open(&path).unwrap();
    assert_eq!(read.chunks_of(1).unwrap().count(), 1);
    assert_eq!(read.read::<u8>(&read.chunk(1, "a").unwrap()).unwrap(), [1]);
}

#[test]
fn a_file_is_not_closed_inside_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    file.write("a", &[1_u8], 1).unwrap();
    assert_eq!(gsd(&file.close().unwrap_err()), GsdError::OpenFrame { frame: 0 });
    file.end_frame().unwrap();
    file.close().unwrap();
    file.close().unwrap();
    assert_eq!(file.frames(), 1);
    let errors = [
        file.write("a", &[1_u8], 1).map(drop),
        file.write("b", &[1_u8], 1).map(drop),
        file.begin_chunk("a", ChunkType::U8, 1).map(drop),
        file.end_frame().map(drop),
        file.commit(),
        file.truncate(),
        file.upgrade(),
    ];
    for error in errors {
        assert!(matches!(error.unwrap_err().kind(), ErrorKind::Closed));
    }
}

#[test]
fn only_a_commit_is_seen_and_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    let mut reader = File::open(&path).unwrap();
    for commits in 1..50 {
        for _ in 0..commits % 7 {
            write_frame(&mut file).unwrap();
        }
        let before = reader.frames();
        reader.refresh().unwrap();
        assert_eq!(reader.frames(), before);
        file.commit().unwrap();
        reader.refresh().unwrap();
        assert_eq!(reader.frames(), file.frames());
    }
    let committed = file.frames();
    write_frame(&mut file).unwrap();
    drop(file);
    check_frames(&path, committed);
    assert_eq!(FileWriter::reopen(&path).unwrap().frames(), committed);
}

#[test]
fn layer_1_is_written_and_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let version = Version { major: 1, minor: 0 };
    let mut file = builder().layer(version).create(&path).unwrap();
    assert_eq!(file.version(), version);
    write_frame(&mut file).unwrap();
    let error = gsd(&file.write_text("text", "x").unwrap_err());
    assert!(matches!(error, GsdError::Layer { kind: Some(ChunkType::Character), .. }));
    let error = gsd(&file.write("x".repeat(64), &[1_u8], 1).unwrap_err());
    assert!(matches!(error, GsdError::BadName(_)));
    file.commit().unwrap();
    check_frames(&path, 1);
    write_frame(&mut file).unwrap();
    file.upgrade().unwrap();
    assert_eq!(file.version(), Version::LAYER);
    check_frames(&path, 2);
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    check_frames(&path, 3);
}

#[test]
fn a_truncated_file_is_empty_and_can_be_filled_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    let empty = fs::metadata(&path).unwrap().len();
    for _ in 0..3 {
        for _ in 0..200 {
            write_frame(&mut file).unwrap();
        }
        file.commit().unwrap();
        check_frames(&path, 200);
        write_frame(&mut file).unwrap();
        file.truncate().unwrap();
        check_frames(&path, 0);
        assert_eq!(file.frames(), 0);
        assert!(fs::metadata(&path).unwrap().len() <= 2 * empty);
    }
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    check_frames(&path, 1);
}

#[test]
fn the_file_is_the_same_whatever_is_gathered() {
    let folder = tempfile::tempdir().unwrap();
    let write = |buffer: usize| {
        let path = folder.path().join(format!("{buffer}.gsd"));
        let mut file = builder().buffer(buffer).align(16).create(&path).unwrap();
        for step in 0..150 {
            write_frame(&mut file).unwrap();
            if step == 70 {
                file.write("long", &values(1, 40_000), 1).unwrap();
            }
            if step % 13 == 5 {
                file.commit().unwrap();
            }
        }
        file.close().unwrap();
        fs::read(path).unwrap()
    };
    let expected = write(0);
    for buffer in [1, 100, 4096, 1 << 20] {
        assert!(write(buffer) == expected, "{buffer}");
    }
}

#[test]
fn a_frame_may_have_all_names_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    for i in 0..65_535_u32 {
        file.write(format!("{i}"), &[i], 1).unwrap();
    }
    let error = gsd(&file.write("more", &[1_u8], 1).unwrap_err());
    assert_eq!(error, GsdError::NamesFull);
    file.end_frame().unwrap();
    file.close().unwrap();
    let read = File::open(&path).unwrap();
    assert_eq!(read.chunks().count(), 65_535);
    let chunk = read.chunk(0, "65534").unwrap();
    assert_eq!(read.read::<u32>(&chunk).unwrap(), [65_534]);
    let mut again = Reopen::new().open(&path).unwrap();
    again.write("65534", &[1_u32], 1).unwrap();
    again.end_frame().unwrap();
    again.close().unwrap();
}

/// As a power cut leaves it that comes behind the only sync of a commit.
#[test]
fn a_commit_of_one_sync_is_there_before_its_header_is() {
    for buffer in [0, 1 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let (path, cut) = (folder.path().join("a.gsd"), folder.path().join("cut.gsd"));
        let mut file = Builder::new().one_sync(true).buffer(buffer).create(&path).unwrap();
        let mut before = fs::read(&path).unwrap();
        for frames in 1..12 {
            write_frame(&mut file).unwrap();
            file.commit().unwrap();
            let behind = fs::read(&path).unwrap();
            fs::write(&cut, with_image(&behind, &image(&before))).unwrap();
            before = behind;
            if frames == 1 {
                continue; // it has new names, which take two syncs
            }
            assert!(matches!(File::open(&cut).unwrap().state(), State::Ahead(_)), "{frames}");
            check_frames(&cut, frames);
            let mut next = FileWriter::reopen(&cut).unwrap();
            write_frame(&mut next).unwrap();
            next.close().unwrap();
            check_frames(&cut, frames + 1);
        }
    }
}

#[test]
fn a_discarded_chunk_is_in_no_frame_and_in_no_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(31);
    for checksums in [false, true] {
        let path = folder.path().join(format!("{checksums}.gsd"));
        let mut file = variant(checksums, 1, 1 << 12).builder().create(&path).unwrap();
        let mut expected = Vec::new();
        for _ in 0..50 {
            let mut frame = BTreeMap::new();
            for _ in 0..random.below(12) {
                let name = format!("name {}", random.below(8));
                let value = random.below(1 << 20);
                assert_eq!(file.discard_chunk(&name), frame.remove(&name).is_some());
                if random.below(3) > 0 {
                    file.write(&name, &[value], 1).unwrap();
                    frame.insert(name, value);
                }
            }
            file.end_frame().unwrap();
            expected.push(frame);
        }
        file.close().unwrap();
        assert!(!file.discard_chunk("name 1"));
        assert!(Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound());
        let read = OpenOptions::new().checked(true).open(&path).unwrap();
        for (number, frame) in (0..).zip(expected) {
            for name in (0..8).map(|name| format!("name {name}")) {
                let chunk = read.find(number, &name).unwrap();
                let value = chunk.map(|chunk| read.read::<u64>(&chunk).unwrap()[0]);
                assert_eq!(value, frame.get(&name).copied(), "{name} of frame {number}");
            }
        }
    }
}

#[test]
fn bytes_are_read_into_memory_of_their_length_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    file.write("a", &[1_u16, 2, 3], 1).unwrap();
    file.end_frame().unwrap();
    file.close().unwrap();
    let read = File::open(&path).unwrap();
    let chunk = read.chunk(0, "a").unwrap();
    let mut bytes = [0; 7];
    read.read_bytes_into(&chunk, &mut bytes[..6]).unwrap();
    assert_eq!(bytes, [1, 0, 2, 0, 3, 0, 0]);
    for wrong in [&mut bytes[..5], &mut [0; 7]] {
        let error = read.read_bytes_into(&chunk, wrong).unwrap_err();
        assert!(matches!(gsd(&error), GsdError::Rows { want: 6, .. }));
    }
}
