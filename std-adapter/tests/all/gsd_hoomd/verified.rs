//! Verifying a trajectory finds what its readers refuse.

use super::golden::expected;
use super::golden_dir;
use super::made::Trajectory as Made;
use std::fs;
use std::path::Path;
use striae::Verify;
use striae::error::ErrorKind;
use striae::finding::Severity;
use striae::gsd::ErrorKind::Hoomd;
use striae::gsd::File;
use striae::gsd::convert::Convert;
use striae::gsd::hoomd::Trajectory;
use striae_core::gsd::ChunkType;
use striae_kit::adapter::Random;

/// Severity, kind and frame of what is found, without what is no matter of the schema.
fn found(path: &Path) -> Vec<(Severity, &'static str, Option<u64>)> {
    let mut found = Vec::new();
    Verify::new()
        .gsd(path, &mut |finding| {
            let facts = finding.facts();
            if facts.kind.starts_with("hoomd") || finding.severity == Severity::Damage {
                let len = fs::metadata(path).unwrap().len();
                assert!(facts.offset.is_some_and(|offset| (256..len).contains(&offset)));
                found.push((finding.severity, facts.kind, facts.frame));
            }
        })
        .unwrap();
    found
}

/// Whether every frame can be read, as far as the schema goes.
fn is_readable(path: &Path) -> bool {
    let trajectory = Trajectory::open(path).unwrap();
    let refused = trajectory.frames(..).find_map(|frame| frame.unwrap().read().err());
    assert!(refused.iter().all(|error| matches!(error.kind(), ErrorKind::Gsd(Hoomd(_)))));
    refused.is_none()
}

#[test]
fn what_gsd_wrote_is_sound() {
    for (name, _) in expected() {
        assert_eq!(found(&golden_dir().join(name)), []);
    }
}

#[test]
fn each_thing_that_readers_refuse_is_found_where_it_is() {
    let folder = crate::in_memory();
    let path = folder.path().join("a.gsd");
    let n = |n: u32| n.to_le_bytes();
    let (u8s, u32s, f32s) = (ChunkType::U8, ChunkType::U32, ChunkType::F32);
    for (what, frame, name, kind, m, bytes) in [
        ("hoomd_shape", 0, "particles/position", f32s, 3, vec![0; 36]),
        ("hoomd_shape", 1, "particles/position", f32s, 2, vec![0; 32]),
        ("hoomd_shape", 1, "particles/N", u32s, 1, n(5).repeat(2)),
        ("hoomd_shape", 2, "configuration/box", f32s, 1, vec![0; 20]),
        ("hoomd_shape", 1, "particles/types", u8s, 1, b"A".to_vec()),
        ("hoomd_type", 1, "particles/typeid", ChunkType::I64, 1, vec![0; 32]),
        ("hoomd_type", 0, "bonds/N", ChunkType::U64, 1, vec![0; 8]),
        ("hoomd_text", 1, "particles/types", u8s, 3, b"A\0\0\xff\0\0".to_vec()),
        ("hoomd_late", 2, "log/late", f32s, 1, vec![0; 4]),
        ("hoomd_number", 2, "particles/typeid", u32s, 1, n(2).repeat(4)),
        ("hoomd_number", 1, "particles/types", u8s, 2, b"A\0".to_vec()),
        ("hoomd_number", 1, "bonds/group", ChunkType::I32, 2, n(4).repeat(2)),
        ("hoomd_number", 2, "particles/N", u32s, 1, n(1).to_vec()),
        ("hoomd_dimensions", 1, "configuration/dimensions", u8s, 1, vec![4]),
    ] {
        let mut made = Made::default();
        made.chunk(0, "particles/N", u32s, 1, &n(4));
        made.chunk(0, "particles/types", u8s, 2, b"A\0B\0");
        made.chunk(0, "particles/typeid", u32s, 1, &n(1).repeat(4));
        made.chunk(0, "bonds/N", u32s, 1, &n(1));
        made.chunk(0, "bonds/group", u32s, 2, &[n(0), n(3)].concat());
        for frame in 0..3 {
            made.chunk(frame, "configuration/step", ChunkType::U64, 1, &[0; 8]);
        }
        made.write(&path);
        assert_eq!(found(&path), [], "before {what}");
        made.chunk(frame, name, kind, m, &bytes);
        made.write(&path);
        let found = found(&path);
        let is_note = matches!(what, "hoomd_number" | "hoomd_dimensions");
        let severity = if is_note { Severity::Note } else { Severity::Damage };
        assert!(found.contains(&(severity, what, Some(frame))), "{what} {name}: {found:?}");
        // What is damaged is not converted.
        let out = folder.path().join("out.gsd");
        let converted = Convert::new().run(&File::open(&path).unwrap(), &out, &|_| {});
        assert_eq!(converted.is_ok(), is_note);
        let _ = fs::remove_file(&out);
    }
}

#[test]
fn what_is_sound_is_read_and_what_is_not_is_refused() {
    let folder = crate::in_memory();
    let path = folder.path().join("a.gsd");
    let (mut sound, mut damaged) = (0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let mut made = Made::random(&mut random);
        if random.below(3) > 0 {
            made.spoil(&mut random);
        }
        made.write(&path);
        let is_sound = found(&path).iter().all(|(severity, ..)| *severity == Severity::Note);
        assert_eq!(is_sound, is_readable(&path), "seed {seed}: {:?}", found(&path));
        match is_sound {
            true => sound += 1,
            false => damaged += 1,
        }
    }
    assert!(sound > 100 && damaged > 100, "{sound} sound, {damaged} damaged");
}
