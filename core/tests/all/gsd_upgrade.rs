//! What it takes to make a file of layer 1 one of layer 2.

use striae_core::gsd::error::BadName;
use striae_core::gsd::{Attributes, ChunkType, Error, Reader, Slot, Version, Writer};
use striae_core::step::DriveError;
use striae_kit::growing::Growing;

const OLD: Version = Version { major: 1, minor: 0 };

/// A file of frames of so many chunks each, written with so many slots of memory.
fn written(frames: usize, chunks: usize, slots: usize, checksums: bool) -> Vec<u8> {
    let about = Attributes { layer: OLD, checksums, ..Attributes::default() };
    let mut file = Writer::create(Growing::default(), &about, vec![Slot::EMPTY; slots]).unwrap();
    let name = |number: usize| format!("n{number}").into_bytes();
    let ids: Vec<_> = (0..chunks).map(|number| file.name(&name(number)).unwrap()).collect();
    for _ in 0..frames {
        for &id in &ids {
            file.write_chunk(id, ChunkType::U8, 1, b"abc").unwrap();
        }
        file.end_frame().unwrap();
    }
    file.commit().unwrap();
    file.into_store().0
}

fn upgraded(file: &[u8], slots: usize) -> Result<Vec<u8>, Error> {
    let mut file = Writer::open(Growing(file.to_vec()), vec![Slot::EMPTY; slots]).unwrap();
    match file.upgrade() {
        Ok(()) => Ok(file.into_store().0),
        Err(DriveError::Format(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn memory_that_was_enough_to_write_a_file_is_enough_to_upgrade_it() {
    for (slots, checksums) in (2..12).flat_map(|slots| [(slots, false), (slots, true)]) {
        let chunks = slots - usize::from(checksums);
        for frames in 0..4 {
            let file = upgraded(&written(frames, chunks, slots, checksums), slots).unwrap();
            let file = Reader::open(file.as_slice(), &mut [0; 256]).unwrap();
            assert_eq!(file.head().header.version, Version::LAYER);
            let listed =
                file.chunks([0; 4096]).map(|chunk| chunk.unwrap().frame).collect::<Vec<_>>();
            assert_eq!(listed.len(), frames * slots, "{slots} slots, checksums: {checksums}");
        }
    }
}

#[test]
fn a_frame_of_as_many_chunks_as_entries_have_room_may_have_copies_behind_it() {
    // 4 slots of 40 bytes are 5 entries of 32.
    let file = written(2, 5, 8, false);
    assert!(upgraded(&file, 4).is_ok());
    let full = Error::FrameFull { frame: 0, chunks: 3 };
    assert_eq!(upgraded(&file, 3), Err(full));
}

#[test]
fn a_file_with_an_empty_name_stays_as_it_is() {
    let mut bytes = written(2, 3, 8, false);
    let at = usize::try_from(u64::from_le_bytes(bytes[24..32].try_into().unwrap())).unwrap();
    bytes[at + 64..at + 128].fill(0); // the second one
    assert_eq!(upgraded(&bytes, 8), Err(Error::BadName(BadName::Empty)));
    let mut file = Writer::open(Growing(bytes), vec![Slot::EMPTY; 8]).unwrap();
    file.upgrade().unwrap_err();
    let left = file.into_store().0;
    let file = Reader::open(left.as_slice(), &mut [0; 256]).unwrap();
    assert_eq!((file.head().header.version, file.frames()), (OLD, 2));
    assert_eq!(file.chunks([0; 256]).filter(|chunk| chunk.is_ok()).count(), 6);
}

/// A slot without a NUL is a name of 64 bytes, which takes 65 in a packed list.
#[test]
fn names_that_have_no_room_when_they_are_packed_are_refused_and_the_file_stays() {
    const SLOTS: usize = 128;
    let about = Attributes { layer: OLD, names_len: 64 * 128, ..Attributes::default() };
    let mut file = Writer::create(Growing::default(), &about, vec![Slot::EMPTY; 8]).unwrap();
    let id = file.name(b"n").unwrap();
    file.write_chunk(id, ChunkType::U8, 1, b"abc").unwrap();
    file.end_frame().unwrap();
    file.commit().unwrap();
    let mut bytes = file.into_store().0;
    bytes[176..256].fill(0); // no commit record: names are those of the list, as of gsd's files
    let at = usize::try_from(u64::from_le_bytes(bytes[24..32].try_into().unwrap())).unwrap();
    for long in [64, 65, SLOTS - 1] {
        let mut bytes = bytes.clone();
        for (number, slot) in (0..long).zip(bytes[at..at + 64 * SLOTS].chunks_exact_mut(64)) {
            slot.copy_from_slice(format!("{number:064}").as_bytes());
        }
        let other = &mut bytes[at + 64 * long..at + 64 * SLOTS];
        for (number, slot) in other.chunks_exact_mut(64).enumerate() {
            slot.copy_from_slice(format!("{number:063}\0").as_bytes());
        }
        let names = |file: &[u8]| {
            let file = Reader::open(file, &mut [0; 256]).unwrap();
            let (mut names, mut count) = (file.names([0; 4096]), 0);
            while names.next().unwrap().is_some() {
                count += 1;
            }
            (file.head().header.version, count)
        };
        match upgraded(&bytes, 8) {
            Ok(new) => assert_eq!((names(&new), long), ((Version::LAYER, SLOTS), 64)),
            Err(error) => {
                assert!(long > 64, "{error}");
                assert_eq!(error, Error::BadName(BadName::Long { len: 64, max: 63 }));
                let mut file = Writer::open(Growing(bytes), vec![Slot::EMPTY; 8]).unwrap();
                file.upgrade().unwrap_err();
                assert_eq!(names(&file.into_store().0), (OLD, SLOTS));
            }
        }
    }
}

/// Such a chunk may be listed last after an upgrade, and then nothing could be opened.
#[test]
fn a_file_with_a_chunk_that_cannot_be_read_stays_as_it_is() {
    let about = Attributes { layer: OLD, ..Attributes::default() };
    let mut file = Writer::create(Growing::default(), &about, vec![Slot::EMPTY; 8]).unwrap();
    let ids = [b"n0", b"n1", b"n2"].map(|name| file.name(name).unwrap());
    for number in [0, 2, 1] {
        file.write_chunk(ids[number], ChunkType::U8, 1, b"abc").unwrap();
    }
    file.end_frame().unwrap();
    file.commit().unwrap();
    let mut bytes = file.into_store().0;
    let at = usize::try_from(u64::from_le_bytes(bytes[8..16].try_into().unwrap())).unwrap();
    bytes[at + 32 + 24..at + 32 + 28].fill(0x7F); // columns of the second one, of the last name
    let cut = upgraded(&bytes, 8).unwrap_err();
    assert!(matches!(cut, Error::ChunkCut { .. }), "{cut}");
    let mut file = Writer::open(Growing(bytes), vec![Slot::EMPTY; 8]).unwrap();
    file.upgrade().unwrap_err();
    file.close().unwrap();
    let left = file.into_store().0;
    let file = Reader::open(left.as_slice(), &mut [0; 256]).unwrap();
    assert_eq!((file.head().header.version, file.frames()), (OLD, 1));
    assert_eq!(file.chunks([0; 256]).filter(|chunk| chunk.is_ok()).count(), 2);
}
