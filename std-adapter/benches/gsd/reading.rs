//! Opening, finding, listing, reading; and the memory of an open file.

use crate::table::memory;
use crate::{ROUNDS, row};
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use striae::gsd::{Builder, Durability, File};

/// Frames of the long file, each of one chunk of 4 bytes.
const FRAMES: u64 = 1_000_000;

/// How often something short is done.
const TIMES: u64 = 20_000;

pub(crate) fn all(dir: &Path) {
    let path = dir.join("long.gsd");
    write_frames(&path, FRAMES);
    opening(&path);
    finding(&path);
    listing(&path);
    for what in ["open", "find", "names"] {
        memory("memory that grows", &format!("{what}, of {FRAMES} frames"), what, &path);
    }
    fs::remove_file(path).unwrap();
    chunks(dir);
}

/// A file of so many frames of one chunk of 4 bytes.
pub(crate) fn write_frames(path: &Path, frames: u64) {
    let builder = Builder::new().application("bench").durability(Durability::None);
    let mut file = builder.force(true).create(path).unwrap();
    for frame in 0..frames {
        file.write("step", &[u32::try_from(frame).unwrap()], 1).unwrap();
        file.end_frame().unwrap();
    }
    file.close().unwrap();
}

/// The bytes of its index.
pub(crate) fn index_of(path: &Path) -> (u64, u64) {
    let file = File::open(path).unwrap();
    let span = file.head().index().span().unwrap();
    (span.offset(), span.len())
}

fn opening(path: &Path) {
    let open = || {
        for _ in 0..TIMES / 10 {
            assert_eq!(File::open(path).unwrap().frames(), FRAMES);
        }
    };
    let raw = || {
        for _ in 0..TIMES / 10 {
            let mut header = [0; 256];
            fs::File::open(path).unwrap().read_exact_at(&mut header, 0).unwrap();
            black_box(header);
        }
    };
    row(&format!("open, {FRAMES} frames"), "open, and pread of the header", ROUNDS, open, raw);
}

/// Finds chunks, against reading the 32 bytes of each one's entry, whose place is known.
fn finding(path: &Path) {
    let file = File::open(path).unwrap();
    let raw = fs::File::open(path).unwrap();
    let (index, _) = index_of(path);
    let next = |i: u64| i;
    let anywhere = |i: u64| i * 7_919_881 % FRAMES;
    let orders: [(&str, &dyn Fn(u64) -> u64); 2] = [("next", &next), ("random", &anywhere)];
    for (what, frame_of) in orders {
        let find = || {
            for i in 0..TIMES {
                assert_eq!(file.find(frame_of(i), "step").unwrap().unwrap().frame, frame_of(i));
            }
        };
        let pread = || {
            for i in 0..TIMES {
                let mut entry = [0; 32];
                raw.read_exact_at(&mut entry, index + 32 * frame_of(i)).unwrap();
                assert_eq!(entry[..8], frame_of(i).to_le_bytes());
            }
        };
        let what = format!("find a chunk of the {what} frame");
        row(&what, "pread of its entry", ROUNDS, find, pread);
    }
}

fn listing(path: &Path) {
    let (offset, len) = index_of(path);
    let list = || {
        let file = File::open(path).unwrap();
        let rows: u64 = file.chunks().map(|chunk| chunk.unwrap().n).sum();
        assert_eq!(rows, FRAMES);
    };
    let raw = || read_bytes(path, offset, len);
    row(&format!("list {FRAMES} chunks"), "pread of the index", ROUNDS, list, raw);
}

/// Reads bytes of a file in pieces.
pub(crate) fn read_bytes(path: &Path, offset: u64, len: u64) {
    let file = fs::File::open(path).unwrap();
    let mut piece = vec![0; 1 << 16];
    let mut at = offset;
    while at < offset + len {
        let len = usize::try_from(offset + len - at).unwrap().min(piece.len());
        file.read_exact_at(&mut piece[..len], at).unwrap();
        black_box(&piece);
        at += len as u64;
    }
}

/// Reads whole chunks of 12 MB, and rows of them, against reading the same bytes.
fn chunks(dir: &Path) {
    let (path, frames) = (dir.join("large.gsd"), 16);
    let values = vec![1.0_f32; 3_000_000];
    let builder = Builder::new().application("bench").durability(Durability::None);
    let mut file = builder.create(&path).unwrap();
    let written = (0..frames).map(|_| {
        let chunk = file.write("position", &values, 3).unwrap();
        file.end_frame().unwrap();
        chunk
    });
    let written: Vec<_> = written.collect();
    file.close().unwrap();
    let file = File::open(&path).unwrap();
    let raw_file = fs::File::open(&path).unwrap();
    let (mut into, mut bytes) = (values.clone(), vec![0; 4 * values.len()]);
    let read = || {
        for frame in 0..frames {
            let chunk = file.chunk(frame, "position").unwrap();
            file.read_into(&chunk, &mut into).unwrap();
        }
    };
    let raw = || {
        for chunk in &written {
            raw_file.read_exact_at(&mut bytes, chunk.span.offset()).unwrap();
        }
    };
    row("read chunks of 12 MB", "pread of the same bytes", ROUNDS, read, raw);
    fs::remove_file(path).unwrap();
}

/// Prints by how much the memory of this process grows when the file is opened, or one of its
/// chunks found, or its names read. It was done once before, to a small file: what the program
/// itself needs is there.
pub(crate) fn memory_of(what: &str, path: &Path) {
    let small = path.with_extension("small");
    write_frames(&small, 300);
    let look = |path: &Path| {
        let file = File::open(path).unwrap();
        match what {
            "find" => assert!(file.find(file.frames() / 3, "step").unwrap().is_some()),
            "names" => assert_eq!(file.names().unwrap().len(), 1),
            _ => {}
        }
        file
    };
    let (_kept, before) = (look(&small), resident());
    let file = look(path);
    let after = resident();
    fs::remove_file(small).unwrap();
    println!("{} KiB", after.saturating_sub(before));
    drop(file);
}

/// KiB of memory that this process has, counted page by page.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = pages.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
