//! A GSD file may hold any bytes: it is read right, or the answer is an error that names what is
//! wrong; nothing outside it is read, and the work is small.
//!
//! What is expected here was computed by hand from `spec/gsd.md` and the files' bytes, never by the
//! code under test.

mod any;
mod cuts;
mod extremes;
mod flips;
mod order;
mod record;
mod search;

use striae_core::field::FieldId;
use striae_core::gsd::raw::header_offset;
use striae_core::gsd::raw::{Commit, Header, IndexEntry};
use striae_core::gsd::{Chunk, Error};
use striae_kit::gsd_everything::{Summary, read_everything};
use striae_kit::gsd_files::{
    Entry, Made, committed_file, crc32c, golden_file, image, signed, with, with_image,
};

/// A file, and what a person reads off its bytes.
#[derive(Debug, Clone)]
struct Specimen {
    name: &'static str,
    bytes: Vec<u8>,
    /// Offset and slots of the index.
    index: (usize, usize),
    /// Offset and bytes of the name list.
    names: (usize, usize),
    /// Slots that are used.
    entries: usize,
    /// Whether it has a commit record.
    is_committed: bool,
}

impl Specimen {
    fn golden(name: &'static str, index: (usize, usize), names: (usize, usize), n: usize) -> Self {
        let bytes = golden_file(name);
        Self { name, bytes, index, names, entries: n, is_committed: false }
    }

    /// A file of layer 2 or 1 with five chunks in three frames, 8 slots, three names, 24 bytes of
    /// data.
    fn made(major: u16) -> Self {
        let data = 256 + 8 * 32 + if major == 1 { 256 } else { 64 };
        let entries = five_entries(data);
        let made = Made { layer: (major, 0), ..Made::new(entries, 3) };
        let mut bytes = made.bytes();
        let names = (made.names_at(), bytes.len() - made.names_at());
        assert_eq!(i64::try_from(bytes.len()).unwrap(), data);
        bytes.extend(1..=24);
        let name = if major == 1 { "made of layer 1" } else { "made of layer 2" };
        Self { name, bytes, index: (256, 8), names, entries: 5, is_committed: false }
    }

    /// These frames with a commit record.
    fn committed(major: u16) -> Self {
        let name = if major == 1 { "committed, layer 1" } else { "committed, layer 2" };
        let bytes = committed_file(major, &five_entries(1280));
        let (index, names) = ((1024, 5), (768, 256));
        Self { name, bytes, index, names, entries: 5, is_committed: true }
    }

    /// Those whose every bit can be flipped.
    fn small() -> Vec<Self> {
        vec![Self::made(2), Self::made(1), Self::committed(2), Self::committed(1)]
    }

    fn len(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap()
    }

    fn with(&self, at: usize, value: &[u8]) -> Vec<u8> {
        with(&self.bytes, at, value)
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    /// Where the entry in a slot is.
    fn slot(&self, slot: usize) -> usize {
        self.index.0 + 32 * slot
    }

    fn whole(&self) -> Summary {
        let whole = read_everything(&self.bytes).unwrap();
        assert_eq!(whole.head.entries, u64::try_from(self.entries).unwrap(), "{}", self.name);
        assert!(whole.chunks.iter().all(Result::is_ok), "{}", self.name);
        whole
    }

    /// Slots that opening looks at, in that order: gsd's search for the first that is not used, or
    /// the last one of a committed file.
    fn probed(&self) -> Vec<usize> {
        if self.is_committed {
            return vec![self.entries - 1];
        }
        let (mut slots, mut used, mut unused) = (vec![0], 0, self.index.1);
        while unused - used > 1 {
            let middle = (used + unused) / 2;
            slots.push(middle);
            (used, unused) = if middle < self.entries { (middle, unused) } else { (used, middle) };
        }
        slots
    }
}

/// Five chunks in three frames, 24 bytes from `data` on.
fn five_entries(data: i64) -> Vec<Entry> {
    let entry = |frame, id, location| Entry {
        frame,
        n: 1,
        location,
        m: 2,
        id,
        kind: 3, // uint32
        flags: 0,
    };
    vec![
        entry(0, 0, data),
        entry(0, 1, data + 8),
        entry(1, 0, data),
        Entry { n: 0, ..entry(1, 2, data + 24) },
        entry(2, 1, data + 16),
    ]
}

/// The error that a file cannot be opened for, or nothing.
fn open_error(bytes: &[u8]) -> Option<Error> {
    read_everything(bytes).err()
}
