//! What a writer of GSD files is told to do.

use crate::gsd_file::{self, Put};
use crate::powered::Trouble;
use striae_core::gsd::checksums::NAME;
use striae_core::gsd::{Attributes, ChunkType, Version};

/// How a file is made, and by whom.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it is to be.
    pub attributes: Attributes<'static>,
    /// A file of gsd that is there, or nothing.
    pub start: Vec<u8>,
    /// Slots of the writer's memory.
    pub slots: usize,
    /// Whether lost sectors read as noise.
    pub noise: bool,
    /// Whether sectors are torn behind any byte; gsd is not promised anything then.
    pub tears: bool,
    /// Bytes that the disk has room for.
    pub room: u64,
}

/// What happens.
#[derive(Debug, Clone)]
pub enum Act {
    /// A chunk, in so many pieces; given up if there are none.
    Chunk {
        /// Its name.
        name: Vec<u8>,
        /// Its type.
        kind: ChunkType,
        /// Its columns.
        m: u32,
        /// Its rows.
        rows: u64,
        /// Calls of the writer.
        pieces: usize,
    },
    /// The end of a frame.
    End,
    /// A commit.
    Commit,
    /// So many frames of a small chunk.
    Frames(usize),
    /// So many frames without chunks.
    Empty(usize),
    /// A close.
    Close,
    /// Another writer goes on.
    Reopen,
    /// The file becomes one of layer 2.
    Upgrade,
    /// All is removed.
    Truncate,
    /// Another writer begins anew in the same store.
    Create,
    /// gsd appends frames, the writer is gone.
    Gsd(Vec<Put>),
    /// Commits may take one sync from now on, or not.
    OneSync(bool),
    /// A request that makes no sense.
    Nonsense(u8),
    /// The store fails, or its power goes.
    Trouble(Trouble),
}

/// Acts of one scenario, at most.
const MAX_ACTS: usize = 80;

/// Takes a scenario from the bytes of an input; missing ones are 0.
#[must_use]
pub fn scenario(data: &[u8]) -> (Plan, Vec<Act>) {
    let mut bytes = data.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let [flags, shape, memory, start] = [next(), next(), next(), next()];
    let two_bits = |byte: u8, at: u8| usize::from(byte >> at & 3);
    let is_old = flags & 1 != 0;
    let attributes = Attributes {
        application: "fuzz",
        schema: "none",
        schema_version: Version { major: 1, minor: 0 },
        layer: if is_old { Version { major: 1, minor: 0 } } else { Version::LAYER },
        align: [1, 8, 512, 4096][two_bits(flags, 4)],
        checksums: flags & 2 != 0,
        one_sync: flags & 0x80 != 0,
        index_slots: [1, 2, 5, 40][two_bits(shape, 0)],
        shown_slots: [1, 2, 9, 128][two_bits(shape, 2)],
        names_len: [64, 128, 256, 1024][two_bits(shape, 4)],
    };
    let plan = Plan {
        attributes,
        start: if flags & 0x40 == 0 { Vec::new() } else { start_of(is_old, start) },
        slots: 2 + usize::from(memory & 15),
        noise: flags & 4 != 0,
        tears: flags & 8 != 0,
        room: [1 << 13, 1 << 14, 1 << 15, 1 << 18][two_bits(shape, 6)],
    };
    let rest: Vec<u8> = bytes.collect();
    let acts = rest.chunks(3).take(MAX_ACTS).map(|act| {
        let at = |index| act.get(index).copied().unwrap_or(0);
        self::act(at(0), at(1), at(2))
    });
    let acts = acts.collect();
    (plan, acts)
}

/// A file of gsd: its slots and some frames.
fn start_of(is_old: bool, byte: u8) -> Vec<u8> {
    let slots = [1, 3, 8, 128][usize::from(byte & 3)];
    let units = [1, 2, 16, 30][usize::from(byte >> 2 & 3)];
    let mut file = gsd_file::empty(if is_old { 1 } else { 2 }, slots, units);
    for frame in 0..u64::from(byte >> 4) {
        let put = |name: u64| Put {
            frame: 0,
            name: name_of(u8::try_from(name).unwrap() % 7),
            bytes: vec![b'g'; usize::try_from(frame % 5).unwrap()],
        };
        gsd_file::append(&mut file, &[put(frame), put(frame + 1)]);
    }
    file
}

/// A name by its number: short, long, and one that is striae's own.
#[must_use]
pub fn name_of(number: u8) -> Vec<u8> {
    match number % 20 {
        13 => vec![b'x'; 63],
        14 => vec![b'y'; 64],
        15 => vec![b'z'; 150],
        16 => "\u{3b1}\u{3b2}".into(),
        17 => vec![0xff],
        18 => NAME.to_vec(),
        number => format!("n{number}").into_bytes(),
    }
}

fn act(kind: u8, x: u8, y: u8) -> Act {
    let (after, kept) = (usize::from(x & 63), [0, usize::MAX, 10, 100][usize::from(y & 3)]);
    let high = kind >> 4;
    match kind & 15 {
        0..=3 => Act::Chunk {
            name: name_of(x),
            kind: ChunkType::ALL[usize::from(high) % 11],
            m: 1 + u32::from(y >> 6),
            rows: u64::from(y & 31) << ((y >> 5 & 1) * 5),
            pieces: 1,
        },
        4 => Act::Chunk {
            name: name_of(x),
            kind: ChunkType::U16,
            m: 1,
            rows: u64::from(y) << (high & 3),
            pieces: usize::from(high >> 2) * 2, // none: it is given up
        },
        5 | 6 => Act::End,
        7 => Act::Commit,
        8 => Act::Frames(1 + usize::from(x & 63)),
        9 => Act::Empty(1 + usize::from(x)),
        10 if x & 1 == 0 => Act::Close,
        10 => Act::Reopen,
        11 if x & 3 == 0 => Act::Truncate,
        11 if x & 3 == 1 => Act::Create,
        11 => Act::Upgrade,
        12 => Act::Gsd(puts(x, y)),
        13 if x & 8 != 0 => Act::OneSync(x & 16 != 0),
        13 => Act::Nonsense(x),
        14 => Act::Trouble(Trouble::Fail { after, kept }),
        _ => Act::Trouble(Trouble::Cut { after, kept, pick: usize::from(y >> 2) }),
    }
}

/// What gsd appends: up to 15 frames of one or two chunks, and frames without chunks before them.
fn puts(x: u8, y: u8) -> Vec<Put> {
    let put = |frame: u64, name: u64| Put {
        frame: frame + u64::from(y & 3),
        name: format!("n{}", (name + u64::from(y >> 2)) % 12).into_bytes(),
        bytes: vec![b'g'; usize::try_from(frame).unwrap()],
    };
    let frames =
        (0..u64::from(x & 15)).flat_map(|frame| [put(frame, frame), put(frame, frame + 1)]);
    frames.take(usize::from(x >> 4) + 1).collect()
}
