//! Files with holes: no work, and no byte of a new file, is justified by a hole.

use std::cell::Cell;
use std::convert::Infallible;
use striae_core::gsd::{ChunkType, Version};
use striae_core::integrity::crc32c;
use striae_core::sion::recover::Sparse;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_inspect::gsd::recover::Recovery;
use striae_inspect::gsd::verify::{Depth, verify};
use striae_inspect::sion::recover::{self as sion, copy};
use striae_inspect::subject::Subject;
use striae_kit::growing::Growing;
use striae_kit::piled::{chunk, file};

/// A file of which only some parts exist. It counts the bytes that are read of it, and the reads.
struct Holed {
    parts: Vec<(u64, Vec<u8>)>,
    len: u64,
    bytes: Cell<u64>,
    reads: Cell<u64>,
}

impl Holed {
    fn new(parts: Vec<(u64, Vec<u8>)>, len: u64) -> Self {
        Self { parts, len, bytes: Cell::new(0), reads: Cell::new(0) }
    }

    /// These bytes, without pages of so many zeros.
    fn of(bytes: &[u8], page: usize) -> Self {
        let pages = (0..).step_by(page).zip(bytes.chunks(page));
        let pages = pages.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
        Self::new(pages.map(|(at, bytes)| (at, bytes.to_vec())).collect(), bytes.len() as u64)
    }
}

impl ReadAt for Holed {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let len = self.len.saturating_sub(offset).min(buf.len() as u64);
        self.bytes.set(self.bytes.get() + len);
        self.reads.set(self.reads.get() + 1);
        let buf = &mut buf[..len as usize];
        buf.fill(0);
        let wanted = Span::new(offset, len).unwrap();
        for (at, bytes) in &self.parts {
            let (start, end) = ((*at).max(offset), (at + bytes.len() as u64).min(wanted.end()));
            if start < end {
                let from = &bytes[(start - at) as usize..(end - at) as usize];
                buf[(start - offset) as usize..(end - offset) as usize].copy_from_slice(from);
            }
        }
        Ok(buf.len())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.len)
    }
}

impl Subject for Holed {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Infallible> {
        let shared = |(at, bytes): &(u64, Vec<u8>)| {
            let (start, end) = ((*at).max(span.offset()), at + bytes.len() as u64);
            Span::between(start, end.min(span.end())).filter(|part| !part.is_empty())
        };
        Ok(self.parts.iter().find_map(shared))
    }
}

impl Sparse for Holed {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Infallible> {
        Subject::first_data(self, span)
    }
}

/// The start of a file with one chunk whose index, from 4096 on, has so many slots.
fn gsd_of_slots(slots: u64) -> Vec<u8> {
    let data = chunk(0, 0, ChunkType::U8, 8, 0);
    let mut bytes = file("", Version { major: 2, minor: 1 }, &["a"], &[data], b"12345678");
    let entry: [u8; 32] = bytes[256..288].try_into().unwrap();
    bytes[8..16].copy_from_slice(&4096_u64.to_le_bytes());
    bytes[16..24].copy_from_slice(&slots.to_le_bytes());
    bytes.resize(4096, 0);
    bytes.extend(entry);
    bytes
}

#[test]
fn an_index_in_a_hole_is_not_read() {
    let (start, slots) = (gsd_of_slots(1 << 27), 1 << 27);
    for tail in [None, Some(vec![0x55; 100])] {
        let mut parts = vec![(0, start.clone())];
        // What is behind the hole continues nothing.
        parts.extend(tail.map(|tail| (4096 + 32 * slots - 4096, tail)));
        let file = Holed::new(parts, 4096 + 32 * slots);
        let summary = verify(&file, Depth::Data, &mut |_| {}).unwrap();
        assert_eq!((summary.chunks, summary.frames), (1, 1));
        let recovery = Recovery::examine(&file).unwrap();
        assert_eq!(recovery.frames(), 1);
        let (bytes, reads) = (file.bytes.get(), file.reads.get());
        assert!(bytes < 16 << 20 && reads < 1000, "{bytes} bytes, {reads} reads");
    }
}

/// What `verify` and `recover` say of a file.
fn told<S: Subject<Error: std::fmt::Debug>>(file: &S) -> Vec<String> {
    let mut told = Vec::new();
    let summary = verify(file, Depth::Data, &mut |what| told.push(what.to_string())).unwrap();
    told.push(format!("{summary:?}"));
    let recovery = Recovery::examine(file).unwrap();
    told.push(format!("{:?}", recovery.runs().collect::<Vec<_>>()));
    told
}

#[test]
fn an_index_in_a_hole_is_what_it_is_with_zeros_in_the_hole() {
    const SLOTS: usize = 1 << 11;
    let used = gsd_of_slots(1)[4096..].to_vec();
    let frame = |number: u8| [&[number], &used[1..]].concat();
    let half = [vec![7], vec![0; 31]].concat(); // has no place
    let cases = [
        vec![],
        vec![(1, frame(1)), (2, frame(2))],
        vec![(700, frame(1))],
        vec![(1, frame(1)), (900, frame(1)), (SLOTS - 1, frame(9))],
        vec![(600, half.clone())],
        vec![(600, half.clone()), (1500, frame(3))],
        vec![(400, vec![0xFF; 32])],
        vec![(400, vec![0; 40]), (1000, frame(5)[..17].to_vec())],
        vec![(SLOTS - 1, frame(1))],
    ];
    let mut kinds = Vec::new();
    for case in cases {
        let mut dense = gsd_of_slots(SLOTS as u64);
        dense.resize(4096 + 32 * SLOTS, 0);
        for (slot, bytes) in &case {
            dense[4096 + 32 * slot..][..bytes.len()].copy_from_slice(bytes);
        }
        let of_dense = told(&dense.as_slice());
        for page in [32, 24, 100, 512, 4096] {
            let of_holed = told(&Holed::of(&dense, page));
            assert_eq!(of_holed, of_dense, "{case:?} in pages of {page}");
        }
        kinds.push(of_dense);
    }
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() > 4, "{kinds:#?}");
}

/// A lost frame 0 of a trajectory with many chunks, and as many empty frames as bytes.
#[test]
fn frames_without_chunks_take_what_there_is_from_frame_0_and_no_work_after_it() {
    const CHUNKS: u16 = 300;
    const FRAMES: u64 = 40_000;
    let names: Vec<_> = (0..CHUNKS).map(|id| format!("particles/{id}")).collect();
    let names: Vec<_> = ["configuration/step", "particles/N"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    // A step that is no integer, and one member with a byte of each quantity.
    let step = chunk(0, 0, ChunkType::F32, 1, 0);
    let count = chunk(0, 1, ChunkType::U32, 1, 4);
    let values = (2..CHUNKS + 2).map(|id| chunk(0, id, ChunkType::U8, 1, 6 + u64::from(id)));
    let last = chunk(FRAMES, 0, ChunkType::U64, 1, 8 + u64::from(CHUNKS));
    let chunks: Vec<_> = [step, count].into_iter().chain(values).chain([last]).collect();
    let mut data = vec![0; FRAMES as usize];
    data[4] = 1;
    let bytes = file("hoomd", Version { major: 2, minor: 0 }, &names, &chunks, &data);
    let file = Holed::of(&bytes, bytes.len());
    let recovery = Recovery::examine(&file).unwrap();
    let runs: Vec<_> = recovery.runs().collect();
    assert!(recovery.forbidden().is_some() && recovery.lost() == 1, "{runs:?}");
    assert_eq!(recovery.frames(), FRAMES);
    let reads = file.reads.get();
    assert!(reads < 2000, "{reads} reads: the members of each frame are asked for");
    let demand = recovery.demand(bytes.len() as u64);
    assert!(demand.is_fair(), "{demand:?}");
}

/// META1 of a file that was never closed, with tasks of chunks of one byte, and a last byte.
fn sion_of_chunks(tasks: u64, len: u64) -> Holed {
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let longs = |longs: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
        longs.flat_map(u64::to_le_bytes).collect()
    };
    let ntasks = i32::try_from(tasks).unwrap();
    let mut meta1: Vec<u8> = b"sion\0\0\0\0".to_vec();
    let fixed: [Vec<u8>; 2] =
        [words(&[1007, 6, 5, 1, ntasks, 1, 1]), longs(&mut [50 << 32, 0].into_iter())];
    meta1.extend(fixed.concat());
    meta1.resize(meta1.len() + 1024, 0);
    meta1.extend(longs(&mut (0..tasks)));
    meta1.extend(longs(&mut (0..tasks).map(|_| 1)));
    meta1.extend([0; 12]);
    meta1.resize(meta1.len().next_multiple_of(4096), 0);
    Holed::new(vec![(0, meta1), (len - 1, vec![1])], len)
}

#[test]
fn the_holes_of_a_sion_file_justify_no_tables() {
    let (tasks, len) = (1000, 5_000_000);
    let file = sion_of_chunks(tasks, len);
    let stored: u64 = file.parts.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let mut recovery = sion::Recovery::of(&file, crc32c).unwrap();
    recovery.examine(0, &file).unwrap();
    // In their places, the chunks had 8 bytes of META2 each, all of them zeros but one.
    assert!(recovery.is_placed_anew(0));
    let demand = recovery.demand();
    assert!(demand.is_fair() && demand.existing == stored, "{demand:?}");
    assert!(demand.own < len + (1 << 16), "{demand:?}");
    let mut to = Growing::default();
    let copy = &mut |to: &mut Growing, span, at, _| copy(&&file, to, span, at);
    recovery.write((0, &recovery.mapping()), &&file, &mut to, crc32c, copy).unwrap();
    assert!(to.0.len() as u64 <= recovery.stored() + 512, "{}", to.0.len());
    assert!(recovery.stored() <= 16 * stored + (1 << 20));

    // Whoever allows it gets all in place, and is told what is written.
    let mut recovery = sion::Recovery::of(&file, crc32c).unwrap().max_size(Some(1 << 30));
    recovery.examine(0, &file).unwrap();
    assert!(!recovery.is_placed_anew(0));
    let rows = (len - 1).div_ceil(tasks) - 18; // of 1000 bytes, after META1
    assert!(recovery.stored() >= 8 * rows * tasks, "{} of {rows} rows", recovery.stored());
}
