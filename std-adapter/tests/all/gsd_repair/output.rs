//! What recover writes passes `verify`, whatever it was given.

use super::*;
use certain::Damage;
use std::num::NonZeroU64;
use striae::gsd::convert::Convert;
use striae::gsd::recover::Recover;
use striae::gsd::verify::{Finding, Severity};
use striae::gsd::{Builder, File, FileWriter};
use striae::{Output, Verify};
use striae_core::gsd::Version;
use striae_kit::adapter::Random;
use torn::seeds;

/// The damage that `verify` finds.
fn damage(path: &Path) -> Vec<Finding> {
    let mut damage = Vec::new();
    let mut each = |finding: Finding| {
        if finding.severity == Severity::Damage {
            damage.push(finding);
        }
    };
    Verify::new().gsd(path, &mut each).unwrap();
    damage
}

/// How it went.
#[derive(Debug, Default)]
struct Tally {
    written: u64,
    complete: u64,
    /// Files that the schema forbids.
    forbidden: u64,
}

fn recover_and_verify(file: &[u8], what: &str, tally: &mut Tally) {
    let (dir, path) = file_of(file);
    let Ok(recovery) = Recover::new().examine(&path) else { return };
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    let runs: Vec<_> = recovery.runs().collect();
    assert_eq!(damage(&out), [], "{what}: {runs:?}");
    assert!(recovery.forbidden().is_none() || !recovery.is_complete(), "{what}: {runs:?}");
    tally.written += 1;
    tally.complete += u64::from(recovery.is_complete());
    tally.forbidden += u64::from(recovery.forbidden().is_some());
}

/// Files of gsd, sound and damaged, and files of ours.
fn files() -> Vec<(String, Vec<u8>)> {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let golden = ["bad_", "v"].into_iter().flat_map(golden_files);
    let golden = golden.map(|path| (name(&path), fs::read(path).unwrap()));
    let ours = complete::files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    golden.chain(ours).collect()
}

#[test]
fn what_recover_writes_of_a_golden_file_is_sound() {
    let mut tally = Tally::default();
    for (name, bytes) in files() {
        recover_and_verify(&bytes, &name, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.complete > 0 && tally.written > tally.complete, "{tally:?}");
}

#[test]
fn what_recover_writes_is_sound_whatever_the_damage() {
    let mut tally = Tally::default();
    let files: Vec<_> = files().into_iter().filter(|(_, bytes)| bytes.len() > 256).collect();
    for seed in seeds(8, 1000) {
        let mut random = Random(seed);
        for (name, bytes) in &files {
            let header = *bytes.first_chunk().unwrap();
            for damage in Damage::ALL {
                let mut bytes = bytes.clone();
                damage.apply(&mut bytes, &[header], &mut random);
                if random.below(3) == 0 && bytes.len() > 256 {
                    Damage::Byte.apply(&mut bytes, &[header], &mut random);
                }
                let what = format!("seed {seed}: {name}: {damage:?}");
                recover_and_verify(&bytes, &what, &mut tally);
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.complete > 0 && tally.forbidden > 0, "{tally:?}");
}

#[test]
fn what_convert_writes_is_sound_whatever_the_damage() {
    let (mut written, mut refused) = (0, 0);
    let files: Vec<_> = files().into_iter().filter(|(_, bytes)| bytes.len() > 256).collect();
    for seed in seeds(3, 300) {
        let mut random = Random(seed);
        for (name, bytes) in &files {
            let header = *bytes.first_chunk().unwrap();
            for damage in [Damage::None, Damage::Bit, Damage::Byte, Damage::Cut] {
                let mut bytes = bytes.clone();
                damage.apply(&mut bytes, &[header], &mut random);
                let (dir, path) = file_of(&bytes);
                let Ok(file) = File::open(&path) else { continue };
                let out = dir.path().join("out.gsd");
                let part = 1.min(file.frames())..file.frames();
                let step = NonZeroU64::new(1 + random.below(3)).unwrap();
                for convert in [Convert::new(), Convert::new().frames(part, step)] {
                    match convert.run(&file, &out, &|_| {}) {
                        Ok(_) => {
                            let what = format!("seed {seed}: {name}: {damage:?} {convert:?}");
                            assert_eq!(self::damage(&out), [], "{what}");
                            fs::remove_file(&out).unwrap();
                            written += 1;
                        }
                        Err(_) => refused += 1,
                    }
                    assert!(!out.exists());
                }
            }
        }
    }
    println!("{written} written, {refused} refused");
    assert!(written > 100 && refused > 100, "{written} {refused}");
}

/// Its bytes are in the damaged file, and are no name.
#[test]
fn a_name_that_is_no_text_is_replaced_and_the_frames_that_it_names_are_a_guess() {
    let (dir, path) = (crate::in_memory(), golden_dir());
    let recovery = Recover::new().examine(path.join("bad_name_invalid_utf8.gsd")).unwrap();
    assert_eq!(recovery.invented().collect::<Vec<_>>(), [(0, &b"unknown_0"[..])]);
    assert_eq!((recovery.frames(), recovery.guesses(), recovery.lost()), (3, 3, 0));
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(damage(&out), []);
}

/// Layer 1 does not have text, so the new file is of layer 2, which does not cut names.
#[test]
fn a_name_cut_inside_a_character_stays_in_layer_1_and_is_replaced_in_layer_2() {
    let v1 = Version { major: 1, minor: 0 };
    let shape = Shape { layer: v1, checksums: false, ..Shape::default() };
    let (_dir, path) = file_of(&Made::new(shape).bytes);
    let mut bytes = fs::read(&path).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (index, names) = (number(8), number(24));
    bytes[176..256].fill(0); // as gsd has it
    bytes[names..names + 63].copy_from_slice(&[&[b'x'; 62][..], b"\xc3"].concat());
    for has_text in [false, true] {
        if has_text {
            let tag = (0..).map(|slot| index + 32 * slot).find(|&at| bytes[at + 30] == 1).unwrap();
            bytes[tag + 30] = 11;
        }
        let (dir, path) = file_of(&bytes);
        assert_eq!(damage(&path), []);
        let recovery = Recover::new().examine(&path).unwrap();
        assert_eq!(recovery.is_complete(), !has_text);
        assert_eq!(recovery.invented().count(), usize::from(has_text));
        assert_eq!(recovery.guesses(), if has_text { 3 } else { 0 });
        let out = dir.path().join("out.gsd");
        recovery.write(&out, &|_| {}).unwrap();
        assert_eq!(damage(&out), []);
    }
}

/// Between the look at a file and its lock, another writer may have added frames.
#[test]
fn a_file_that_has_changed_since_it_was_opened_does_not_replace_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut writer = Builder::new().create(&path).unwrap();
    writer.write("a", &[1_u8], 1).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let old = File::open(&path).unwrap();
    let mut writer = FileWriter::reopen(&path).unwrap();
    writer.write("a", &[2_u8], 1).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let convert = Convert::new().output(Output::new().force(true));
    let error = convert.run(&old, &path, &|_| ()).unwrap_err();
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::ResourceBusy);
    assert_eq!(File::open(&path).unwrap().frames(), 2);
    convert.run(&old, &folder.path().join("b.gsd"), &|_| ()).unwrap();
}

/// Steps that are no integers are lost, and nobody knows what frame 1, without chunks, took from
/// frame 0.
#[test]
fn a_last_frame_that_takes_a_lost_value_from_frame_0_is_a_frame_of_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.gsd"), folder.path().join("b.gsd"));
    let version = Version { major: 1, minor: 4 };
    let mut writer = Builder::new().schema("hoomd", version).create(&path).unwrap();
    for steps in [&[1.5_f32][..], &[], &[2.5]] {
        steps.iter().for_each(|step| {
            writer.write("configuration/step", &[*step], 1).unwrap();
        });
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let recovery = Recover::new().examine(&path).unwrap();
    assert_eq!((recovery.frames(), recovery.lost()), (1, 2));
    recovery.write(&out, &|_| ()).unwrap();
    assert_eq!(File::open(&out).unwrap().frames(), 1);
}
