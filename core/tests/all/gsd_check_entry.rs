//! All that is wrong with an entry is found, and nothing is found in what gsd wrote.

use proptest::prelude::*;
use striae_core::gsd::check_entry::{EntryCheck, Finding, Part};
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::layout::{IndexBlock, NameBlock};
use striae_core::gsd::raw::{IndexEntry, TABLES};
use striae_core::gsd::{Chunk, ChunkType, Reader, Version};
use striae_kit::gsd_files::{Entry, GoldenFile, committed_file, golden_file, golden_files};
use zerocopy::FromBytes;

fn raw(entry: Entry) -> IndexEntry {
    IndexEntry::read_from_bytes(&entry.bytes()).unwrap()
}

/// Findings of all used entries of a file, by slot.
fn findings(bytes: &[u8]) -> Vec<(u64, Finding)> {
    let file = Reader::open(bytes, &mut [0; 256]).unwrap();
    let (head, check) = (file.head(), EntryCheck::new(file.head()));
    let (mut all, mut before) = (Vec::new(), None);
    for slot in 0..head.entries {
        let offset = head.index().location + 32 * slot;
        let start = usize::try_from(offset).unwrap();
        let entry = IndexEntry::read_from_bytes(&bytes[start..start + 32]).unwrap();
        check.findings(before.as_ref(), &entry, offset, |it| all.push((slot, it)));
        if entry.is_used() {
            before = Some(entry);
        }
    }
    all
}

#[test]
fn nothing_is_found_in_what_gsd_wrote() {
    for golden in golden_files().into_iter().filter(GoldenFile::is_valid) {
        assert_eq!(findings(&golden.bytes), [], "{}", golden.name);
    }
}

/// The file has these findings; its slot 3 is at 352, slot 4 at 384.
fn assert_finds(name: &str, expected: &[(u64, Finding, &str)]) {
    let found = findings(&golden_file(name));
    let wanted: Vec<_> = expected.iter().map(|(slot, finding, _)| (*slot, *finding)).collect();
    assert_eq!(found, wanted, "{name}");
    for (_, finding, text) in expected {
        assert_eq!(finding.to_string(), *text);
    }
}

#[test]
fn what_was_damaged_is_found_and_named() {
    let (three, four) = (352, 384);
    assert_finds(
        "bad_entry3_type_12",
        &[(
            3,
            Finding::Kind { offset: three, kind: 12 },
            "index.kind at offset 382 is 12, must be 1 to 11",
        )],
    );
    assert_finds(
        "bad_entry4_type_0",
        &[(
            4,
            Finding::Kind { offset: four, kind: 0 },
            "index.kind at offset 414 is 0, must be 1 to 11",
        )],
    );
    let (n, m, kind) = (0x2000_0000_0000_0001, 8, ChunkType::U8);
    assert_finds(
        "bad_entry3_NM_wraps_u64",
        &[(
            3,
            Finding::Extent { offset: three, n, m, kind },
            "index.n at offset 360 is 2305843009213693953, but 2305843009213693953 rows of 8 uint8 \
             values are more bytes than a file can have",
        )],
    );
    assert_finds(
        "bad_entry3_extent_past_eof",
        &[(
            3,
            Finding::Outside { offset: three, start: 5496, len: 400_000, file_len: 5736 },
            "index.location at offset 368 is 5496, where 400000 bytes must be, but the file ends at \
             5736",
        )],
    );
    assert_finds(
        "bad_entry3_location_negative",
        &[(
            3,
            Finding::Location { offset: three, location: -8 },
            "index.location at offset 368 is -8, must be at least 256",
        )],
    );
    assert_finds(
        "bad_hole_entry4_location_0",
        &[(
            4,
            Finding::Empty { offset: four },
            "index.location at offset 400 is 0, though slots behind it are used",
        )],
    );
    assert_finds(
        "bad_entry4_frame_decreases",
        &[(
            4,
            Finding::Order { offset: four, frame: 0, before: 1 },
            "index.frame at offset 384 is 0, must be at least 1 as before it",
        )],
    );
    assert_finds(
        "bad_dup_frame_id",
        &[(
            4,
            Finding::Duplicate { offset: four, frame: 1, id: 0 },
            "index.id at offset 412 is 0, but the entry before it is that of frame 1",
        )],
    );
}

#[test]
fn what_no_entry_says_is_not_found_in_entries() {
    // chunks that overlap each other, names that are the same, what is behind the end
    for name in [
        "bad_overlapping_data",
        "bad_dup_names",
        "bad_torn_last_frame",
        "bad_app_not_nul_terminated",
        "bad_v1_junk_after_nul_in_name",
    ] {
        assert_eq!(findings(&golden_file(name)), [], "{name}");
    }
}

/// Index at 1024 of 16 slots, of which 8 are shown; names at 2048 to 2112, three; shadow at 512.
fn check() -> EntryCheck {
    EntryCheck {
        version: Version { major: 2, minor: 1 },
        file_len: 10_000,
        shown: IndexBlock { location: 1024, slots: 8 },
        index: IndexBlock { location: 1024, slots: 16 },
        names: NameBlock { location: 2048, units: 1 },
        name_count: 3,
        shadow: Some(512),
    }
}

const GOOD: Entry = Entry { frame: 2, n: 10, location: 3000, m: 2, id: 1, kind: 9, flags: 0 };

fn found(check: EntryCheck, before: Option<Entry>, entry: Entry) -> Vec<Finding> {
    found_at(check, before, entry, 5000)
}

fn found_at(check: EntryCheck, before: Option<Entry>, entry: Entry, offset: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    check.findings(before.map(raw).as_ref(), &raw(entry), offset, |it| found.push(it));
    found
}

#[test]
fn a_chunk_is_nowhere_but_in_its_place() {
    let find = |location, n| found(check(), None, Entry { location, n, ..GOOD });
    let overlap = |start, len, part| Finding::Overlap { offset: 5000, start, len, part };
    // 8 bytes a row
    assert_eq!(find(1536, 1), []); // behind all 16 slots
    assert_eq!(find(1016, 1), [overlap(1016, 8, Part::Shadow)]); // in front of them
    assert_eq!(find(1528, 1), [overlap(1528, 8, Part::Index)]); // a slot that is not shown
    assert_eq!(find(1017, 1), [overlap(1017, 8, Part::Index), overlap(1017, 8, Part::Shadow)]);
    assert_eq!(find(2104, 1), [overlap(2104, 8, Part::Names)]);
    assert_eq!(find(2112, 1), []);
    assert_eq!(find(760, 1), [overlap(760, 8, Part::Shadow)]);
    assert_eq!(find(768, 1), [overlap(768, 8, Part::Shadow)]); // the second one
    assert_eq!(find(504, 1), []);
    assert_eq!(
        find(256, 1000),
        [Part::Index, Part::Names, Part::Shadow].map(|part| overlap(256, 8000, part))
    );
    let text = overlap(1528, 8, Part::Index).to_string();
    assert_eq!(
        text,
        "index.location at offset 5016 is 1528, but some of the 8 bytes there are those of the index"
    );
    // no rows, no bytes
    assert_eq!(find(1100, 0), []);
    assert_eq!(
        found(EntryCheck { shadow: None, ..check() }, None, Entry { location: 600, ..GOOD }),
        []
    );

    for location in [1, 255, -1, i64::MIN] {
        assert_eq!(find(location, 0), [Finding::Location { offset: 5000, location }]);
    }
    let outside = |start, len| Finding::Outside { offset: 5000, start, len, file_len: 10_000 };
    assert_eq!(find(9992, 1), []);
    assert_eq!(find(9993, 1), [outside(9993, 8)]);
    assert_eq!(find(i64::MAX, 1), [outside(i64::MAX.unsigned_abs(), 8)]);
}

#[test]
fn everything_that_is_wrong_is_found_at_once() {
    let entry = Entry { frame: 8, n: 1, location: -5, m: 0, id: 3, kind: 12, flags: 7 };
    let before = Entry { frame: 9, ..GOOD };
    let (offset, location) = (5000, -5);
    let expected = [
        (Finding::Location { offset, location }, 16, "is -5, must be at least 256"),
        (Finding::Columns { offset }, 24, "is 0, must be at least 1"),
        (Finding::Kind { offset, kind: 12 }, 30, "is 12, must be 1 to 11"),
        (Finding::Flags { offset, flags: 7 }, 31, "is 7, must be 0"),
        (Finding::Unnamed { offset, id: 3, names: 3 }, 28, "is 3, but there are 3 names"),
        (
            Finding::Frame { offset, frame: 8, slots: 8 },
            0,
            "is 8, must be less than the 8 slots of the index",
        ),
        (
            Finding::Order { offset, frame: 8, before: 9 },
            0,
            "is 8, must be at least 9 as before it",
        ),
    ];
    assert_eq!(found(check(), Some(before), entry), expected.map(|(finding, _, _)| finding));
    for (finding, at, text) in expected {
        let (_, field) = finding.field().find(TABLES).unwrap();
        assert_eq!((finding.entry_offset(), finding.offset()), (5000, 5000 + at));
        assert_eq!(
            finding.to_string(),
            format!("index.{} at offset {} {text}", field.name, 5000 + at)
        );
    }
}

#[test]
fn ids_rise_within_a_frame_in_layer_2_only() {
    let before = Entry { id: 2, location: 4000, ..GOOD };
    let (offset, frame) = (5000, 2);
    let unsorted = Finding::Unsorted { offset, frame, id: 1, before: 2 };
    assert_eq!(found(check(), Some(before), GOOD), [unsorted]);
    assert_eq!(
        unsorted.to_string(),
        "index.id at offset 5028 is 1, must be more than 2 as before it in frame 2"
    );
    let layer_1 = EntryCheck { version: Version { major: 1, minor: 0 }, ..check() };
    assert_eq!(found(layer_1, Some(before), GOOD), []);
    let duplicate = Finding::Duplicate { offset, frame, id: 1 };
    for check in [check(), layer_1] {
        assert_eq!(found(check, Some(Entry { n: 9, ..GOOD }), GOOD), [duplicate]);
        assert_eq!(found(check, Some(Entry { frame: 1, ..before }), GOOD), []);
        assert_eq!(found(check, Some(Entry { id: 0, ..before }), GOOD), []);
    }
}

#[test]
fn entries_that_repeat_the_one_before_are_right() {
    assert_eq!(found(check(), Some(GOOD), GOOD), []);
    // what is wrong with the first is said of it alone
    let bad = Entry { kind: 99, ..GOOD };
    assert_eq!(found(check(), None, bad).len(), 1);
    assert_eq!(found(check(), Some(bad), bad), []);
}

#[test]
fn a_committed_file_is_checked_against_all_of_its_index_and_its_shadow() {
    let good = Entry { frame: 0, n: 24, location: 1280, m: 1, id: 0, kind: 1, flags: 0 };
    for major in [1, 2] {
        assert_eq!(findings(&committed_file(major, &[good])), []);
        for (location, part) in
            [(300, Part::Shadow), (600, Part::Shadow), (900, Part::Names), (1200, Part::Index)]
        {
            let found = findings(&committed_file(major, &[Entry { location, ..good }]));
            let start = location.unsigned_abs();
            assert_eq!(found, [(0, Finding::Overlap { offset: 1024, start, len: 24, part })]);
        }
    }
}

#[test]
fn findings_are_small() {
    assert!(size_of::<Finding>() <= 40);
}

fn entry() -> impl Strategy<Value = Entry> {
    let frame = prop_oneof![0..20u64, any::<u64>(), Just(u64::MAX)];
    let location = prop_oneof![0..11_000i64, any::<i64>()];
    let n = prop_oneof![0..20u64, any::<u64>()];
    let m = prop_oneof![0..4u32, any::<u32>()];
    (frame, n, location, m, 0..5u16, 0..14u8, 0..2u8).prop_map(
        |(frame, n, location, m, id, kind, flags)| Entry { frame, n, location, m, id, kind, flags },
    )
}

proptest! {
    #![proptest_config(crate::config(2000))]

    #[test]
    fn a_chunk_can_be_read_unless_something_is_wrong_with_its_own_entry(
        entry in entry(),
        before in prop::option::of(entry()),
    ) {
        let (check, offset) = (check(), 1024 + 5 * 32);
        let found = found_at(check, before, entry, offset);
        let limits = Limits { file_len: check.file_len, names: check.name_count };
        let read = Chunk::parse(&raw(entry), check.shown, 5, limits);
        let harms = |finding: &Finding| match *finding {
            Finding::Frame { frame, .. } => frame == u64::MAX,
            Finding::Overlap { .. } | Finding::Order { .. } => false,
            Finding::Unsorted { .. } | Finding::Duplicate { .. } => false,
            _ => true,
        };
        if before != Some(entry) {
            let is_readable = matches!(read, Ok(Some(_)));
            prop_assert_eq!(!is_readable, found.iter().any(harms), "{:?} {:?}", read, found);
        }
        for finding in found {
            let text = finding.to_string();
            prop_assert!(text.is_ascii() && !text.contains('\n') && !text.contains("a field"));
        }
    }
}
