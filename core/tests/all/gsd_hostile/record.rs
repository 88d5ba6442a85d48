//! The commit record: what it says holds, or it is told why not, whatever others did to the file.

use super::*;
use striae_kit::gsd_everything::Counted;

use striae_core::gsd::{Reader, Record, Slot, State, Writer};
use striae_core::step::DriveError;
use striae_kit::growing::Growing;

/// Offset of the shadow.
fn shadow(file: &Specimen) -> usize {
    usize::try_from(file.u64_at(176 + 32)).unwrap()
}

fn committed() -> [Specimen; 2] {
    [Specimen::committed(2), Specimen::committed(1)]
}

fn checksum_error(bytes: &[u8]) -> Error {
    Error::Checksum {
        field: Commit::commit_crc,
        offset: 252,
        stored: u32::from_le_bytes(bytes[252..256].try_into().unwrap()),
        computed: crc32c(&[&bytes[8..40], &bytes[176..252]]),
    }
}

#[test]
fn a_committed_file_opens_in_two_reads_and_its_checksums_are_right() {
    for file in committed() {
        let store = Counted::new(&file.bytes);
        let reader = Reader::open(&store, &mut [0; 256]).unwrap();
        assert_eq!(store.spent(), (2, 256 + 32), "{}", file.name);
        let State::Committed(record) = reader.head().state else { panic!("{}", file.name) };
        assert_eq!(signed(file.bytes.clone()), file.bytes);

        let index = &file.bytes[file.slot(0)..file.slot(5)];
        assert_eq!((record.entries, record.crc_from), (5, 0));
        assert_eq!(record.index_crc, crc32c(&[index]));
        let names_len = if file.name.ends_with('1') { 3 * 64 } else { 9 };
        assert_eq!((record.names, record.names_len), (3, names_len));
        let names = &file.bytes[file.names.0..][..usize::try_from(names_len).unwrap()];
        assert_eq!(record.names_crc, crc32c(&[names]));
        let ident = crc32c(&[&file.bytes[40..44], &file.bytes[48..176]]);
        assert_eq!(record.ident_crc, ident);
    }
}

#[test]
fn a_record_says_what_its_bytes_say() {
    for file in committed() {
        for (checksums, one_sync) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (255, 255)] {
            let bytes = file.with(176 + 40, &4u64.to_le_bytes());
            let bytes = signed(with(&bytes, 176 + 72, &[9, checksums]));
            let bytes = signed(with(&bytes, 176 + 75, &[one_sync]));
            let reader = Reader::open(bytes.as_slice(), &mut [0; 256]).unwrap();
            let u32_at = |at: usize| u32::from_le_bytes(bytes[176 + at..][..4].try_into().unwrap());
            let is_1 = file.name.ends_with('1');
            let record = Record {
                entries: 5,
                index_reserved: 8,
                data_end: 1304,
                shadow: 256,
                crc_from: 4,
                sequence: 2,
                names_len: if is_1 { 192 } else { 9 },
                names: 3,
                index_crc: u32_at(60),
                names_crc: u32_at(64),
                ident_crc: u32_at(68),
                align: 9,
                checksums: checksums == 1,
                one_sync: one_sync == 1,
                layer: if is_1 { 1 } else { 2 },
            };
            assert_eq!(reader.head().state, State::Committed(record), "{}", file.name);
        }
    }
}

#[test]
fn a_header_torn_at_any_byte_reads_as_the_new_commit() {
    for file in committed() {
        let whole = file.whole();
        let shadow = shadow(&file);
        let (old, new) =
            (file.bytes[shadow + 8..][..120].to_vec(), file.bytes[shadow + 128..][..120].to_vec());
        assert_eq!(new, image(&file.bytes));
        let before = read_everything(&with_image(&file.bytes, &old)).unwrap();
        assert_eq!((before.chunks.len(), before.head.frames), (4, 2), "the first commit");
        for cut in 0..=120 {
            let torn = [&new[..cut], &old[cut..]].concat();
            let read = read_everything(&with_image(&file.bytes, &torn)).unwrap();
            if torn == old {
                assert_eq!(read, before, "{} cut at {cut}", file.name);
                continue;
            }
            assert_eq!(read.chunks, whole.chunks, "{} cut at {cut}", file.name);
            assert_eq!(read.names, whole.names, "{} cut at {cut}", file.name);
            let is_torn = matches!(read.head.state, State::Torn(_));
            assert_eq!(is_torn, torn != new, "{} cut at {cut}", file.name);
            assert_eq!(read.head.state.record(), whole.head.state.record());
        }
    }
}

#[test]
fn a_torn_header_without_its_shadow_is_damage() {
    for file in committed() {
        let at = shadow(&file);
        let old = &file.bytes[at + 8..][..120];
        let torn = [&image(&file.bytes)[..116], &old[116..]].concat();
        let torn = Specimen { bytes: with_image(&file.bytes, &torn), ..file.clone() };
        assert!(matches!(torn.whole().head.state, State::Torn(_)));
        for byte in (0..256).filter(|byte| !(248..252).contains(byte)) {
            let bytes = torn.with(at + byte, &[!torn.bytes[at + byte]]);
            assert_eq!(open_error(&bytes), Some(checksum_error(&bytes)), "{byte}");
        }
        for place in [0, 255, file.len() - 255, file.len(), 1 << 63, u64::MAX] {
            let bytes = torn.with(176 + 32, &place.to_le_bytes());
            assert_eq!(open_error(&bytes), Some(checksum_error(&bytes)), "{place}");
        }
    }
}

#[test]
fn a_torn_header_that_was_to_be_of_an_unknown_layer_is_refused() {
    for file in committed() {
        let at = shadow(&file);
        for gsd_version in [0, 2, 4, 2 << 8, 0x0003_0000, 0x0200_0000, u32::MAX] {
            // The commit would have changed the layer as well, and its shadow is right.
            let mut new = image(&file.bytes);
            new[36..40].copy_from_slice(&u32::to_le_bytes(gsd_version));
            let mut bytes = with(&file.bytes, at + 128, &new);
            let crc = crc32c(&[&bytes[at..at + 252]]);
            bytes[at + 252..at + 256].copy_from_slice(&crc.to_le_bytes());
            let old = &bytes[at + 8..at + 128];
            let is_old = |cut: &usize| [&new[..*cut], &old[*cut..]].concat() == old;
            let first = (0..=120).find(|cut| !is_old(cut)).unwrap();
            assert!(first < 36, "bytes in front of the layer change, too");
            for cut in first..=120 {
                let torn = [&new[..cut], &old[cut..]].concat();
                let error = open_error(&with_image(&bytes, &torn));
                // In the middle of the field it may be another one.
                match error {
                    Some(Error::Version { .. }) if (37..40).contains(&cut) => {}
                    error => assert_eq!(error, Some(Error::Version { gsd_version }), "{cut}"),
                }
            }
        }
    }
}

#[test]
fn a_record_that_contradicts_the_file_is_refused() {
    for file in committed() {
        let is_1 = file.name.ends_with('1');
        let block = u64::try_from(file.names.1).unwrap();
        let names_len = if is_1 { 192 } else { 9 };
        let case = |field: FieldId, at: u64, len: usize, value: u64, max: u64| {
            let offset = 176 + at;
            let place = usize::try_from(offset).unwrap();
            let bytes = signed(file.with(place, &value.to_le_bytes()[..len]));
            let error = Error::TooLarge { field, offset, value, max };
            assert_eq!(open_error(&bytes), Some(error), "{} {error}", file.name);
        };
        for value in [6, 1 << 32, 1 << 59, u64::MAX] {
            case(Commit::entries, 8, 8, value, 5);
            case(Commit::crc_from, 40, 8, value, 5);
        }
        for value in [(1 << 58), u64::MAX] {
            case(Commit::index_reserved, 16, 8, value, (1 << 58) - 1);
        }
        for value in [file.len() + 1, u64::MAX] {
            case(Commit::data_end, 24, 8, value, file.len());
        }
        for value in [block + 1, u64::from(u32::MAX)] {
            case(Commit::names_len, 52, 4, value, block);
        }
        for value in [65536, u64::from(u32::MAX)] {
            case(Commit::names, 56, 4, value, 65535);
        }
        for value in [5, 65535] {
            case(Commit::names, 56, 4, value, if is_1 { names_len / 64 } else { names_len / 2 });
        }
        for value in [31, 255] {
            case(Commit::align, 72, 1, value, 30);
        }
    }
}

/// Else the next commit would write over what the last one has.
#[test]
fn a_file_whose_blocks_are_not_each_in_a_place_of_its_own_is_not_written_to() {
    let file = Specimen::committed(2);
    let bytes = with(&file.bytes, 256, &[0; 512]); // no shadows
    let file = Specimen { bytes: with(&bytes, 32, &[1]), ..file }; // and 64 bytes of names
    let opened = |bytes: Vec<u8>| {
        let slots = [Slot::EMPTY; 4];
        Writer::open(Growing(signed(bytes)), slots).map(drop).map_err(|error| match error {
            DriveError::Format(error) => error,
            other => panic!("{other}"),
        })
    };
    let (index, names) = (Header::index_location, Header::namelist_location);
    assert_eq!(opened(file.bytes.clone()), Ok(()));
    let overlap = |field, start, len, other| Err(Error::Overlap { field, start, len, other });
    let moved = with(&file.with(24, &1216_u64.to_le_bytes()), 1216, &file.bytes[768..777]);
    assert_eq!(opened(moved), overlap(names, 1216, 64, index));
    let shadow = Commit::shadow;
    assert_eq!(opened(file.with(176 + 32, &[1, 1])), overlap(shadow, 257, 512, names));
    let outside = Error::Outside { field: index, start: 1024, len: 256, file_len: 1279 };
    assert_eq!(opened(file.with(176 + 24, &1279_u64.to_le_bytes())), Err(outside));
}

#[test]
fn a_record_may_say_anything_without_a_panic() {
    for file in committed() {
        let fields = [(8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 4), (52, 4), (56, 4)];
        let others = [(60, 4), (64, 4), (68, 4), (72, 1), (73, 1), (74, 1), (75, 1)];
        for (at, len) in fields.into_iter().chain(others) {
            for value in
                [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 64, 255, 256, 1 << 31, 1 << 63, u64::MAX]
            {
                let bytes = signed(file.with(176 + at, &value.to_le_bytes()[..len]));
                drop(read_everything(&bytes));
                // without the right checksum it is no record
                let bytes = file.with(176 + at, &value.to_le_bytes()[..len]);
                if bytes != file.bytes {
                    assert_eq!(open_error(&bytes), Some(checksum_error(&bytes)));
                }
            }
        }
    }
}

/// As gsd appends to a file whose index is full: a new block of twice the slots at the end.
fn appended(file: &Specimen, entries: &[Entry]) -> Vec<u8> {
    let slots = file.index.1.max(entries.len()) * 2;
    let mut bytes = with(&file.bytes, 8, &file.len().to_le_bytes());
    bytes[16..24].copy_from_slice(&u64::try_from(slots).unwrap().to_le_bytes());
    let old = file.slot(0)..file.slot(file.entries);
    let mut block = file.bytes[old].to_vec();
    entries.iter().for_each(|entry| block.extend_from_slice(&entry.bytes()));
    block.resize(32 * slots, 0);
    bytes.extend_from_slice(&block);
    bytes
}

#[test]
fn what_gsd_appends_behind_a_commit_is_read() {
    for file in committed() {
        let whole = file.whole();
        // a name that gsd put behind the others, in place
        let used = if file.name.ends_with('1') { 192 } else { 9 };
        let named = Specimen { bytes: file.with(file.names.0 + used, b"new"), ..file.clone() };
        let location = 256;
        for count in [1, 2, 3, 40] {
            let entry = |frame| Entry { location, n: 3, m: 5, kind: 1, ..Entry::empty(frame, 3) };
            let entries: Vec<_> = (0..count).map(|frame| entry(3 + frame)).collect();
            let read = read_everything(&appended(&named, &entries)).unwrap();
            assert_eq!(read.head.state, State::Appended);
            assert_eq!(read.head.frames, 3 + count);
            assert_eq!(read.chunks[..5], whole.chunks);
            for (chunk, frame) in read.chunks[5..].iter().zip(3..) {
                let chunk = chunk.unwrap();
                assert_eq!((chunk.frame, chunk.id, chunk.n, chunk.m), (frame, 3, 3, 5));
            }
            let names: Vec<_> = [b"n0".as_slice(), b"n1", b"n2", b"new"].map(Vec::from).into();
            assert_eq!(read.names, Ok(names));
        }
    }
}

#[test]
fn an_index_that_no_append_can_have_moved_is_damage() {
    for file in committed() {
        let good = appended(&file, &[]);
        assert_eq!(read_everything(&good).unwrap().head.state, State::Appended);
        let data_end = file.u64_at(176 + 24);
        // into what is in use, or no larger than it was
        for (at, value) in [(8, data_end - 1), (8, 256), (16, 5), (16, 1), (24, 256), (32, 1)] {
            let bytes = with(&good, at, &value.to_le_bytes());
            assert_eq!(open_error(&bytes), Some(checksum_error(&bytes)), "{} {at}", file.name);
        }
    }
}

/// "Neither shadow has that magic and crc, though they can be where the record says, and index or
/// name list is behind data_end and larger than the record says."
#[test]
fn without_a_shadow_only_a_larger_block_behind_the_data_is_an_append() {
    for file in committed() {
        let whole = file.whole();
        let data_end = file.u64_at(176 + 24);
        assert_eq!(data_end, file.len());
        let without_shadow = |bytes: Vec<u8>| with(&bytes, 256, &[0; 512]);
        let moved = |start: u64, count: u64| [start.to_le_bytes(), count.to_le_bytes()].concat();
        let index = without_shadow(appended(&file, &[]));
        let place = file.names.0..file.names.0 + 256;
        let names = [without_shadow(file.bytes.clone()), file.bytes[place].to_vec()].concat();
        let appends = [(&index, 8, 10), (&index, 8, 6), (&names, 24, 4)];
        for (bytes, at, count) in appends {
            let read = read_everything(&with(bytes, at, &moved(data_end, count))).unwrap();
            assert_eq!(read.head.state, State::Appended, "{} {at} {count}", file.name);
            assert_eq!((read.chunks, read.names), (whole.chunks.clone(), whole.names.clone()));
        }
        // one byte too early; no larger; larger, but where it was; as it was, with another checksum
        let said = if file.name.ends_with('1') { 3 } else { 0 };
        let mut wrong = vec![
            with(&index, 8, &moved(data_end - 1, 10)),
            with(&index, 8, &moved(data_end, 5)),
            with(&index, 8, &moved(1024, 6)),
            with(&names, 24, &moved(data_end - 1, 4)),
            with(&names, 24, &moved(data_end, said)),
        ];
        wrong.push(without_shadow(file.with(252, &[!file.bytes[252]])));
        // no append has made a record whose shadows cannot be where it says
        for place in [0, 255, index.len() - 511, usize::MAX] {
            wrong.push(with(&index, 176 + 32, &(place as u64).to_le_bytes()));
        }
        for bytes in wrong {
            assert_eq!(open_error(&bytes), Some(checksum_error(&bytes)), "{}", file.name);
        }
    }
}

#[test]
fn a_file_that_gsd_truncates_or_rewrites_has_no_record_any_more() {
    for file in committed() {
        let bytes = file.with(176, &[0; 80]); // all that gsd_truncate leaves of `reserved`
        let read = read_everything(&bytes).unwrap();
        assert_eq!((read.head.state, &read.chunks), (State::Plain, &file.whole().chunks));
    }
}

#[test]
fn a_minor_version_that_gsd_raises_leaves_the_record_alone_and_an_upgrade_does_not() {
    for (file, major) in committed().iter().zip([2u32, 1]) {
        let layer = |major: u32, minor: u32| file.with(44, &(major << 16 | minor).to_le_bytes());
        let whole = file.whole();
        for minor in [0, 1, 9] {
            let read = read_everything(&layer(major, minor)).unwrap();
            assert_eq!(read.head.state, whole.head.state);
        }
        // gsd_upgrade packs the names in place, which this does not: it is only about the state
        match read_everything(&layer(3 - major, 0)) {
            Ok(read) => assert_eq!(read.head.state, State::Appended),
            Err(error) => assert!(matches!(error, Error::Unnamed { .. }), "{error}"),
        }
    }
}

#[test]
fn an_entry_behind_the_committed_ones_is_seen_where_slots_are_shown() {
    for file in committed() {
        // as after a commit of more frames than entries: 8 slots are shown, 5 of them are used
        let shown = signed(file.with(16, &8u64.to_le_bytes()));
        let read = read_everything(&shown).unwrap();
        assert_eq!(read.chunks, file.whole().chunks);
        assert!(matches!(read.head.state, State::Committed(_)));
        // gsd fills the next
        let entry = Entry { frame: 7, n: 1, location: 256, m: 1, id: 2, kind: 1, flags: 0 };
        let bytes = with(&shown, file.slot(5), &entry.bytes());
        let read = read_everything(&bytes).unwrap();
        assert_eq!((read.head.state, read.head.frames), (State::Appended, 8));
        assert_eq!(read.chunks.len(), 6);
        assert_eq!(read.chunks[..5], file.whole().chunks);
    }
}

#[test]
fn what_gsd_appends_behind_a_torn_header_is_read() {
    for file in committed() {
        let whole = file.whole();
        let shadow = shadow(&file);
        let (old, new) = (&file.bytes[shadow + 8..][..120], &file.bytes[shadow + 128..][..120]);
        for cut in 0..=120 {
            let torn = with_image(&file.bytes, &[&new[..cut], &old[cut..]].concat());
            let shown = usize::from(torn[16]);
            let torn = Specimen { bytes: torn, entries: shown, ..file.clone() };
            let entry = Entry { n: 1, kind: 1, ..Entry::empty(9, 2) };
            let read = read_everything(&appended(&torn, &[entry])).unwrap();
            assert_eq!(read.head.state, State::Appended, "{} cut at {cut}", file.name);
            assert_eq!(read.chunks[..shown], whole.chunks[..shown], "{} cut at {cut}", file.name);
            assert_eq!((read.chunks.len(), read.head.frames), (shown + 1, 10));
        }
    }
}

#[test]
fn entries_that_repeat_the_one_before_are_one_chunk() {
    for major in [1, 2] {
        for repeated in 0..5 {
            let five = five_entries(1280);
            let whole = Specimen::committed(major).whole();
            let mut entries = five.clone();
            entries.splice(repeated..repeated, [five[repeated]; 3]);
            let read = read_everything(&committed_file(major, &entries)).unwrap();
            assert_eq!((read.head.entries, &read.chunks), (8, &whole.chunks));
            let made = Made { layer: (major, 0), ..Made::new(entries, 3) };
            let read = read_everything(&[made.bytes(), vec![0; 1304]].concat()).unwrap();
            assert_eq!((read.head.entries, &read.chunks), (8, &whole.chunks));
        }
    }
}

#[test]
fn a_name_behind_those_that_are_committed_is_not_there() {
    for file in committed() {
        let bytes = signed(file.with(176 + 56, &2u32.to_le_bytes()));
        let reader = Reader::open(bytes.as_slice(), &mut [0; 256]).unwrap();
        let find = |name: &[u8]| reader.name_id(name, &mut [0; 64]).unwrap();
        assert_eq!((find(b"n1"), find(b"n2")), (Some(1), None), "{}", file.name);
        let read = read_everything(&bytes).unwrap();
        assert_eq!(read.names, Ok([b"n0", b"n1"].map(|name| name.to_vec()).into()));
        let error = Error::Unnamed { offset: 1024 + 3 * 32 + 28, id: 2, names: 2 };
        assert_eq!(read.chunks[3], Err(error));
    }
}
