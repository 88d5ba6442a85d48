//! What verifying finds.

use super::{expected, fs, golden, made};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use striae::Verify;
use striae::ffrecord::verify::{Finding, FindingKind, Summary, checked_bytes};
use striae::finding::Severity;
use striae_core::ffrecord::Error;

fn findings(path: &Path) -> (Summary, Vec<Finding>) {
    let mut found = Vec::new();
    let summary = Verify::new().ffrecord(path, &mut |finding| found.push(finding)).unwrap();
    let count = |severity| found.iter().filter(|it| it.severity == severity).count();
    assert_eq!(summary.damage, u64::try_from(count(Severity::Damage)).unwrap());
    assert_eq!(summary.notes, u64::try_from(count(Severity::Note)).unwrap());
    assert_eq!(summary.is_sound(), summary.damage == 0);
    for finding in &found {
        assert!(!finding.what.to_string().contains('\n'));
        assert!(!finding.facts().kind.is_empty() && finding.facts().kind != "damage");
    }
    (summary, found)
}

#[test]
fn what_ffrecord_wrote_is_sound_and_all_of_it_is_compared() {
    for (name, expected) in expected() {
        let Some(n) = expected["n"].as_u64() else { continue };
        let (summary, found) = findings(&golden(&name));
        assert!(summary.is_sound(), "{name}: {found:?}");
        assert_eq!((summary.samples, summary.checked), (n, n), "{name}");
        match (&*name, &*found) {
            ("no_checksum.ffr", [note]) => assert_eq!(note.what, FindingKind::Unsummed {}),
            ("made_gap.ffr", [note]) => {
                let FindingKind::Gap { span } = note.what else { panic!("{note:?}") };
                assert_eq!((span.offset(), span.len()), (48, 20));
            }
            (_, found) => assert_eq!(found, [], "{name}"),
        }
    }
}

#[test]
fn every_damage_is_named_once_with_its_place() {
    // Three samples of 8 bytes: offsets stand at 24, 32 and 40, the tables end at 48, the file at
    // 72.
    for (name, checked, texts) in [
        ("n_negative", 0, &["header.n at offset 4 is -1, must be at least 0"][..]),
        ("n_too_large", 0, &["header.n at offset 4 is 1099511627776, must be at most 5"]),
        ("cut_in_header", 0, &["the header needs 12 bytes, but the file ends at 11"]),
        ("cut_in_tables", 0, &["header.n at offset 4 is 3, must be at most 2"]),
        (
            "offset_negative",
            1,
            &["sample 0: offsets.offset at offset 32 is -8, must be at least 48"],
        ),
        (
            "offset_behind_end",
            1,
            &["sample 0: offsets.offset at offset 32 is 1000, must be at most 72"],
        ),
        (
            "offset_in_tables",
            2,
            &["sample 0: offsets.offset at offset 24 is 40, must be at least 48"],
        ),
        (
            "offsets_decrease",
            2,
            &[
                "sample 0: checksums.checksum at offset 12 is 0x",
                "sample 1: offsets.offset at offset 40 is 64, must be at least 68",
            ],
        ),
        ("sample_byte", 3, &["sample 2: checksums.checksum at offset 20 is 0x"]),
        ("cut_in_last", 3, &["sample 2: checksums.checksum at offset 20 is 0x"]),
        (
            "checksum_byte",
            3,
            &[
                "header.checksum_meta at offset 0 is 0x",
                "sample 0: checksums.checksum at offset 12 is 0x",
            ],
        ),
    ] {
        let (summary, found) = findings(&golden(&format!("bad_{name}.ffr")));
        let found: Vec<_> = found.iter().map(|finding| finding.what.to_string()).collect();
        assert_eq!(found.len(), texts.len(), "{name}: {found:?}");
        for (found, text) in found.iter().zip(texts) {
            assert!(found.starts_with(text), "{name}: {found}");
        }
        assert_eq!(summary.checked, checked, "{name}");
    }
}

/// What the library leaves if it is killed: zeros for the header and the tables of two samples, and
/// the bytes of samples.
#[test]
fn a_file_whose_writer_was_killed_is_damaged() {
    let killed = [vec![0; 12 + 2 * 12], vec![7; 4000]].concat();
    let empty = fs::read(golden("empty.ffr")).unwrap();
    for len in [13, 12 + 2 * 12, killed.len()] {
        for front in [&killed[..12], &empty] {
            let made = made("a.ffr", &[front, &killed[12..len]].concat());
            let (summary, found) = findings(&made.path);
            assert_eq!((summary.samples, summary.damage), (0, 1), "{len}: {found:?}");
            let damage = found.iter().find(|finding| finding.severity == Severity::Damage).unwrap();
            let FindingKind::NoSamples { span } = damage.what else { panic!("{damage:?}") };
            assert_eq!((span.offset(), span.end()), (12, len as u64));
            let facts = damage.facts();
            assert_eq!((facts.kind, facts.field.as_deref()), ("no_samples", Some("header.n")));
        }
    }
    // An old version closed a file without samples like this.
    let (summary, found) = findings(&made("a.ffr", &killed[..12]).path);
    assert!(summary.is_sound(), "{found:?}");
    let found: Vec<_> = found.into_iter().map(|finding| finding.what).collect();
    assert_eq!(found, [FindingKind::Unsummed {}]);
}

#[test]
fn every_cut_and_every_flipped_bit_is_found() {
    for name in ["empty.ffr", "folder.ffr", "last_empty.ffr"] {
        let whole = fs::read(golden(name)).unwrap();
        for len in 0..whole.len() {
            let made = made("a.ffr", &whole[..len]);
            assert!(!findings(&made.path).0.is_sound(), "{name} cut at {len}");
        }
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let made = made("a.ffr", &bytes);
            assert!(!findings(&made.path).0.is_sound(), "{name}: bit {bit}");
        }
    }
}

#[test]
fn work_is_bounded_by_the_length_of_the_file_whatever_offsets_say() {
    // Every other sample is nearly all of the file, and the ones between end before they start.
    let n: usize = 1000;
    let (tables, data) = (12 + 12 * n, 100_000);
    let mut bytes = vec![0; 4];
    bytes.extend(u64::try_from(n).unwrap().to_le_bytes());
    bytes.resize(12 + 4 * n, 0);
    for number in 0..n {
        let offset = if number % 2 == 0 { tables } else { tables + data };
        bytes.extend(u64::try_from(offset).unwrap().to_le_bytes());
    }
    bytes.resize(tables + data, 7);
    let made = made("a.ffr", &bytes);
    let read = AtomicU64::new(0);
    let (mut shared, mut wrong) = (0, 0);
    let mut each = |finding: Finding| {
        shared += usize::from(matches!(finding.what, FindingKind::Shared { number: 4 }));
        wrong += usize::from(matches!(finding.what, FindingKind::Sample { .. }));
    };
    let progress = |len| {
        read.fetch_add(len, Ordering::Relaxed);
    };
    let summary = Verify::new().progress(&progress).ffrecord(&made.path, &mut each).unwrap();
    assert_eq!((shared, summary.checked), (1, 2));
    // The checksums of two, and the ends of all between two others: the last one is empty.
    assert_eq!(wrong, 2 + n / 2 - 1);
    assert_eq!(read.into_inner(), 200_000);
    assert_eq!(checked_bytes(&made.path), 100_000);
}

#[test]
fn a_finding_has_its_facts() {
    let (_, found) = findings(&golden("bad_offsets_decrease.ffr"));
    let facts: Vec<_> = found.iter().map(Finding::facts).collect();
    assert_eq!((facts[0].kind, facts[0].sample, facts[0].offset), ("checksum", Some(0), Some(12)));
    assert_eq!((facts[1].kind, facts[1].sample, facts[1].offset), ("too_small", Some(1), Some(40)));
    assert_eq!(facts[1].min, Some(68));
    assert_eq!(facts[1].field.as_deref(), Some("offsets.offset"));
    assert!(matches!(found[1].what, FindingKind::Sample { error: Error::TooSmall { .. }, .. }));
}
