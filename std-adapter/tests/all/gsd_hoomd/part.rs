//! A part of a trajectory has the same frames as the whole.

use super::golden::expected;
use super::golden_dir;
use super::made::{Trajectory as Made, frames_of};
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::Hoomd;
use striae::gsd::File;
use striae::gsd::convert::Convert;
use striae::gsd::hoomd::{Error, Trajectory};
use striae_core::gsd::{ChunkType, Version};
use striae_kit::adapter::Random;
use tempfile::TempDir;

/// Some frames of a file: the new one.
fn part(from: &Path, folder: &TempDir, frames: (u64, u64, u64)) -> Result<PathBuf, striae::Error> {
    let out = folder.path().join("part.gsd");
    let (start, end, step) = frames;
    let convert = Convert::new().frames(start..end, NonZeroU64::new(step).unwrap());
    let _ = fs::remove_file(&out);
    let written = convert.run(&File::open(from)?, &out, &|_| {})?;
    assert_eq!(written.frames, File::open(&out)?.frames());
    Ok(out)
}

/// Sees to it that a part has the frames that it is to have.
fn assert_part(from: &Path, folder: &TempDir, (start, end, step): (u64, u64, u64)) {
    let out = part(from, folder, (start, end, step)).unwrap();
    let all = frames_of(from);
    let wanted: Vec<_> =
        (start..end).step_by(step as usize).map(|frame| all[frame as usize].clone()).collect();
    let what = format!("{} {start}..{end}:{step}", from.display());
    let read = frames_of(&out);
    assert_eq!(read.len(), wanted.len(), "{what}");
    for (number, (read, wanted)) in read.iter().zip(&wanted).enumerate() {
        assert!(read.is_as(wanted), "{what}: frame {number} is {read:#?}, must be {wanted:#?}");
    }
    let mut findings = Vec::new();
    let summary = striae::Verify::new().gsd(&out, &mut |finding| findings.push(finding)).unwrap();
    assert!(summary.is_sound(), "{what}: {findings:?}");
}

#[test]
fn all_parts_of_what_gsd_wrote_have_the_frames_of_the_whole() {
    let folder = crate::in_memory();
    for (name, _) in expected() {
        let path = golden_dir().join(name);
        let len = File::open(&path).unwrap().frames();
        for start in 0..len {
            for end in start..=len {
                for step in [1, 2, 3] {
                    assert_part(&path, &folder, (start, end, step));
                }
            }
        }
    }
}

#[test]
fn any_part_of_any_trajectory_has_the_frames_of_the_whole() {
    let folder = crate::in_memory();
    let path = folder.path().join("whole.gsd");
    for seed in 0..250 {
        let mut random = Random(seed);
        Made::random(&mut random).write(&path);
        let len = File::open(&path).unwrap().frames();
        for _ in 0..4 {
            let start = random.below(len);
            let end = start + random.below(len - start + 1);
            assert_part(&path, &folder, (start, end, 1 + random.below(3)));
        }
    }
}

/// That a frame has no logged quantity nobody can write if the first one has it.
#[test]
fn a_part_whose_frames_would_get_a_logged_quantity_is_not_made() {
    let folder = crate::in_memory();
    let path = folder.path().join("whole.gsd");
    let mut made = Made::default();
    for frame in 0..4_u64 {
        made.chunk(frame, "configuration/step", ChunkType::U64, 1, &frame.to_le_bytes());
    }
    made.chunk(2, "log/late", ChunkType::F64, 1, &1.5_f64.to_le_bytes());
    made.write(&path);
    let refused = part(&path, &folder, (2, 4, 1)).unwrap_err();
    let ErrorKind::Gsd(Hoomd(gap)) = refused.kind() else { panic!("{refused}") };
    assert_eq!(*gap, Error::Gap { name: b"log/late"[..].into(), frame: 3, first: 2 });
    // Nor one of which the first frame lacks it, as gsd's package cannot read its frames.
    for frames in [(1, 4, 1), (0, 4, 2), (0, 4, 1)] {
        let refused = part(&path, &folder, frames).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Gsd(Hoomd(Error::Late { frame: 2, .. }))));
    }
    for frames in [(0, 2, 1), (2, 3, 1), (3, 4, 1), (0, 4, 3)] {
        assert_part(&path, &folder, frames);
    }
}

#[test]
fn what_frames_take_needs_no_more_room_than_a_file_of_its_length_would() {
    let folder = crate::in_memory();
    let path = folder.path().join("whole.gsd");
    let mut made = Made::default();
    let n = 1_u32 << 20;
    made.chunk(0, "particles/N", ChunkType::U32, 1, &n.to_le_bytes());
    made.chunk(1, "particles/orientation", ChunkType::F32, 4, &vec![0; 16 << 20]);
    made.chunk(18, "configuration/step", ChunkType::U64, 1, &[0; 8]);
    made.write(&path);
    let refused = part(&path, &folder, (1, 19, 1)).unwrap_err();
    let ErrorKind::Gsd(Hoomd(Error::Part { bytes, max })) = *refused.kind() else {
        panic!("{refused}")
    };
    assert!(bytes > max && max < 17 << 24, "{refused}");
    part(&path, &folder, (1, 4, 1)).unwrap();
}

#[test]
fn a_part_of_a_schema_that_is_not_known_is_not_made_and_the_whole_is() {
    let folder = crate::in_memory();
    let path = folder.path().join("whole.gsd");
    let mut made = Made::default();
    made.schema_version = Version { major: 3, minor: 0 };
    for frame in 0..3 {
        made.chunk(frame, "configuration/step", ChunkType::U64, 1, &[frame as u8; 8]);
    }
    made.write(&path);
    let refused = part(&path, &folder, (1, 3, 1)).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Gsd(Hoomd(Error::Version { .. }))), "{refused}");
    let out = folder.path().join("out.gsd");
    Convert::new().run(&File::open(&path).unwrap(), &out, &|_| {}).unwrap();
    assert!(Trajectory::open(&out).is_err());
}
