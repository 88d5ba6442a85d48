//! Commits of one sync: they stand in a shadow before they do in the header.

use super::{Change, Disk, Hooked};
use std::cell::{Cell, RefCell};
use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, State, Writer};
use striae_core::store::{FixedSize, WriteAt};
use striae_kit::gsd_files::{image, signed, with, with_image};

/// A disk that counts its syncs.
fn counting(
    disk: Disk,
    syncs: &Cell<usize>,
) -> Hooked<Disk, impl FnMut(&mut Disk, Change<'_>) -> Result<(), FixedSize>> {
    let hook = move |disk: &mut Disk, change: Change<'_>| {
        syncs.update(|syncs| syncs + usize::from(matches!(change, Change::Sync)));
        change.make(disk)
    };
    Hooked { disk, hook }
}

/// A file after each of some commits of a frame of 8 bytes, and the syncs that they took.
fn commits(attributes: &Attributes<'_>, count: u64) -> Vec<(Vec<u8>, usize)> {
    let (mut disk, mut files) = (Disk::new(Vec::new()), Vec::new());
    let memory = [Slot::EMPTY; 4];
    Writer::create(&mut disk, attributes, memory).map(drop).unwrap();
    for frame in 0..count {
        let (bytes, syncs) = (disk.bytes.clone(), Cell::new(0));
        // Another writer each time but the first: one that goes on is no other than one that is
        // new.
        let mut writer = Writer::open(counting(disk, &syncs), memory).unwrap();
        let id = writer.name(b"step").unwrap();
        assert!(bytes.len() > 512);
        writer.write_chunk(id, ChunkType::U64, 1, &frame.to_le_bytes()).unwrap();
        writer.end_frame().unwrap();
        writer.commit().unwrap();
        disk = writer.into_store().disk;
        files.push((disk.bytes.clone(), syncs.get()));
    }
    files
}

const ONE_SYNC: Attributes<'_> = Attributes {
    application: "",
    schema: "",
    schema_version: striae_core::gsd::Version { major: 0, minor: 0 },
    layer: striae_core::gsd::Version::LAYER,
    align: 1,
    checksums: false,
    one_sync: true,
    index_slots: 256,
    shown_slots: 128,
    names_len: 1024,
};

fn frames(file: &[u8]) -> (u64, State) {
    let head = *Reader::open(file, &mut [0; 256]).unwrap().head();
    (head.frames, head.state)
}

#[test]
fn commits_that_only_add_take_one_sync_and_others_two() {
    let syncs = |attributes| -> Vec<_> {
        commits(attributes, 5).into_iter().map(|(_, syncs)| syncs).collect()
    };
    // A writer that opens a file makes durable what it finds, with another one. The first commit
    // has a new name.
    assert_eq!(syncs(&ONE_SYNC), [3, 2, 2, 2, 2]);
    assert_eq!(syncs(&Attributes { one_sync: false, ..ONE_SYNC }), [3, 3, 3, 3, 3]);
    // With bytes that nobody wrote between chunks, what was added cannot be proven.
    assert_eq!(syncs(&Attributes { align: 512, ..ONE_SYNC }), [3, 3, 3, 3, 3]);
}

#[test]
fn a_commit_is_there_whatever_of_the_two_headers_before_it_stands() {
    let files: Vec<_> = commits(&ONE_SYNC, 6).into_iter().map(|(file, _)| file).collect();
    for (number, three) in files.windows(3).enumerate().skip(1) {
        let [before, behind] = [&three[0], &three[1]].map(|file| image(file));
        let want = number as u64 + 3;
        assert_eq!(frames(&three[2]).0, want);
        for cut in 0..=behind.len() {
            let torn = [&behind[..cut], &before[cut..]].concat();
            let file = with_image(&three[2], &torn);
            let (found, state) = frames(&file);
            assert_eq!(found, want, "cut at {cut} of commit {number}");
            assert!(matches!(state, State::Ahead(_)));
            let mut disk = Disk::new(file);
            Writer::open(&mut disk, [Slot::EMPTY; 4]).map(drop).unwrap();
            let (found, state) = frames(&disk.bytes);
            assert_eq!(found, want);
            assert!(matches!(state, State::Committed(_)));
        }
    }
}

#[test]
fn a_commit_of_which_a_byte_is_missing_was_not_made() {
    let files: Vec<_> = commits(&ONE_SYNC, 4).into_iter().map(|(file, _)| file).collect();
    let [before, behind] = [&files[2], &files[3]];
    let file = with_image(behind, &image(before));
    assert_eq!(frames(&file).0, 4);
    let differing = (1024..file.len()).filter(|&at| before.get(at) != Some(&file[at]));
    let differing: Vec<_> = differing.collect();
    // The chunk's bytes are 3 and zeros, and what is not zero of its entry must be there.
    assert!(differing.len() >= 9, "{differing:?}");
    for at in differing {
        let mut file = file.clone();
        file[at] ^= 0x10;
        let (found, state) = frames(&file);
        assert_eq!(found, 3, "byte {at}");
        assert!(matches!(state, State::Committed(_)));
    }
}

/// "Its `old` is that header."
#[test]
fn a_shadow_proves_no_commit_if_the_header_is_not_its_old_one() {
    let files: Vec<_> = commits(&ONE_SYNC, 4).into_iter().map(|(file, _)| file).collect();
    let old = image(&files[2]);
    let ahead = with_image(&files[3], &old);
    assert!(matches!(frames(&ahead).1, State::Ahead(_)));
    // The schema's version is in no checksum of the record; the one of all else is made right.
    for at in (0..116).filter(|at| !(36..40).contains(at)) {
        let mut other = old.clone();
        other[at] ^= 1;
        let file = signed(with_image(&files[3], &other));
        if let Ok(reader) = Reader::open(file.as_slice(), &mut [0; 256]) {
            assert!(!matches!(reader.head().state, State::Ahead(_)), "byte {at}");
        }
    }
    let schema_version = with_image(&files[3], &[&old[..32], &[9], &old[33..]].concat());
    assert!(matches!(frames(&schema_version).1, State::Committed(_)));
    // gsd raises the minor version when it opens a file, and never lowers it
    for (minor, is_ahead) in [(0, false), (1, true), (2, true), (255, true)] {
        let file = with(&ahead, 44, &[minor]);
        assert_eq!(matches!(frames(&file).1, State::Ahead(_)), is_ahead, "{minor}");
    }
}

/// A hook that takes so many bytes, and then no more.
fn ending(mut fuel: usize) -> impl FnMut(&mut Disk, Change<'_>) -> Result<(), FixedSize> {
    move |disk, change| {
        let Change::Write(offset, bytes) = change else { return change.make(disk) };
        let taken = bytes.len().min(fuel);
        fuel -= taken;
        disk.write_all_at(offset, &bytes[..taken])?;
        let (len, wanted) = (disk.bytes.len(), u64::MAX);
        if taken == bytes.len() { Ok(()) } else { Err(FixedSize { len, wanted }) }
    }
}

#[test]
fn a_commit_is_there_wherever_a_writer_is_cut_that_mends_the_headers_before_it() {
    let files: Vec<_> = commits(&ONE_SYNC, 5).into_iter().map(|(file, _)| file).collect();
    let mut cuts = 0;
    for (number, three) in files.windows(3).enumerate().skip(1) {
        let [before, behind] = [&three[0], &three[1]].map(|file| image(file));
        let all = (0..behind.len()).filter(|&at| behind[at] != before[at]).map(|at| at + 1);
        for cut in [0].into_iter().chain(all) {
            let file = with_image(&three[2], &[&behind[..cut], &before[cut..]].concat());
            for fuel in 0.. {
                let mut disk = Disk::new(file.clone());
                let store = Hooked { disk: &mut disk, hook: ending(fuel) };
                let opened = Writer::open(store, [Slot::EMPTY; 4]).map(drop);
                assert_eq!(frames(&disk.bytes).0, number as u64 + 3, "{cut}, {fuel} bytes");
                cuts += 1;
                if opened.is_ok() {
                    break;
                }
            }
        }
    }
    assert!(cuts > 4000, "{cuts}");
}

#[test]
fn a_commit_of_chunks_in_pieces_takes_one_sync_unless_others_write_them() {
    let syncs = Cell::new(0);
    let store = counting(Disk::new(Vec::new()), &syncs);
    let mut writer = Writer::create(store, &ONE_SYNC, [Slot::EMPTY; 4]).unwrap();
    let ids = [b"a", b"b"].map(|name| writer.name(name).unwrap());
    for (frame, wanted) in [2, 1, 2, 1].into_iter().enumerate() {
        for id in ids {
            let mut chunk = writer.begin_chunk(id, ChunkType::U16, 1).unwrap();
            chunk.write(&[7; 3]).unwrap();
            chunk.write(&[8; 5]).unwrap();
            if frame == 2 {
                chunk.put(2, |store, at, _| store.write_all_at(at, &[9; 2]).map(|()| 0)).unwrap();
            }
            chunk.finish().unwrap();
        }
        writer.end_frame().unwrap();
        syncs.set(0);
        writer.commit().unwrap();
        assert_eq!(syncs.get(), wanted, "frame {frame}");
    }
    assert_eq!(frames(&writer.store().disk.bytes).0, 4);
}

/// It is what a commit adds that may not be too long.
#[test]
fn a_commit_takes_one_sync_in_a_long_file_unless_it_adds_much() {
    let syncs = Cell::new(0);
    let store = counting(Disk::new(Vec::new()), &syncs);
    let mut writer = Writer::create(store, &ONE_SYNC, [Slot::EMPTY; 4]).unwrap();
    let id = writer.name(b"a").unwrap();
    let most = 1 << 20;
    for (len, wanted) in [(2 * most, 2), (8, 1), (most + 1, 2), (most / 2, 1), (8, 1)] {
        writer.write_chunk(id, ChunkType::U8, 1, &vec![7; len]).unwrap();
        writer.end_frame().unwrap();
        syncs.set(0);
        writer.commit().unwrap();
        assert_eq!(syncs.get(), wanted, "{len}");
    }
}

/// A closed file's header is durable: who closes after commits of one sync waits for one more.
#[test]
fn closing_makes_the_last_header_durable() {
    for (attributes, wanted) in [(ONE_SYNC, 1), (Attributes { one_sync: false, ..ONE_SYNC }, 0)] {
        let syncs = Cell::new(0);
        let store = counting(Disk::new(Vec::new()), &syncs);
        let mut writer = Writer::create(store, &attributes, [Slot::EMPTY; 4]).unwrap();
        let id = writer.name(b"step").unwrap();
        for _ in 0..2 {
            writer.write_chunk(id, ChunkType::U64, 1, &[1; 8]).unwrap();
            writer.end_frame().unwrap();
            writer.commit().unwrap();
        }
        syncs.set(0);
        writer.close().unwrap();
        assert_eq!(syncs.get(), wanted, "one sync: {}", attributes.one_sync);
        writer.close().unwrap();
        assert_eq!(syncs.get(), wanted, "it is durable already");
    }
}

#[test]
fn the_first_commit_makes_what_was_found_durable() {
    for attributes in [ONE_SYNC, Attributes { one_sync: false, ..ONE_SYNC }] {
        let (disk, syncs) = (Disk::new(commits(&attributes, 2)[1].0.clone()), Cell::new(0));
        let mut writer = Writer::open(counting(disk, &syncs), [Slot::EMPTY; 4]).unwrap();
        writer.commit().unwrap();
        writer.commit().unwrap();
        writer.close().unwrap();
        assert_eq!(syncs.get(), 1, "who wrote it may have been killed before its sync");
    }
}

/// Others see the bytes of a store that gathers when writes are ordered or synced.
#[test]
fn a_commit_is_seen_by_all_readers_when_it_returns_also_if_the_store_gathers() {
    for attributes in [ONE_SYNC, Attributes::default()] {
        let seen = RefCell::new(Vec::new());
        let hook = |disk: &mut Disk, change: Change<'_>| {
            if matches!(change, Change::Order | Change::Sync) {
                seen.borrow_mut().clone_from(&disk.bytes);
            }
            change.make(disk)
        };
        let store = Hooked { disk: Disk::new(Vec::new()), hook };
        let mut writer = Writer::create(store, &attributes, [Slot::EMPTY; 4]).unwrap();
        let id = writer.name(b"step").unwrap();
        for frame in 0..6_u64 {
            writer.write_chunk(id, ChunkType::U64, 1, &frame.to_le_bytes()).unwrap();
            writer.end_frame().unwrap();
            writer.commit().unwrap();
            let bytes = seen.borrow();
            let reader = Reader::open(bytes.as_slice(), &mut [0; 4096]).unwrap();
            assert_eq!(reader.frames(), frame + 1);
        }
    }
}
