//! Damaged files. Most come from one file: three frames of chunks a, b and c, ten float32 values
//! each, entries in slots 0 to 8 from offset 256, data from 5376.

use super::*;
use striae_core::gsd::ChunkType;
use striae_core::gsd::raw::{Header, IndexEntry};

fn open_error(name: &str) -> Error {
    match Reader::open(golden_file(name).as_slice(), &mut [0; 256]) {
        Err(DriveError::Format(error)) => error,
        other => panic!("{name}: {other:?}"),
    }
}

/// The chunk in slot `slot` of that file.
fn chunk_in(slot: u64) -> Chunk {
    Chunk {
        frame: slot / 3,
        id: u16::try_from(slot % 3).unwrap(),
        kind: ChunkType::F32,
        n: 10,
        m: 1,
        span: Span::new(5376 + 40 * slot, 40).unwrap(),
    }
}

/// The values of that file's chunks are frame, frame + 1, ... frame + 9.
fn assert_values(file: &File<'_>, chunk: Chunk) {
    let values = bytes_of(file, chunk.span).chunks_exact(4);
    for (value, offset) in values.zip(0u8..) {
        let frame = u8::try_from(chunk.frame).unwrap();
        assert_eq!(f32::from_le_bytes(value.try_into().unwrap()), f32::from(frame + offset));
    }
}

/// The file reads as the one that it was made from, but for what `change` does to the list; what is
/// listed is found by any window.
fn assert_reads(name: &str, frames: u64, change: impl Fn(&mut Vec<Result<Chunk, Error>>)) {
    let bytes = golden_file(name);
    let file = open(&bytes);
    assert_eq!(file.frames(), frames, "{name}");
    let mut expected: Vec<_> = (0..9).map(|slot| Ok(chunk_in(slot))).collect();
    change(&mut expected);
    for window in WINDOWS {
        assert_eq!(list(&file, window), expected, "{name}");
    }
    for (slot, listed) in (0..).zip(&expected) {
        // an entry that cannot be right still has frame and id
        let key = listed.as_ref().map_or(chunk_in(slot), |chunk| *chunk);
        let first = expected
            .iter()
            .find(|other| other.is_ok_and(|other| (other.frame, other.id) == (key.frame, key.id)));
        let wanted = first.unwrap_or(listed).map(Some);
        for window in WINDOWS {
            let found = said(file.find(key.frame, key.id, &mut vec![0; window]));
            assert_eq!(found, wanted, "{name} slot {slot} window {window}");
        }
        if listed.is_ok() && name != "bad_overlapping_data" {
            assert_values(&file, key);
        }
    }
}

#[test]
fn what_does_not_harm_the_index_does_not_harm_the_chunks() {
    for name in [
        "bad_app_not_nul_terminated",
        "bad_dup_names",
        "bad_name_invalid_utf8",
        "bad_version_2_9_accepted",
    ] {
        assert_reads(name, 3, |_| ());
    }
    let bytes = golden_file("bad_app_not_nul_terminated");
    let application = open(&bytes).head().header.application;
    assert_eq!(application.as_bytes(), [b'A'; 64]);
    assert!(!application.is_terminated());

    let bytes = golden_file("bad_dup_names");
    let file = open(&bytes);
    assert_eq!(names_of(&file, 64), [b"a", b"a", b"c"]);
    assert_eq!(file.name_id(b"a", &mut [0; 64]).unwrap(), Some(0));
    assert_eq!(file.name_id(b"b", &mut [0; 64]).unwrap(), None);

    let bytes = golden_file("bad_name_invalid_utf8");
    let file = open(&bytes);
    assert_eq!(names_of(&file, 64), [b"\xff", b"b", b"c"]);
    assert_eq!(file.name_id(b"\xff", &mut [0; 64]).unwrap(), Some(0));

    let bytes = golden_file("bad_version_2_9_accepted");
    assert_eq!(open(&bytes).head().header.version, Version { major: 2, minor: 9 });
}

#[test]
fn bytes_behind_the_nul_of_a_slot_do_not_belong_to_the_name() {
    let bytes = golden_file("bad_v1_junk_after_nul_in_name");
    let file = open(&bytes);
    let names: [&[u8]; 2] = [b"configuration/step", b"particles/position"];
    assert_eq!(names_of(&file, 64), names);
    for (id, name) in (0..).zip(names) {
        assert_eq!(file.name_id(name, &mut [0; 7]).unwrap(), Some(id));
    }
    assert_eq!(file.frames(), 5);
    let chunk = |slot: u64| {
        let (frame, id) = (slot / 2, u16::try_from(slot % 2).unwrap());
        let start = 12544 + 44 * frame;
        match id {
            0 => {
                let span = Span::new(start, 8).unwrap();
                Ok(Chunk { frame, id, kind: ChunkType::U64, n: 1, m: 1, span })
            }
            _ => {
                let span = Span::new(start + 8, 36).unwrap();
                Ok(Chunk { frame, id, kind: ChunkType::F32, n: 3, m: 3, span })
            }
        }
    };
    let chunks: Vec<_> = (0..10).map(chunk).collect();
    assert_eq!(list(&file, 4096), chunks);
}

#[test]
fn an_entry_that_cannot_be_right_is_an_error_in_its_place() {
    let no_type = |offset, kind| Err(Error::NoType { offset, kind });
    assert_reads("bad_entry3_type_12", 3, |list| list[3] = no_type(256 + 3 * 32 + 30, 12));
    assert_reads("bad_entry4_type_0", 3, |list| list[4] = no_type(256 + 4 * 32 + 30, 0));

    let n = 0x2000_0000_0000_0001;
    let extent = Error::Extent { offset: 256 + 3 * 32 + 8, n, m: 8, kind: ChunkType::U8 };
    assert_reads("bad_entry3_NM_wraps_u64", 3, |list| list[3] = Err(extent));

    let (offset, end, file_len) = (256 + 3 * 32 + 16, 5376 + 120 + 400_000, 5736);
    let outside = Error::ChunkCut { offset, end, file_len };
    assert_reads("bad_entry3_extent_past_eof", 3, |list| list[3] = Err(outside));

    let low = |slot: u64, value| Error::TooSmall {
        field: IndexEntry::location,
        offset: 256 + slot * 32 + 16,
        value,
        min: 256,
    };
    assert_reads("bad_entry3_location_negative", 3, |list| list[3] = Err(low(3, -8)));
    assert_reads("bad_hole_entry4_location_0", 3, |list| list[4] = Err(low(4, 0)));
}

#[test]
fn chunks_that_share_bytes_are_read_as_their_entries_say() {
    assert_reads("bad_overlapping_data", 3, |list| {
        list[5].as_mut().unwrap().span = chunk_in(4).span;
    });
}

#[test]
fn the_first_of_two_chunks_of_one_frame_and_name_is_found() {
    assert_reads("bad_dup_frame_id", 3, |list| list[4].as_mut().unwrap().id = 0);
    let bytes = golden_file("bad_dup_frame_id");
    assert_eq!(open(&bytes).find(1, 1, &mut [0; 32]).unwrap(), None);
}

#[test]
fn in_a_frame_that_is_not_sorted_a_chunk_is_found_or_not_but_never_another() {
    let bytes = golden_file("bad_entry4_frame_decreases");
    let file = open(&bytes);
    let mut expected: Vec<_> = (0..9).map(chunk_in).collect();
    expected[4].frame = 0;
    assert_eq!(list(&file, 64), expected.iter().map(|&chunk| Ok(chunk)).collect::<Vec<_>>());
    for window in WINDOWS {
        for frame in 0..3 {
            for id in 0..3 {
                if let Some(found) = file.find(frame, id, &mut vec![0; window]).unwrap() {
                    assert_eq!((found.frame, found.id), (frame, id));
                    assert!(expected.contains(&found));
                }
            }
        }
        assert_eq!(file.find(1, 1, &mut vec![0; window]).unwrap(), None);
    }
}

#[test]
fn slots_that_the_header_does_not_show_are_not_read() {
    assert_reads("bad_index_alloc_too_small_for_used", 2, |list| list.truncate(4));
    assert_reads("bad_index_alloc_0", 0, Vec::clear);
    let bytes = golden_file("bad_index_alloc_0");
    assert_eq!(names_of(&open(&bytes), 64), [b"a", b"b", b"c"]);
}

#[test]
fn an_entry_without_a_location_ends_the_index() {
    assert_reads("bad_torn_last_frame", 3, |list| list.truncate(8));
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let names_at = |start, file_len| {
        let (field, len) = (Header::namelist_location, 1024);
        Error::Outside { field, start, len, file_len }
    };
    let cases = [
        (
            "bad_index_loc_minus1",
            Error::Outside {
                field: Header::index_location,
                start: u64::MAX,
                len: 128 * 32,
                file_len: 5736,
            },
            "header.index_location at offset 8 is 18446744073709551615, where 4096 bytes must be, but the file \
             ends at 5736",
        ),
        (
            "bad_magic_byteswapped",
            Error::NotGsd { magic: [0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf] },
            "header.magic at offset 0 is 0xdf65df65df65df65, must be 0x65df65df65df65df",
        ),
        (
            "bad_namelist_not_terminated",
            Error::NotTerminated { offset: 5375, value: b'A' },
            "the last byte of the name list at offset 5375 is 65, must be 0",
        ),
        (
            "bad_stale_entries_after_end",
            Error::Order { offset: 256 + 10 * 32, frame: 0, before: 2 },
            "index.frame at offset 576 is 0, must be at least 2 as before it",
        ),
        (
            "bad_trunc_in_index",
            names_at(4352, 1000),
            "header.namelist_location at offset 24 is 4352, where 1024 bytes must be, but the file ends at 1000",
        ),
        (
            "bad_trunc_in_namelist",
            names_at(4352, 4400),
            "header.namelist_location at offset 24 is 4352, where 1024 bytes must be, but the file ends at 4400",
        ),
        (
            "bad_trunc_relocated_index",
            // slot 480, which the search for the end looks at
            Error::ChunkCut { offset: 14_596 + 480 * 32 + 16, end: 31876, file_len: 31852 },
            "index.location at offset 29972: the chunk ends at 31876, but the file at 31852",
        ),
        (
            "bad_version_0_9",
            Error::Version { gsd_version: 9 },
            "header.gsd_version at offset 44 is 0.9, must be 0.3, 1.x or 2.x",
        ),
        (
            "bad_zero_length",
            Error::Cut { file_len: 0 },
            "the header needs 256 bytes, but the file ends at 0",
        ),
    ];
    for (name, error, text) in cases {
        assert_eq!(open_error(name), error, "{name}");
        assert_eq!(error.to_string(), text);
        assert!(!error.blames_caller());
    }
}

#[test]
fn every_damaged_file_has_a_test() {
    let source = include_str!("damaged.rs");
    for golden in golden_files().into_iter().filter(|golden| !golden.is_valid()) {
        assert!(source.contains(&format!("\"{}\"", golden.name)), "{}", golden.name);
    }
}
