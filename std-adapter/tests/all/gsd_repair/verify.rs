//! Verifying tells all that is wrong, and nothing else.

use super::*;
use striae::Verify;
use striae::gsd::verify::{Basis, Facts, Finding, Severity, Summary};
use striae_core::gsd::check_entry::{EntryCheck, Finding as EntryFinding};
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Reader, Version};
use zerocopy::FromBytes;

fn found(path: &Path) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let summary = Verify::new().gsd(path, &mut |finding| findings.push(finding)).unwrap();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    assert_eq!(summary.damage, count(Severity::Damage) as u64);
    assert_eq!(summary.notes, count(Severity::Note) as u64);
    for finding in &findings {
        assert_eq!(finding.to_string().lines().count(), 1, "{finding}");
        assert_ne!(finding.facts().kind, "wrong", "{finding}");
        assert!(!finding.to_string().ends_with("the file is damaged"), "{finding:?}");
    }
    (summary, findings)
}

fn found_in(bytes: &[u8]) -> (Summary, Vec<Finding>) {
    let (_dir, path) = file_of(bytes);
    found(&path)
}

/// Kinds of findings of a severity with their offsets.
fn kinds(findings: &[Finding], severity: Severity) -> Vec<(&'static str, Option<u64>)> {
    let findings = findings.iter().filter(|finding| finding.severity == severity);
    findings.map(|finding| (finding.facts().kind, finding.facts().offset)).collect()
}

fn damage(findings: &[Finding]) -> Vec<(&'static str, Option<u64>)> {
    kinds(findings, Severity::Damage)
}

#[test]
fn files_of_gsd_are_sound_and_what_is_odd_about_them_is_noted() {
    let notes: &[(&str, &[&str])] = &[
        ("v10_names_200_appended_by_501", &["unused"]),
        ("v21_character_utf8", &["no_rows"]),
        ("v21_hoomd_varying_N", &["no_rows"]),
        ("v21_index_129", &["unused"]),
        ("v21_long_names", &["unused"]),
        ("v21_names_70", &["unused"]),
        ("v21_realloc_500_flush", &["unused"]),
        ("v21_unfinished_frame", &["names_unused", "trailing"]),
        ("v21_upgraded_names_128", &["unused"]),
        ("v21_zero_size", &["no_rows"]),
    ];
    for path in golden_files("v") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (summary, findings) = found(&path);
        assert_eq!(damage(&findings), [], "{name}");
        assert_eq!(summary.basis, Some(Basis::Plain), "{name}");
        let expected = notes.iter().find(|(file, _)| *file == name).map_or(&[][..], |of| of.1);
        let kinds: Vec<_> = findings.iter().map(|finding| finding.facts().kind).collect();
        assert_eq!(kinds, expected, "{name}: {findings:?}");
    }
}

/// Each damaged file with the kinds and offsets of its damage; entries are at 256 + 32 * slot.
#[test]
fn each_damage_of_a_golden_file_is_told_with_its_place() {
    let cases: &[(&str, &[(&str, u64)])] = &[
        ("bad_app_not_nul_terminated", &[("not_terminated", 48)]),
        ("bad_dup_frame_id", &[("repeated", 256 + 32 * 4 + 28)]),
        ("bad_dup_names", &[("name_repeated", 4354)]),
        ("bad_entry3_NM_wraps_u64", &[("extent", 256 + 32 * 3 + 8)]),
        ("bad_entry3_extent_past_eof", &[("outside", 256 + 32 * 3 + 16)]),
        ("bad_entry3_location_negative", &[("too_small", 256 + 32 * 3 + 16)]),
        ("bad_entry3_type_12", &[("no_type", 256 + 32 * 3 + 30)]),
        ("bad_entry4_frame_decreases", &[("order", 256 + 32 * 4)]),
        ("bad_entry4_type_0", &[("no_type", 256 + 32 * 4 + 30)]),
        ("bad_hole_entry4_location_0", &[("hole", 256 + 32 * 4 + 16)]),
        ("bad_index_alloc_0", &[("too_small", 16)]),
        ("bad_index_loc_minus1", &[("outside", 8)]),
        ("bad_magic_byteswapped", &[("not_gsd", 0)]),
        ("bad_name_invalid_utf8", &[("name_not_text", 4352)]),
        ("bad_namelist_not_terminated", &[("names_not_terminated", 4352 + 1023)]),
        ("bad_overlapping_data", &[("overlap", 5536)]),
        ("bad_stale_entries_after_end", &[("hole", 256 + 32 * 9 + 16)]),
        ("bad_torn_last_frame", &[("half_entry", 256 + 32 * 8 + 16)]),
        ("bad_version_0_9", &[("version", 44)]),
        ("bad_zero_length", &[("cut", 0)]),
        // What these lack leaves no trace that a reader could suffer from.
        ("bad_index_alloc_too_small_for_used", &[]),
        ("bad_v1_junk_after_nul_in_name", &[]),
        ("bad_version_2_9_accepted", &[]),
    ];
    for (name, expected) in cases {
        let (_, findings) = found(&golden_dir().join(format!("{name}.gsd")));
        let expected: Vec<_> =
            expected.iter().map(|&(kind, offset)| (kind, Some(offset))).collect();
        assert_eq!(damage(&findings), expected, "{name}: {findings:?}");
    }
    let cut = ["bad_trunc_in_index", "bad_trunc_in_namelist", "bad_trunc_relocated_index"];
    for name in cut {
        let (_, findings) = found(&golden_dir().join(format!("{name}.gsd")));
        assert!(!damage(&findings).is_empty(), "{name}");
        assert!(damage(&findings).iter().all(|(kind, _)| *kind == "outside"), "{name}");
    }
    let tested = cases.len() + cut.len();
    assert_eq!(tested, golden_files("bad_").len(), "a file is not tested");
}

/// Where the entry in a slot of `v21_small_3x3` and what was made of it starts.
fn entry_at(slot: usize) -> usize {
    256 + 32 * slot
}

/// What `gsd_end_frame` 200 times and then a chunk leave: gsd refuses the file, and nothing is
/// lost.
#[test]
fn what_gsd_alone_refuses_is_noted_and_is_no_damage() {
    let sound = fs::read(golden_dir().join("bad_version_2_9_accepted.gsd")).unwrap();
    let with_frame = |frame: u64| {
        let mut bytes = sound.clone();
        bytes[entry_at(8)..][..8].copy_from_slice(&frame.to_le_bytes());
        bytes
    };
    let bytes = with_frame(200);
    let (summary, findings) = found_in(&bytes);
    assert!(summary.is_sound(), "{findings:?}");
    assert_eq!(summary.frames, 201);
    let note = findings.iter().find(|finding| finding.facts().kind == "many_frames").unwrap();
    assert!(note.to_string().ends_with("first 200 at offset 512: gsd refuses the file"), "{note}");
    // Nobody has more frames than bytes.
    let (_, findings) = found_in(&with_frame(bytes.len() as u64));
    assert_eq!(damage(&findings), [("too_large", Some(entry_at(8) as u64))]);
}

/// There is one rule for entries, and it is core's.
#[test]
fn whatever_core_finds_in_an_entry_is_told() {
    let sound = fs::read(golden_dir().join("bad_version_2_9_accepted.gsd")).unwrap();
    let mut count = 0;
    for bit in entry_at(0) * 8..entry_at(9) * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(file) = Reader::open(bytes.as_slice(), &mut [0; 256]) else { continue };
        let check = EntryCheck::new(file.head());
        let entry = |slot: usize| IndexEntry::read_from_bytes(&bytes[entry_at(slot)..][..32]);
        let of_slot = |slot: usize| {
            let before = slot.checked_sub(1).map(|before| entry(before).unwrap());
            let mut found = Vec::new();
            let (entry, offset) = (entry(slot).unwrap(), entry_at(slot) as u64);
            check.findings(before.as_ref(), &entry, offset, |finding| found.push(finding));
            found
        };
        let (_, findings) = found_in(&bytes);
        let told: Vec<_> = findings.iter().map(|finding| finding.facts()).collect();
        for found in (0..file.head().entries as usize).flat_map(of_slot) {
            let is_overlap = matches!(found, EntryFinding::Overlap { .. });
            let is_it = |facts: &Facts| match is_overlap {
                true => facts.kind == "overlap",
                false => facts.offset == Some(found.offset()) && facts.kind != "unusual",
            };
            assert!(told.iter().any(is_it), "bit {bit}: {found}: {findings:?}");
            count += 1;
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn files_of_ours_are_sound_and_all_their_chunks_are_checked() {
    let v1 = Version { major: 1, minor: 0 };
    let shape = Shape::default();
    for shape in [
        shape,
        Shape { checksums: false, ..shape },
        Shape { align: 4096, ..shape },
        Shape { layer: v1, ..shape },
        Shape { frames: 200, commit: 7, ..shape },
        Shape { frames: 300, commit: 300, index_slots: 2, names_len: 1, ..shape },
        Shape { frames: 0, ..shape },
    ] {
        let made = Made::new(shape);
        let (summary, findings) = found_in(&made.bytes);
        assert_eq!(damage(&findings), [], "{shape:?}: {findings:?}");
        assert!(matches!(summary.basis, Some(Basis::Committed(_))), "{shape:?}");
        assert_eq!(summary.frames, shape.frames, "{shape:?}");
        let chunks: usize = made.frames.iter().map(|frame| frame.len()).sum();
        assert_eq!(summary.checked, if shape.checksums { chunks as u64 } else { 0 }, "{shape:?}");
        let odd = kinds(&findings, Severity::Note);
        assert!(odd.iter().all(|(kind, _)| *kind == "unused"), "{shape:?}: {findings:?}");
    }
}

/// Every bit of the commit record, and of the fields that it covers.
#[test]
fn a_bit_of_the_header_that_changes_is_damage_and_its_field_is_named() {
    let made = Made::new(Shape::small());
    for byte in (0..48).chain(176..256) {
        for bit in 0..8 {
            let mut bytes = made.bytes.clone();
            bytes[byte] ^= 1 << bit;
            let (summary, findings) = found_in(&bytes);
            let field = if byte < 48 { "header." } else { "commit." };
            let field = if byte == 183 && bit == 0 { "header.reserved" } else { field };
            let is_told = |finding: &Finding| {
                let facts = finding.facts();
                let (start, name) =
                    (facts.offset.unwrap_or(u64::MAX), facts.field.unwrap_or_default());
                (start..=start.saturating_add(7)).contains(&(byte as u64))
                    && name.starts_with(field)
            };
            let schema_version = (40..44).contains(&byte); // one checksum covers it and the texts
            let minor = (44..46).contains(&byte); // nothing depends on it, and 2.0 is as good
            let told = findings.iter().any(is_told) || minor && byte == 44 && bit == 0;
            assert!(told || schema_version, "{byte}.{bit}: {findings:?}");
            // The end of the record's magic is written last: without it the record is none.
            let unfinished = byte == 183 && bit == 0;
            assert!(!summary.is_sound() || minor || unfinished, "{byte}.{bit}: {findings:?}");
        }
    }
}

#[test]
fn a_bit_that_changes_in_a_sealed_file_is_damage_wherever_it_counts() {
    let made = Made::new(Shape::small());
    let (_, findings) = found_in(&made.bytes);
    assert_eq!(findings.iter().filter(|f| f.facts().kind == "trailing").count(), 0);
    let mut unseen = Vec::new();
    for byte in 48..made.bytes.len() {
        let mut bytes = made.bytes.clone();
        bytes[byte] ^= 1 << (byte % 8);
        let (_dir, path) = file_of(&bytes);
        let (summary, _) = found(&path);
        if summary.is_sound() {
            let frames = made::frames_of(&path);
            assert_eq!(frames.as_ref(), Ok(&made.frames), "byte {byte} is wrong and not told");
            unseen.push(byte);
        }
    }
    println!("{} of {} bytes are not used", unseen.len(), made.bytes.len());
}

#[test]
fn a_lost_entry_of_a_sealed_frame_is_told_by_the_checksums_of_the_frame() {
    // Without the commit record nothing else says that the frame had more chunks.
    let made = Made::new(Shape { frames: 1, ..Shape::default() });
    let mut bytes = made.bytes;
    let index = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
    bytes[176..256].fill(0);
    let entry = bytes[index + 32..index + 64].to_vec();
    assert_eq!(entry[28], 1, "step");
    for slot in 1..128 {
        let next = index + 32 * slot;
        bytes.copy_within(next + 32..next + 64, next);
    }
    let end = index + 32 * 127;
    bytes.copy_within(end - 32..end, end);
    let (_, findings) = found_in(&bytes);
    let lost: Vec<_> = damage(&findings).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(lost, ["chunk_lost"], "{findings:?}");
}

#[test]
fn a_truncated_file_is_damaged_at_every_length() {
    let made = Made::new(Shape::small());
    for len in 0..made.bytes.len() {
        let (summary, findings) = found_in(&made.bytes[..len]);
        assert!(!summary.is_sound(), "{len}: {findings:?}");
    }
}
