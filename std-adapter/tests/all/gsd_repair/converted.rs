//! What is written anew is sound: a damaged file is refused, or what is copied of it is not
//! damaged.

use super::*;
use made::{frames_of, golden_files};
use std::num::NonZeroU64;
use striae::Verify;
use striae::gsd::File;
use striae::gsd::convert::Convert;
use striae::gsd::verify::{Finding, FindingKind};
use striae_kit::adapter::Random;

/// Whether a file is sound, or its header torn, of which the other half is known.
fn is_sound(path: &Path) -> bool {
    let mut is_sound = true;
    let mut each = |finding: Finding| {
        let is_torn = matches!(finding.what, FindingKind::Torn { .. });
        is_sound &= is_torn || finding.severity == striae::finding::Severity::Note;
    };
    Verify::new().gsd(path, &mut each).unwrap();
    is_sound
}

/// Whether the file was written anew; if so, both are sound.
fn assert_refused_or_sound(path: &Path, convert: &Convert) -> bool {
    let folder = crate::in_memory();
    let out = folder.path().join("out.gsd");
    let Ok(file) = File::open(path) else { return false };
    if convert.run(&file, &out, &|_| {}).is_err() {
        assert!(!out.exists());
        return false;
    }
    assert!(is_sound(&out), "{}: what was made of it", path.display());
    assert!(is_sound(path), "{}", path.display());
    true
}

#[test]
fn no_damaged_file_is_written_anew_without_a_word() {
    for path in golden_files("bad_") {
        let is_done = assert_refused_or_sound(&path, &Convert::new());
        assert_eq!(is_done, is_sound(&path), "{}", path.display());
    }
}

#[test]
fn whatever_bits_are_wrong_what_is_made_of_the_file_is_sound() {
    let mut files: Vec<_> = golden_files("v").iter().map(|path| fs::read(path).unwrap()).collect();
    files.push(Made::new(Shape::small()).bytes);
    files.push(Made::new(Shape { frames: 9, commit: 4, ..Shape::default() }).bytes);
    let mut random = Random(12);
    let (mut done, mut refused) = (0, 0);
    for bytes in files {
        for _ in 0..60 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(2) {
                // Half of them where the tables are.
                let end = if random.below(2) == 0 { bytes.len().min(1024) } else { bytes.len() };
                bytes[random.index(end)] ^= 1 << random.below(8);
            }
            if random.below(6) == 0 {
                bytes.truncate(random.index(bytes.len()));
            }
            let (_folder, path) = file_of(&bytes);
            match assert_refused_or_sound(&path, &Convert::new()) {
                true => done += 1,
                false => refused += 1,
            }
        }
    }
    println!("{done} written anew, {refused} refused");
    assert!(done > 300 && refused > 300);
}

/// Damage of other frames is none of these.
#[test]
fn a_part_is_judged_by_the_frames_that_are_copied() {
    for (name, sound, hurt) in [
        ("bad_entry3_type_12", 0..1, 1..2),
        ("bad_overlapping_data", 0..1, 1..2),
        ("bad_dup_frame_id", 0..1, 1..2),
    ] {
        let path = golden_dir().join(format!("{name}.gsd"));
        let part = |frames: std::ops::Range<u64>| {
            let folder = crate::in_memory();
            let out = folder.path().join("out.gsd");
            let convert = Convert::new().frames(frames, NonZeroU64::MIN);
            let made = convert.run(&File::open(&path).unwrap(), &out, &|_| {});
            made.map(|_| {
                assert!(is_sound(&out));
                frames_of(&out).unwrap()
            })
        };
        assert_eq!(part(sound.clone()).unwrap().len() as u64, sound.end);
        assert!(part(hurt).is_err(), "{name}");
    }
}
