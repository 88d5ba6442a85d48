//! Trajectories that striae writes.

use super::golden::{expected, open};
use super::golden_dir;
use super::model::{bits, filled, frames};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::{Chunk, Hoomd};
use striae::gsd::File;
use striae::gsd::hoomd::schema::{FIELDS, Initial};
use striae::gsd::hoomd::{
    Builder, ConfigurationData, Error, FrameData, ParticleData, Precision, Quantity, Trajectory,
    Writer,
};
use striae_core::gsd::error::BadName;
use striae_core::gsd::{ChunkType, Version};

fn assert_reads(path: &Path, frames: &[FrameData], precisions: &[Precision]) {
    let trajectory = Trajectory::open(path).unwrap();
    assert_eq!(trajectory.len(), frames.len() as u64);
    let mut first = None;
    for ((number, frame), &precision) in (0..).zip(frames).zip(precisions) {
        let wanted = filled(frame, first.as_ref(), precision);
        let read = trajectory.frame(number).unwrap().read().unwrap();
        assert_eq!(bits(&read), bits(&wanted), "frame {number}");
        first.get_or_insert(wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_read_is_what_was_appended_bit_for_bit(
        frames in frames(), is_double: bool, cuts: u8,
    ) {
        let folder = crate::in_memory();
        let path = folder.path().join("t.gsd");
        let precision = if is_double { Precision::Double } else { Precision::Single };
        let mut writer = Builder::new().precision(precision).create(&path).unwrap();
        let mut precisions = Vec::new();
        for (number, frame) in (0..).zip(&frames) {
            prop_assert_eq!(writer.append(frame).unwrap(), number);
            precisions.push(writer.precision());
            // Some frames are written by a writer that goes on, at either precision.
            if cuts >> number & 1 == 1 {
                writer.close().unwrap();
                let other = [Precision::Single, Precision::Double][usize::from(cuts >> 7)];
                writer = Writer::reopen(&path, other).unwrap();
            } else if cuts >> number & 2 == 2 {
                writer.commit().unwrap();
            }
        }
        writer.close().unwrap();
        assert_reads(&path, &frames, &precisions);
    }
}

// ---- what is written ----

/// All chunks of a file: frame and name, then type, rows, columns and bytes.
type Chunks = BTreeMap<(u64, String), (ChunkType, u64, u32, Vec<u8>)>;

fn chunks(path: &Path) -> Chunks {
    let file = File::open(path).unwrap();
    let chunks = file.chunks().map(Result::unwrap).map(|chunk| {
        let name = file.name(&chunk).unwrap().to_string();
        let bytes = file.read_bytes(&chunk).unwrap();
        ((chunk.frame, name), (chunk.kind, chunk.n, chunk.m, bytes))
    });
    chunks.collect()
}

/// Of gsd's own files: it writes a value anew that differs only in what 32 bits do not hold, striae
/// does not, as a reader would see no difference.
#[test]
fn chunks_are_those_that_gsd_writes_and_none_of_them_is_needless() {
    for (name, file) in expected().iter().filter(|(name, _)| name.starts_with("v21")) {
        let folder = crate::in_memory();
        let path = folder.path().join("t.gsd");
        let is_double = name.contains("double");
        let precision = if is_double { Precision::Double } else { Precision::Single };
        let mut writer = Builder::new().precision(precision).create(&path).unwrap();
        for frame in open(name).frames(..) {
            writer.append(&frame.unwrap().read().unwrap()).unwrap();
        }
        writer.close().unwrap();
        assert_eq!(open(name).len(), file["frames"].as_array().unwrap().len() as u64);

        let (ours, theirs) = (chunks(&path), chunks(&golden_dir().join(name)));
        for (place, chunk) in &ours {
            if theirs.contains_key(place) {
                assert_eq!(chunk, &theirs[place], "{name} {place:?}");
            } else {
                // It repeats frame 0, so that the frame is not without chunks.
                assert_eq!(place.1, "configuration/step", "{name}");
                assert!(!theirs.keys().any(|(frame, _)| frame == &place.0), "{name}");
            }
        }
        for (place, chunk) in &theirs {
            let default = FIELDS.iter().find(|field| field.name == place.1);
            let is_empty = chunk.1 == 0 && matches!(default.unwrap().default, Initial::Values(_));
            let is_known =
                ours.contains_key(place) || is_empty || ours[&(0, place.1.clone())] == *chunk;
            assert!(is_known, "{name} {place:?}");
        }
    }
}

#[test]
fn a_frame_is_never_lost_for_having_nothing_new() {
    let folder = crate::in_memory();
    for (name, frame) in [
        ("default", FrameData::default()),
        (
            "some",
            FrameData {
                particles: ParticleData { n: 2, body: Some(vec![1, 1]), ..Default::default() },
                configuration: ConfigurationData { step: Some(9), ..Default::default() },
                ..Default::default()
            },
        ),
    ] {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path).unwrap();
        for _ in 0..3 {
            writer.append(&frame).unwrap();
        }
        writer.close().unwrap();
        assert_reads(&path, &[frame.clone(), frame.clone(), frame], &[Precision::Single; 3]);
        let later: Vec<_> = chunks(&path).into_keys().filter(|(frame, _)| *frame > 0).collect();
        assert_eq!(later, [1, 2].map(|frame| (frame, "configuration/step".to_owned())));
    }
}

#[test]
fn new_files_say_what_they_are() {
    let folder = crate::in_memory();
    let path = folder.path().join("t.gsd");
    Writer::create(&path).unwrap().close().unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(file.header().schema.as_bytes(), b"hoomd");
    assert_eq!(file.header().schema_version, Version { major: 2, minor: 0 });
    assert!(file.header().application.as_bytes().starts_with(b"striae "));

    let builder = Builder::new().version_1();
    builder.create(folder.path().join("1.gsd")).unwrap().close().unwrap();
    let trajectory = Trajectory::open(folder.path().join("1.gsd")).unwrap();
    assert_eq!(trajectory.schema_version(), Version { major: 1, minor: 4 });
    assert!(trajectory.is_empty());
    assert!(trajectory.logs().read().unwrap().is_empty());

    let other = striae::gsd::Builder::new().application("other").force(true).align(64);
    Builder::new().file(other).create(&path).unwrap().close().unwrap();
    assert_eq!(File::open(&path).unwrap().header().application.as_bytes(), b"other");
}

#[test]
fn a_truncated_trajectory_has_a_new_frame_0() {
    let folder = crate::in_memory();
    let path = folder.path().join("t.gsd");
    let mut writer = Writer::create(&path).unwrap();
    let mut frame = FrameData::default();
    frame.particles.n = 3;
    writer.append(&frame).unwrap();
    writer.commit().unwrap();
    let mut reader = Trajectory::open(&path).unwrap();
    assert_eq!(reader.frame(0).unwrap().particles().n().unwrap(), 3);
    writer.truncate().unwrap();
    writer.append(&frame).unwrap();
    frame.particles.n = 5;
    writer.append(&frame).unwrap();
    writer.truncate().unwrap();
    writer.append(&frame).unwrap();
    writer.append(&frame).unwrap();
    writer.close().unwrap();
    assert_reads(&path, &[frame.clone(), frame], &[Precision::Single; 2]);
    // One who looked before sees it too, and nothing of what he knew.
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.frame(1).unwrap().particles().n().unwrap(), 5);
}

// ---- what is refused ----

fn hoomd(error: &striae::Error) -> Error {
    let ErrorKind::Gsd(Hoomd(error)) = error.kind() else { panic!("{error}") };
    error.clone()
}

fn bytes(name: &str) -> Box<[u8]> {
    name.as_bytes().into()
}

#[test]
fn a_frame_that_cannot_be_read_back_is_refused_and_nothing_of_it_is_written() {
    let folder = crate::in_memory();
    let path = folder.path().join("t.gsd");
    let mut writer = Writer::create(&path).unwrap();
    let good = FrameData {
        particles: ParticleData { n: 2, ..Default::default() },
        log: vec![("a".into(), Quantity::rows(vec![1_u8, 2], 2))],
        ..Default::default()
    };
    let with = |change: fn(&mut FrameData)| {
        let mut frame = good.clone();
        change(&mut frame);
        frame
    };
    let length = |name, found, want| Error::Length { name: bytes(name), found, want };
    let refused: [(FrameData, Error); 9] = [
        (
            with(|frame| frame.particles.position = Some(vec![0.0_f32; 5].into())),
            length("particles/position", 5, 6),
        ),
        (with(|frame| frame.pairs.typeid = Some(vec![0])), length("pairs/typeid", 1, 0)),
        (
            with(|frame| (frame.angles.n, frame.angles.group) = (1, Some(vec![0; 4]))),
            length("angles/group", 4, 3),
        ),
        (with(|frame| frame.log[0].1.n = 2), length("log/a", 2, 4)),
        (with(|frame| frame.log[0].1.m = 0), length("log/a", 2, u64::MAX)),
        (
            with(|frame| frame.particles.types = Some(vec!["A".into(), "B\0".into()])),
            Error::Nul { name: bytes("particles/types"), text: "B\0".into() },
        ),
        (
            with(|frame| frame.log[0].1 = Quantity::text("text\0")),
            Error::Nul { name: bytes("log/a"), text: "text\0".into() },
        ),
        (
            with(|frame| frame.bonds.types = Some(vec!["b".into(), "b".into()])),
            Error::SameType { name: bytes("bonds/types"), text: "b".into() },
        ),
        (
            with(|frame| frame.log.push(frame.log[0].clone())),
            Error::SameName { name: bytes("log/a") },
        ),
    ];
    let later = with(|frame| frame.log.push(("b".into(), Quantity::text("new"))));
    for number in 0..3 {
        for (frame, wanted) in &refused {
            let error = writer.append(frame).unwrap_err();
            assert_eq!(hoomd(&error), *wanted, "{error}");
            assert!(hoomd(&error).blames_caller());
        }
        let nul = with(|frame| frame.log.push(("a\0".into(), Quantity::text("a"))));
        let error = writer.append(&nul).unwrap_err();
        if number == 0 {
            let ErrorKind::Gsd(Chunk { error, .. }) = error.kind() else { panic!("{error}") };
            assert_eq!(*error, striae_core::gsd::Error::BadName(BadName::Nul { at: 5 }));
        } else {
            assert_eq!(hoomd(&error), Error::NotInFrame0 { name: bytes("log/a\0") });
            let error = writer.append(&later).unwrap_err();
            assert_eq!(hoomd(&error), Error::NotInFrame0 { name: bytes("log/b") });
        }
        assert_eq!(writer.append(&good).unwrap(), number);
    }
    writer.close().unwrap();
    assert_reads(&path, &[good.clone(), good.clone(), good], &[Precision::Single; 3]);
}

#[test]
fn numbers_of_64_bits_need_version_2() {
    let wanted = |error: striae::Error| {
        let version = Version { major: 1, minor: 4 };
        assert_eq!(hoomd(&error), Error::Precision { version, precision: Precision::Double });
        let says = "a file of schema 1.4 cannot be of double precision";
        assert!(error.to_string().ends_with(says), "{error}");
    };
    let folder = crate::in_memory();
    let path = folder.path().join("t.gsd");
    let builder = Builder::new().version_1().precision(Precision::Double);
    wanted(builder.create(&path).unwrap_err());
    assert!(!path.exists());
    fs::copy(golden_dir().join("v20_hoomd14.gsd"), &path).unwrap();
    wanted(Writer::reopen(&path, Precision::Double).unwrap_err());
    Writer::reopen(&path, Precision::Single).unwrap().close().unwrap();
}

#[test]
fn a_file_of_another_schema_is_not_touched() {
    let folder = crate::in_memory();
    let path = folder.path().join("t.gsd");
    for name in ["v10_all_types.gsd", "v21_sparse_chunks.gsd"] {
        fs::copy(golden_dir().join(name), &path).unwrap();
        let error = Writer::reopen(&path, Precision::Single).unwrap_err();
        assert!(matches!(hoomd(&error), Error::Schema { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), fs::read(golden_dir().join(name)).unwrap());
    }
}

#[test]
fn a_file_of_gsd_goes_on_with_its_own_frame_0() {
    for (name, _) in expected() {
        let folder = crate::in_memory();
        let path = folder.path().join("t.gsd");
        fs::copy(golden_dir().join(&name), &path).unwrap();
        let before: Vec<_> =
            open(&name).frames(..).map(|frame| frame.unwrap().read().unwrap()).collect();
        let mut writer = Writer::reopen(&path, Precision::Single).unwrap();
        // Frame 0 once more, then one without anything.
        writer.append(&before[0]).unwrap();
        writer.append(&FrameData::default()).unwrap();
        writer.close().unwrap();
        let trajectory = Trajectory::open(&path).unwrap();
        let after: Vec<_> =
            trajectory.frames(..).map(|frame| frame.unwrap().read().unwrap()).collect();
        assert_eq!(after[..before.len()], before);
        assert_eq!(bits(&after[before.len()]), bits(&before[0]));
        let none = filled(&FrameData::default(), Some(&before[0]), Precision::Single);
        assert_eq!(bits(&after[before.len() + 1]), bits(&none));
        // Only what differs was written: the log, and that there are no members.
        let chunks = chunks(&path);
        let names = |of: u64| chunks.keys().filter(move |(frame, _)| *frame == of);
        let last = before.len() as u64;
        assert!(
            names(last).all(|(_, name)| name.starts_with("log/") || name == "configuration/step")
        );
        assert!(
            names(last + 1).all(|(_, name)| name.ends_with("/N") || name == "configuration/step")
        );
    }
}
