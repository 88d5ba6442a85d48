//! Any bytes, and any entries.

use super::*;
use proptest::prelude::*;

fn entry() -> impl Strategy<Value = Entry> {
    let frame = prop_oneof![6 => 0..20u64, 1 => any::<u64>(), 1 => (u64::MAX - 3)..=u64::MAX];
    let location = prop_oneof![8 => 256..900i64, 1 => Just(0), 1 => any::<i64>()];
    let n = prop_oneof![8 => 0..20u64, 1 => any::<u64>()];
    let m = prop_oneof![8 => 1..4u32, 1 => any::<u32>()];
    let id = prop_oneof![8 => 0..6u16, 1 => any::<u16>()];
    let kind = prop_oneof![8 => 1..=11u8, 1 => any::<u8>()];
    let flags = prop_oneof![20 => Just(0u8), 1 => any::<u8>()];
    (frame, n, location, m, id, kind, flags).prop_map(|(frame, n, location, m, id, kind, flags)| {
        Entry { frame, n, location, m, id, kind, flags }
    })
}

proptest! {
    #![proptest_config(crate::config(400))]

    #[test]
    fn any_bytes_are_refused_or_read(
        mut bytes in prop::collection::vec(any::<u8>(), 0..1500),
        is_gsd in any::<bool>(),
        numbers in prop::array::uniform4(prop_oneof![0..1500u64, any::<u64>()]),
        version in prop_oneof![Just(1u32 << 16), Just((2u32 << 16) | 1), any::<u32>()],
    ) {
        if is_gsd && bytes.len() >= 256 {
            bytes[..8].copy_from_slice(&0x65DF_65DF_65DF_65DFu64.to_le_bytes());
            for (place, number) in bytes[8..40].chunks_exact_mut(8).zip(numbers) {
                place.copy_from_slice(&number.to_le_bytes());
            }
            bytes[44..48].copy_from_slice(&version.to_le_bytes());
        }
        drop(read_everything(&bytes));
    }

    #[test]
    fn any_entries_are_refused_or_read(
        entries in prop::collection::vec(entry(), 0..40),
        major in 1..=2u16,
        names in 0..7usize,
        slots in prop::option::of(0..50u64),
        is_sorted in any::<bool>(),
    ) {
        let mut entries = entries;
        if is_sorted {
            entries.sort_by_key(|entry| (entry.frame, entry.id));
        }
        let made = Made { layer: (major, 0), ..Made::new(entries, names) };
        let mut bytes = made.bytes();
        if let Some(slots) = slots {
            bytes[16..24].copy_from_slice(&slots.to_le_bytes());
        }
        drop(read_everything(&bytes));
    }

    #[test]
    fn any_bytes_of_a_committed_header_are_refused_or_read(
        major in 1..=2u16,
        changes in prop::collection::vec((8..256usize, any::<u8>()), 1..5),
        block in prop::option::of(any::<u64>()),
    ) {
        let file = Specimen::committed(major);
        let mut bytes = file.bytes.clone();
        for (at, value) in changes {
            bytes[at] = value;
        }
        if let Some(block) = block {
            bytes[8..16].copy_from_slice(&block.to_le_bytes());
        }
        drop(read_everything(&bytes));
    }
}

#[test]
fn errors_are_small_and_of_one_line() {
    assert!(size_of::<Error>() <= 32);
    let kind = striae_core::gsd::ChunkType::F64;
    let (field, most) = (IndexEntry::location, u64::MAX);
    let errors = [
        Error::NotGsd { magic: *b"\n\r\0\xff1234" },
        Error::Version { gsd_version: u32::MAX },
        Error::Cut { file_len: 0 },
        Error::Outside { field, start: most, len: most, file_len: most },
        Error::ChunkCut { offset: most, end: most, file_len: most },
        Error::TooSmall { field, offset: most, value: i64::MIN, min: i64::MAX },
        Error::TooLarge { field, offset: most, value: most, max: 0 },
        Error::NoType { offset: most, kind: 255 },
        Error::Extent { offset: most, n: most, m: u32::MAX, kind },
        Error::NotTerminated { offset: most, value: 255 },
        Error::Checksum { field: Commit::commit_crc, offset: 252, stored: 0, computed: u32::MAX },
        Error::Unnamed { offset: most, id: u16::MAX, names: 0 },
        Error::Order { offset: most, frame: 0, before: most },
        Error::NoFrame { frame: most, frames: 0 },
        Error::NoFrame { frame: most, frames: most },
        Error::NoRows { start: most, end: 0, n: most },
        Error::NoName { id: u16::MAX, names: 0 },
        Error::Memory { need: most, have: 0 },
        // a field of another format's tables
        Error::TooSmall { field: FieldId::new(200, 3), offset: 0, value: 0, min: 1 },
    ];
    for error in errors {
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() > 10 && text.is_ascii(), "{text}");
        assert!(!text.ends_with('.') && !text.starts_with("gsd"), "{text}");
        assert_ne!(text, "the file is damaged", "{error:?} has no text");
    }
}

#[test]
fn a_field_of_header_or_commit_record_is_named_with_its_offset() {
    let (start, len, file_len) = (4096, 512, 1000);
    for (field, offset, name) in [
        (Header::index_location, 8, "header.index_location"),
        (Header::namelist_location, 24, "header.namelist_location"),
        (Commit::shadow, 208, "commit.shadow"),
    ] {
        assert_eq!(header_offset(field), Some(offset));
        let text = Error::Outside { field, start, len, file_len }.to_string();
        assert!(text.starts_with(&format!("{name} at offset {offset} is 4096, where ")), "{text}");
        let text = Error::Overlap { field, start, len, other: field }.to_string();
        assert!(text.starts_with(&format!("{name} at offset {offset} is 4096, and ")), "{text}");
        assert!(text.ends_with(&format!(" overlap those of {name} at offset {offset}")), "{text}");
    }
    for field in [IndexEntry::location, FieldId::new(200, 8)] {
        assert_eq!(header_offset(field), None); // such fields stand in many places, or in none
        let text = Error::Outside { field, start, len, file_len }.to_string();
        assert!(text.contains(" is 4096, where ") && !text.contains("offset"), "{text}");
    }
}
