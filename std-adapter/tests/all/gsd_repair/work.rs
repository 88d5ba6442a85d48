//! Recovering is as much work as a file is long, whatever stands in it.
#![cfg(target_os = "linux")]

use super::*;
use made::frames_of;
use striae::gsd::recover::{Loss, Recover};
use striae_core::gsd::raw::{Commit, Header, IndexEntry};
use striae_core::integrity::crc32c;
use zerocopy::{FromZeros, IntoBytes};

/// Where the data of [`sealed`] start.
const DATA: u64 = 768;

/// A file with a commit record by which frames have checksums, and zeros in place of their name.
fn sealed(entries: &[IndexEntry], data: &[u8]) -> Vec<u8> {
    let names = DATA + data.len() as u64;
    let (index, slots) = (names + 64, entries.len() as u64);
    let mut header = Header::new_zeroed();
    header.magic = Header::MAGIC.into();
    header.index_location = index.into();
    header.index_allocated_entries = slots.into();
    header.namelist_location = names.into();
    header.namelist_allocated_entries = 1.into();
    header.gsd_version = striae_core::gsd::Version::LAYER.number().into();
    let mut image = header.image();
    image.commit = Commit {
        magic: Commit::MAGIC,
        entries: slots.into(),
        index_reserved: slots.into(),
        data_end: (index + 32 * slots).into(),
        shadow: 256.into(),
        sequence: 1.into(),
        names: 1.into(),
        names_len: 14.into(),
        names_crc: crc32c(0, b"striae/crc32c\0").into(),
        index_crc: crc32c(0, entries.as_bytes()).into(),
        ident_crc: crc32c(0, &header.as_bytes()[40..44]).into(),
        checksums: 1,
        layer: 2,
        ..Commit::new_zeroed()
    };
    image.commit.commit_crc = image.commit_crc(crc32c).into();
    header.reserved.copy_from_slice(image.commit.as_bytes());
    let mut file = header.as_bytes().to_vec();
    file.resize(768, 0);
    file.extend(data);
    file.resize(file.len() + 64, 0);
    file.extend(entries.as_bytes());
    file
}

fn entry(frame: u64, id: u16, location: u64, n: u64, (kind, m): (u8, u32)) -> IndexEntry {
    let location = (location as i64).into();
    IndexEntry {
        frame: frame.into(),
        n: n.into(),
        location,
        m: m.into(),
        id: id.into(),
        kind,
        flags: 0,
    }
}

/// Bytes that this thread has read from files so far.
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// Rows of uint32, two a row, as checksums have.
const ROWS: (u8, u32) = (3, 2);

/// A frame of many chunks that could each be the one with its checksums, all of the same bytes.
fn many_candidates() -> Vec<u8> {
    let count = 300_u64;
    let data: Vec<u8> = (0..8 * count).map(|at| (at * 37 % 251) as u8).collect();
    let entries: Vec<_> = (0..count).map(|id| entry(0, id as u16, DATA, count, ROWS)).collect();
    sealed(&entries, &data)
}

/// Many frames of a chunk of the same bytes, each with a row that is not that of the chunk and with
/// one that is right, of the checksums themselves.
fn many_frames() -> Vec<u8> {
    let (len, frames) = (1 << 16, 200_u64);
    let mut data: Vec<u8> = (0..len).map(|at| (at * 37 % 251) as u8).collect();
    let mut entries = Vec::new();
    for frame in 0..frames {
        let at = DATA + data.len() as u64;
        entries.push(entry(frame, 0, DATA, len, (1, 1)));
        let own = entry(frame, 1, at, 2, ROWS);
        let mut rows = [0_u32, 12345, 1, 0].map(u32::to_le_bytes).concat();
        let crc = own.sealed_crc(crc32c(0, &rows[..8]), crc32c);
        rows[12..].copy_from_slice(&crc.to_le_bytes());
        data.extend(rows);
        entries.push(own);
    }
    sealed(&entries, &data)
}

#[test]
fn no_more_is_read_to_find_the_checksums_than_a_few_times_the_file() {
    for (name, bytes) in [("candidates", many_candidates()), ("frames", many_frames())] {
        let (_dir, path) = file_of(&bytes);
        let before = bytes_read();
        let recovery = Recover::new().examine(&path).unwrap();
        let (read, len) = (bytes_read() - before, bytes.len() as u64);
        println!("{name}: {len} bytes, {read} read");
        assert!(read < 32 * len, "{name}: {read} of {len}");
        assert_eq!(recovery.frames(), 0, "{name}");
        let losses: Vec<_> = recovery.runs().map(|run| run.certainty).collect();
        let lost = Certainty::Lost(Loss::Checksums);
        assert_eq!(losses, [lost], "{name}");
    }
}

/// The bound is nothing to a file that was only damaged.
#[test]
fn checksums_are_found_without_their_name_behind_many_frames_that_are_damaged() {
    let made = Made::new(Shape { frames: 120, ..Shape::default() });
    let mut bytes = made.bytes.clone();
    let (_dir, path) = file_of(&bytes);
    let file = striae::gsd::File::open(&path).unwrap();
    let names = file.head().name_list();
    bytes[names.offset() as usize..names.end() as usize].fill(0);
    for chunk in file.chunks().map(|chunk| chunk.unwrap()).filter(|chunk| chunk.frame < 119) {
        bytes[chunk.span.offset() as usize] ^= 1;
    }
    let (dir, path) = file_of(&bytes);
    let recovery = Recover::new().examine(&path).unwrap();
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(recovery.frames(), 1);
    let values = |frame: &made::Frame| frame.values().cloned().collect::<Vec<_>>();
    let last = values(&frames_of(&out).unwrap()[0]);
    let wanted = values(&made.frames[119]);
    assert!(last.len() == wanted.len() && wanted.iter().all(|it| last.contains(it)));
}
