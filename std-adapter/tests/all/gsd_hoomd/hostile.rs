//! Files that are as the schema wants them, and would take more memory than there is.

use crate::run::{output, refused};
use std::fs;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::{Format, Hoomd};
use striae::gsd::hoomd::{Error, Trajectory};
use striae_core::gsd::{self as core_gsd, Chunk, ChunkType, Version};
use striae_kit::piled::{chunk, file};
use tempfile::TempDir;

/// The names of a step and of so many logged quantities.
fn names(logs: u16) -> Vec<String> {
    let logs = (0..logs).map(|number| format!("log/{number:03}"));
    ["configuration/step".into()].into_iter().chain(logs).collect()
}

/// A trajectory with these chunks, in which number 0 is the step's name.
fn made(logs: u16, chunks: &[Chunk], data: &[u8]) -> (TempDir, Trajectory, u64) {
    let names = names(logs);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bytes = file("hoomd", Version::LAYER, &names, chunks, data);
    let folder = crate::in_memory();
    let path = folder.path().join("hostile.gsd");
    fs::write(&path, &bytes).unwrap();
    (folder, Trajectory::open(path).unwrap(), bytes.len() as u64)
}

const STEP: fn(u64) -> Chunk = |frame| chunk(frame, 0, ChunkType::U64, 1, 0);

/// 200 logs on one MiB, and frames that repeat them without a place in the file: 420 GB.
#[test]
fn series_that_frame_0_and_claimed_frames_multiply_are_refused_before_memory_is_taken() {
    let logs = (1..=200).map(|id| chunk(0, id, ChunkType::F64, 1 << 17, 0));
    let chunks: Vec<_> = [STEP(0)].into_iter().chain(logs).chain([STEP(2000)]).collect();
    let (_folder, trajectory, file_len) = made(200, &chunks, &vec![1; 1 << 20]);
    assert!(file_len < 1_100_000);
    let error = trajectory.logs().read().unwrap_err();
    let says = error.to_string();
    let ErrorKind::Gsd(Hoomd(error)) = error.kind() else { panic!("{error}") };
    let max = 1 << 28;
    assert_eq!(*error, Error::Series { frames: 2001, bytes: (2001 * 200) << 20, max });
    let text = "series of 2001 frames have 419640115200 bytes, must be at most 268435456 in a file \
                of this length: fewer frames or names at once can be had";
    assert!(says.ends_with(text), "{says}");
    // Some of it is as much as the file.
    assert_eq!(trajectory.logs().scalars().read().unwrap().len(), 1);
    let one = trajectory.logs().matching("log/007").frames(1998..2001).read().unwrap();
    assert_eq!(one[1].quantity.values.len(), 3 << 17);
    let range = 5..5;
    assert!(trajectory.logs().matching("log/00?").frames(range).read().is_ok());
}

/// Each frame's text is as long as the file, and frame 0's, which says what room is needed, has no
/// byte.
#[test]
fn texts_of_frames_that_share_bytes_are_refused_when_they_are_more_than_the_file() {
    let text = |frame| chunk(frame, 1, ChunkType::Character, 1 << 16, 0);
    let later = (1..300).map(text);
    let chunks: Vec<_> =
        [STEP(0), chunk(0, 1, ChunkType::Character, 0, 0)].into_iter().chain(later).collect();
    let (_folder, trajectory, file_len) = made(1, &chunks, &vec![b'a'; 1 << 16]);
    let error = trajectory.logs().read().unwrap_err();
    let ErrorKind::Gsd(Format(core_gsd::Error::Shared { bytes, file_len: len })) = *error.kind()
    else {
        panic!("{error}")
    };
    assert_eq!((bytes, len), (8 + (2 << 16), file_len));
    assert_eq!(trajectory.logs().frames(0..2).read().unwrap().len(), 2);
}

#[test]
fn a_frame_whose_chunks_share_bytes_is_refused_when_it_is_more_than_the_file() {
    let logs = |frame| (1..=200).map(move |id| chunk(frame, id, ChunkType::F64, 1 << 10, 0));
    let chunks: Vec<_> =
        [STEP(0)].into_iter().chain(logs(0)).chain([STEP(1)]).chain(logs(2)).collect();
    let (_folder, trajectory, file_len) = made(200, &chunks, &[1; 1 << 13]);
    for number in 0..3 {
        let frame = trajectory.frame(number).unwrap();
        let error = frame.read().unwrap_err();
        let ErrorKind::Gsd(Format(core_gsd::Error::Shared { bytes, file_len: len })) =
            *error.kind()
        else {
            panic!("{error}")
        };
        assert!(len == file_len && bytes > len && bytes <= len + (1 << 13), "{bytes} {len}");
        // One by one they are read.
        assert_eq!(frame.log("150").unwrap().unwrap().values.len(), 1 << 10);
    }
}

/// A list that has one name many times has one quantity of this name.
#[test]
fn a_quantity_whose_name_stands_many_times_is_read_once() {
    let names: Vec<_> = ["configuration/step"].into_iter().chain(["log/a"; 300]).collect();
    let log = |id, n| chunk(0, id, ChunkType::U8, n, 0);
    let chunks: Vec<_> =
        [STEP(0), log(1, 1 << 16)].into_iter().chain((2..=300).map(|id| log(id, 1))).collect();
    let bytes = file("hoomd", Version::LAYER, &names, &chunks, &[7; 1 << 16]);
    let folder = crate::in_memory();
    let path = folder.path().join("hostile.gsd");
    fs::write(&path, &bytes).unwrap();
    let trajectory = Trajectory::open(path).unwrap();
    let frame = trajectory.frame(0).unwrap();
    assert_eq!(frame.log_names().unwrap().len(), 1);
    let read = frame.read().unwrap();
    assert_eq!((read.log.len(), read.log[0].1.values.len()), (1, 1 << 16));
}

/// A frame number is a claim: 200 bytes do not make 2^40 turns.
#[test]
fn frames_that_nobody_wrote_take_no_time() {
    for hoomd in [false, true] {
        let frames = 1 << 40;
        let (_folder, trajectory, file_len) = made(0, &[STEP(0), STEP(frames - 1)], &[1; 8]);
        let path = trajectory.file().path().to_str().unwrap();
        let folder = crate::in_memory();
        let arrays = folder.path().join("arrays");
        let args = ["extract", path, arrays.to_str().unwrap(), "--hoomd"];
        if !hoomd {
            output(&args[..3]);
            continue;
        }
        let says = format!(
            "index.frame at offset 288 is {}, must be at most {}",
            frames - 1,
            file_len - 1
        );
        refused(&args, 1, &says);
        assert!(!arrays.exists());
    }
}

/// Only what is asked for is read, and must have one shape.
#[test]
fn a_quantity_that_varies_does_not_keep_others_from_being_printed() {
    let of = |frame, n| {
        [STEP(frame), chunk(frame, 1, ChunkType::F64, 1, 0), chunk(frame, 2, ChunkType::U8, n, 0)]
    };
    let (_folder, trajectory, _) = made(2, &[of(0, 3), of(1, 4)].concat(), &[0; 8]);
    let path = trajectory.file().path().to_str().unwrap();
    refused(&["log", path], 1, "chunk log/001 of frame 1 is 4 rows");
    refused(&["log", path, "00?"], 1, "chunk log/001 of frame 1 is 4 rows");
    let text = String::from_utf8(output(&["log", "--csv", path, "000"])).unwrap();
    assert_eq!(text, "step,000\n0,0.0\n0,0.0\n");
    refused(&["log", path, "000", "002"], 1, "frame 0 has no chunk log/002");
    let both = trajectory.logs().matching("log/000").matching("log/001").frames(0..1);
    assert_eq!(both.read().unwrap().len(), 3);
    // Frames that are not there are told, as by ls and extract.
    refused(&["log", path, "000", "--frames", "1..3"], 2, "there is no frame 2");
}
