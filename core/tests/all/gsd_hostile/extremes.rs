//! Every field at the ends of its range.

use super::*;

use striae_core::gsd::ChunkType;
use striae_kit::hosts::stride;

const EXTREMES: [u64; 22] = [
    0,
    1,
    2,
    32,
    255,
    256,
    257,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 57,
    (1 << 58) + 1, // times 64 wraps to 64
    1 << 59,       // times 32 wraps to 0
    (1 << 59) + 1,
    1 << 60,
    1 << 62,
    i64::MAX.unsigned_abs(),
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 256,
    u64::MAX - 1,
    u64::MAX,
];

/// Why a block cannot be where a header says; `None` if it can.
fn block_error(
    file: &Specimen,
    (field, offset): (FieldId, u64),
    (start, slots): (u64, u64),
    slot_len: u64,
) -> Option<Error> {
    let (len, file_len) = (u128::from(slots) * u128::from(slot_len), file.len());
    if start < 256 {
        let value = i64::try_from(start).unwrap();
        return Some(Error::TooSmall { field, offset, value, min: 256 });
    }
    let outside =
        Error::Outside { field, start, len: u64::try_from(len).unwrap_or(u64::MAX), file_len };
    (u128::from(start) + len > u128::from(file_len)).then_some(outside)
}

/// Checks what a header leads to whose blocks are these; if they can be, it is not known what is
/// found there.
fn check_blocks(file: &Specimen, bytes: &[u8], index: (u64, u64), names: (u64, u64)) {
    let error = block_error(file, (Header::namelist_location, 24), names, 64)
        .or_else(|| block_error(file, (Header::index_location, 8), index, 32));
    let read = read_everything(bytes);
    if let Some(error) = error {
        let case = format!("{}: {index:?} {names:?}", file.name);
        assert_eq!(read.err(), Some(error), "{case}");
    }
}

#[test]
fn blocks_that_cannot_be_are_refused_and_nothing_wraps() {
    for file in [Specimen::made(2), Specimen::made(1)] {
        let (index, names) =
            ((file.u64_at(8), file.u64_at(16)), (file.u64_at(24), file.u64_at(32)));
        let near = [file.len() - 1, file.len(), file.len() + 1, names.0, index.1 + 1];
        for value in EXTREMES.into_iter().chain(near) {
            let with = |at| file.with(at, &value.to_le_bytes());
            check_blocks(&file, &with(8), (value, index.1), names);
            check_blocks(&file, &with(16), (index.0, value), names);
            check_blocks(&file, &with(24), index, (value, names.1));
            check_blocks(&file, &with(32), index, (names.0, value));
            for other in EXTREMES {
                let both = |at: usize| {
                    let two = [value.to_le_bytes(), other.to_le_bytes()].concat();
                    file.with(at, &two)
                };
                check_blocks(&file, &both(8), (value, other), names);
                check_blocks(&file, &both(24), index, (value, other));
            }
        }
    }
}

#[test]
fn fewer_slots_or_names_show_less() {
    for file in [Specimen::made(2), Specimen::made(1)] {
        let whole = file.whole();
        for slots in 0..=8u8 {
            let read = read_everything(&file.with(16, &u64::from(slots).to_le_bytes())).unwrap();
            let shown = usize::from(slots).min(5);
            assert_eq!(read.chunks, whole.chunks[..shown], "{} {slots}", file.name);
            let frames = [0, 1, 1, 2, 2, 3][shown];
            assert_eq!(read.head.frames, frames, "{} {slots}", file.name);
        }
        // no names: the first entry has one that is not there
        let error = Error::Unnamed { offset: 256 + 28, id: 0, names: 0 };
        assert_eq!(open_error(&file.with(32, &[0; 8])), Some(error));
        assert_eq!(error.to_string(), "index.id at offset 284 is 0, but there are 0 names");
    }
    let file = Specimen::made(1);
    let read = read_everything(&file.with(32, &2u64.to_le_bytes())).unwrap();
    assert_eq!(read.names, Ok(vec![b"n0".to_vec(), b"n1".to_vec()]));
    let error = Error::Unnamed { offset: 256 + 3 * 32 + 28, id: 2, names: 2 };
    assert_eq!(read.chunks[3], Err(error));
}

#[test]
fn versions_are_read_as_gsd_reads_them() {
    for file in [Specimen::made(2), Specimen::made(1)] {
        let parts = [0u16, 1, 2, 3, 4, 5, 9, 0x7fff, 0x8000, 0xffff];
        for (major, minor) in parts.into_iter().flat_map(|major| parts.map(|minor| (major, minor)))
        {
            let gsd_version = (u32::from(major) << 16) | u32::from(minor);
            let read = read_everything(&file.with(44, &gsd_version.to_le_bytes()));
            let is_readable = (1..=2).contains(&major) || (major, minor) == (0, 3);
            match read {
                Err(Error::Version { gsd_version: said }) => {
                    assert!(!is_readable && said == gsd_version, "{major}.{minor}");
                }
                // another layout of the names, so that ids may have none
                Ok(_) | Err(Error::Unnamed { .. }) => assert!(is_readable, "{major}.{minor}"),
                Err(other) => panic!("{major}.{minor}: {other}"),
            }
        }
    }
}

/// What must be said of an entry, by the rules of the format in their order.
fn entry_error(file: &Specimen, slot: usize, entry: Entry, names: u32) -> Option<Error> {
    let at = |field: usize| u64::try_from(file.slot(slot) + field).unwrap();
    let too_large = |field, at, value, max| Error::TooLarge { field, offset: at, value, max };
    let size = match entry.kind {
        1 | 5 | 11 => 1,
        2 | 6 => 2,
        3 | 7 | 9 => 4,
        _ => 8,
    };
    let len = u128::from(entry.n) * u128::from(entry.m) * size;
    let start = u128::try_from(entry.location).unwrap_or(0);
    if entry.location < 256 {
        let (field, value) = (IndexEntry::location, entry.location);
        return Some(Error::TooSmall { field, offset: at(16), value, min: 256 });
    }
    if !(1..=11).contains(&entry.kind) {
        return Some(Error::NoType { offset: at(30), kind: entry.kind });
    }
    if entry.m == 0 {
        let field = IndexEntry::m;
        return Some(Error::TooSmall { field, offset: at(24), value: 0, min: 1 });
    }
    if len > u128::from(i64::MAX.unsigned_abs()) {
        let kind = ChunkType::from_number(entry.kind).unwrap();
        return Some(Error::Extent { offset: at(8), n: entry.n, m: entry.m, kind });
    }
    if start + len > u128::from(file.len()) {
        let end = u64::try_from(start + len).unwrap();
        return Some(Error::ChunkCut { offset: at(16), end, file_len: file.len() });
    }
    if u32::from(entry.id) >= names {
        return Some(Error::Unnamed { offset: at(28), id: entry.id, names });
    }
    if entry.flags != 0 {
        return Some(too_large(IndexEntry::flags, at(31), entry.flags.into(), 0));
    }
    let max = u64::MAX - 1;
    (entry.frame == u64::MAX).then(|| too_large(IndexEntry::frame, at(0), entry.frame, max))
}

fn check_entry(file: &Specimen, whole: &Summary, slot: usize, entry: Entry) {
    let read = read_everything(&file.with(file.slot(slot), &entry.bytes()));
    let expected = entry_error(file, slot, entry, 3);
    let case = format!("{} slot {slot}: {entry:?}", file.name);
    let is_probed = file.probed().contains(&slot);
    match (read, expected) {
        // an empty slot where opening looks: the index ends there, or somewhere before
        (Ok(read), Some(Error::TooSmall { value: 0, field, .. }))
            if field == IndexEntry::location && is_probed =>
        {
            assert!(read.head.entries <= u64::try_from(slot).unwrap(), "{case}");
        }
        (Err(error), Some(expected)) if is_probed => assert_eq!(error, expected, "{case}"),
        (Err(Error::Order { .. }), None) => assert!(is_probed, "{case}"),
        (Ok(read), expected) => {
            assert!(!is_probed || expected.is_none(), "{case}");
            assert_eq!(read.chunks[slot].err(), expected, "{case}");
            for other in (0..5).filter(|&other| other != slot) {
                assert_eq!(read.chunks[other], whole.chunks[other], "{case}");
            }
        }
        (Err(error), expected) => panic!("{case}: {error}, not {expected:?}"),
    }
}

#[test]
fn extreme_values_of_entries_are_refused_in_their_place() {
    for file in [Specimen::made(2), Specimen::made(1)] {
        let whole = file.whole();
        let location = i64::try_from(file.names.0).unwrap(); // of bytes that are there
        for slot in 0..5 {
            let frame = [0, 0, 1, 1, 2][slot];
            let good = Entry { frame, n: 1, location, m: 1, id: 1, kind: 3, flags: 0 };
            let check = |entry| check_entry(&file, &whole, slot, entry);
            for value in EXTREMES {
                check(Entry { frame: value, ..good });
                check(Entry { location: value.cast_signed(), ..good });
                check(Entry { n: value, ..good });
                check(Entry { n: value, m: u32::MAX, kind: 10, ..good });
                let m = u32::try_from(value & 0xffff_ffff).unwrap();
                check(Entry { m, ..good });
                check(Entry { m, n: value, ..good });
                check(Entry { n: value, location: (u64::MAX - value).cast_signed(), ..good });
                check(Entry { id: u16::try_from(value & 0xffff).unwrap(), ..good });
            }
            for value in (0..=u8::MAX).step_by(stride(3)) {
                check(Entry { kind: value, ..good });
                check(Entry { flags: value, ..good });
            }
            for id in [0, 2, 3, 4, 255, 256, 65534, 65535] {
                check(Entry { id, ..good });
            }
        }
    }
}

#[test]
fn a_chunk_may_end_where_the_file_ends_and_not_behind() {
    for file in [Specimen::made(2), Specimen::made(1)] {
        let whole = file.whole();
        let end = i64::try_from(file.len()).unwrap();
        for (n, location) in [(0, end), (1, end - 1), (24, end - 24), (0, 256)] {
            let entry = Entry { frame: 1, n, location, m: 1, id: 2, kind: 1, flags: 0 };
            check_entry(&file, &whole, 3, entry);
            assert_eq!(entry_error(&file, 3, entry, 3), None);
        }
        for (n, location) in [(0, end + 1), (1, end), (25, end - 24)] {
            let entry = Entry { frame: 1, n, location, m: 1, id: 2, kind: 1, flags: 0 };
            check_entry(&file, &whole, 3, entry);
            assert!(entry_error(&file, 3, entry, 3).is_some());
        }
    }
}

#[test]
fn the_last_frame_that_there_can_be_is_listed_and_found() {
    for major in [1, 2] {
        let made = Made::new(vec![Entry::empty(0, 0), Entry::empty(u64::MAX - 1, 1)], 2);
        let bytes = Made { layer: (major, 0), ..made }.bytes();
        let read = read_everything(&bytes).unwrap();
        assert_eq!(read.head.frames, u64::MAX);
        assert_eq!(read.chunks[1].unwrap().frame, u64::MAX - 1);
        let made = Made::new(vec![Entry::empty(0, 0), Entry::empty(u64::MAX, 1)], 2);
        let bytes = Made { layer: (major, 0), ..made }.bytes();
        assert!(read_everything(&bytes).is_err(), "the number of frames would not be a u64");
    }
}
