//! Mutations that know the structure of a file: fields, entries of tables, and the blocks that
//! offsets lead to.
//!
//! An engine changes bytes. Here a field becomes a number that some rule may forget, an entry is
//! doubled with its table's count, a block moves and its offset with it, blocks of two files change
//! places, and then the file's checksums are made right: what reads the file looks further than to
//! the first wrong sum. Each step works on damaged files, too: it changes nothing where it finds
//! nothing. The same seed always makes the same of the same input.

mod blob;
mod cdf;
mod ffrecord;
mod gsd;
mod hdf5;
mod map;
mod random;
mod set;
mod shape;
mod sion;

pub use random::Random;
pub use shape::{Number, Shape, Table};

use std::ops::Range;
use std::sync::OnceLock;

/// What is known of the files of a format.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// What a file starts with. Before it may be bytes of the target's own.
    magic: &'static [u8],
    shape: fn(&[u8]) -> Shape,
    mend: fn(&mut [u8]),
}

/// What an input is.
#[derive(Debug, Clone, Copy)]
pub enum Input {
    /// A file of one of these formats, maybe behind a few bytes of choices.
    File(&'static [&'static Format]),
    /// Up to four files, as `sion_set` has them.
    Set(&'static [&'static Format]),
    /// A text map.
    Map,
}

/// Inputs of the targets whose names start with a format's.
pub const SION: Input = Input::File(&[&sion::FORMAT]);
/// Likewise.
pub const GSD: Input = Input::File(&[&gsd::FORMAT]);
/// Likewise.
pub const CDF: Input = Input::File(&[&cdf::FORMAT]);
/// Likewise.
pub const HDF5: Input = Input::File(&[&hdf5::FORMAT]);
/// Likewise.
pub const FFRECORD: Input = Input::File(&[&ffrecord::FORMAT]);
/// Inputs of `map_text`.
pub const MAP: Input = Input::Map;
/// Inputs of `sion_set` and `sion_verify`.
pub const SION_SET: Input = Input::Set(&[&sion::FORMAT]);
/// Inputs of `blob_open`.
pub const BLOB: Input = Input::File(&[&cdf::FORMAT, &hdf5::FORMAT]);
/// Inputs of `blob_verify`.
pub const BLOB_SET: Input = Input::Set(&[&cdf::FORMAT, &hdf5::FORMAT]);

impl Format {
    /// Where the file starts in an input.
    fn start(&self, data: &[u8]) -> Option<usize> {
        const CHOICES: usize = 64; // no target has more bytes of its own before a file
        let front = data.get(..data.len().min(CHOICES + self.magic.len()))?;
        if self.magic.is_empty() {
            return Some(0);
        }
        front.windows(self.magic.len()).position(|window| window == self.magic)
    }
}

impl Input {
    /// An input made of `data`, of at most `most` bytes.
    #[must_use]
    pub fn mutated(self, data: &[u8], most: usize, random: &mut Random) -> Vec<u8> {
        let mut made = match self {
            Self::Map => map::mutated(data, random),
            Self::Set(formats) => set::mutated(data, formats, random),
            Self::File(formats) => {
                in_file(data, formats, |format, file| changed(format, file, random))
            }
        };
        made.truncate(most);
        made
    }

    /// `data` with the right checksums.
    #[must_use]
    pub fn mended(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Map => map::mended(data),
            Self::Set(formats) => set::mended(data, formats),
            Self::File(formats) => in_file(data, formats, |format, mut file| {
                (format.mend)(&mut file);
                file
            }),
        }
    }

    /// An input of `one` with blocks of `other`.
    #[must_use]
    pub fn crossed(self, one: &[u8], other: &[u8], most: usize, random: &mut Random) -> Vec<u8> {
        let mut made = match self {
            Self::Map => map::crossed(one, other, random),
            Self::Set(formats) => set::crossed(one, other, formats, random),
            Self::File(formats) => in_file(one, formats, |format, file| {
                let start = format.start(other).unwrap_or(other.len());
                crossed(format, file, &other[start..], random)
            }),
        };
        made.truncate(most);
        made
    }
}

/// Makes another file of the one in `data`, if there is one of these formats.
fn in_file(
    data: &[u8],
    formats: &[&Format],
    make: impl FnOnce(&Format, Vec<u8>) -> Vec<u8>,
) -> Vec<u8> {
    let found = formats.iter().find_map(|format| Some((format, format.start(data)?)));
    let Some((format, start)) = found else { return data.to_vec() };
    let mut made = data[..start].to_vec();
    made.extend(make(format, data[start..].to_vec()));
    made
}

/// One to three changes of the structure of a file.
fn changed(format: &Format, mut file: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(3) {
        let shape = (format.shape)(&file);
        match random.below(8) {
            0..=2 => set_number(&mut file, &shape, random),
            3 => change_table(&mut file, &shape, random),
            4 => grow_table(&mut file, &shape, random),
            5 => shrink_table(&mut file, &shape, random),
            6 => move_block(&mut file, &shape, random),
            _ => cut_or_fill(&mut file, &shape, random),
        }
    }
    file
}

/// A field becomes a number that some rule may forget.
fn set_number(file: &mut [u8], shape: &Shape, random: &mut Random) {
    let Some(number) = random.of(&shape.numbers) else { return };
    let old = number.get(file);
    let another = random.of(&shape.numbers).map_or(0, |other| other.get(file));
    let block = random.of(&shape.blocks).map_or(0..0, Clone::clone);
    let len = wide(file.len());
    let value = match random.below(14) {
        0 => 0,
        1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => old.wrapping_mul(2),
        4 => old / 2,
        5 => another,
        6 => another.wrapping_add(old),
        7 => wide(block.start),
        8 => wide(block.end),
        9 => len,
        10 => len.wrapping_sub(wide(random.below(64))),
        11 => 1 << random.below(64),
        12 => (1_u64 << random.below(64)).wrapping_sub(1),
        _ => u64::MAX - wide(random.below(3)),
    };
    number.set(file, value);
}

/// An entry of a table changes places with another one, or takes its place.
fn change_table(file: &mut [u8], shape: &Shape, random: &mut Random) {
    let Some(table) = random.of(&shape.tables) else { return };
    let (Some(one), Some(other)) = (random.of(&table.entries), random.of(&table.entries)) else {
        return;
    };
    let len = one.len().min(other.len());
    let (from, to) = (file[one.clone()].to_vec(), file[other.clone()].to_vec());
    file[other.start..other.start + len].copy_from_slice(&from[..len]);
    if random.is_one_in(2) {
        file[one.start..one.start + len].copy_from_slice(&to[..len]);
    }
}

/// All tables that a count counts get an entry more, a copy of one that they have.
fn grow_table(file: &mut Vec<u8>, shape: &Shape, random: &mut Random) {
    let Some(counter) = random.of(&shape.tables).and_then(|table| table.counter) else { return };
    let mut added = Vec::new();
    for table in shape.tables.iter().filter(|table| table.counter == Some(counter)) {
        let Some(entry) = random.of(&table.entries) else { continue };
        let end = table.entries.last().map_or(entry.end, |last| last.end);
        added.push((end, file[entry.clone()].to_vec()));
    }
    let count = counter.get(file).wrapping_add(1);
    counter.set(file, count);
    added.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, bytes) in added {
        shape.replace(file, at..at, &bytes);
    }
}

/// All tables that a count counts lose an entry; of those that overlap, one does.
fn shrink_table(file: &mut Vec<u8>, shape: &Shape, random: &mut Random) {
    let Some(counter) = random.of(&shape.tables).and_then(|table| table.counter) else { return };
    let tables = shape.tables.iter().filter(|table| table.counter == Some(counter));
    let mut removed: Vec<_> = tables.filter_map(|table| random.of(&table.entries)).collect();
    let count = counter.get(file).wrapping_sub(1);
    counter.set(file, count);
    removed.sort_by_key(|entry| std::cmp::Reverse(entry.start));
    let mut before = file.len(); // what is there and has not moved
    for entry in removed {
        if entry.end <= before {
            shape.replace(file, entry.clone(), &[]);
            before = entry.start;
        }
    }
}

/// A block moves to the end of the file, and the offset that leads to it, too.
fn move_block(file: &mut Vec<u8>, shape: &Shape, random: &mut Random) {
    let Some(block) = random.of(&shape.blocks) else { return };
    let mut end = file.len();
    let moved = file[block.clone()].to_vec();
    if random.is_one_in(2) {
        end = end.next_multiple_of(8);
    }
    let leads_there = |number: &&Number| number.get(file) == wide(block.start);
    let offsets: Vec<_> = shape.offsets.iter().filter(leads_there).copied().collect();
    for offset in offsets {
        offset.set(file, wide(end));
    }
    file.resize(end, 0);
    file.extend(moved);
}

/// The file ends at the end of a block or in one; or a block is zeros, erased, or another's copy.
fn cut_or_fill(file: &mut Vec<u8>, shape: &Shape, random: &mut Random) {
    let Some(block) = random.of(&shape.blocks).cloned() else { return };
    match random.below(4) {
        0 => file.truncate(block.end),
        1 => file.truncate(block.start + random.below(block.len() + 1)),
        2 => file[block].fill(if random.is_one_in(2) { 0 } else { 0xFF }),
        _ => {
            let Some(other) = random.of(&shape.blocks) else { return };
            copy_front(file, block, other.clone());
        }
    }
}

fn copy_front(file: &mut [u8], to: Range<usize>, from: Range<usize>) {
    let len = to.len().min(from.len());
    file.copy_within(from.start..from.start + len, to.start);
}

/// A file with a block of another one: in place of one of its own, before one, or at its end.
fn crossed(format: &Format, mut file: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    let (shape, others) = ((format.shape)(&file), (format.shape)(other));
    let Some(taken) = random.of(&others.blocks) else { return file };
    let taken = &other[taken.clone()];
    match random.of(&shape.blocks).cloned() {
        Some(block) if random.is_one_in(2) => {
            let len = block.len().min(taken.len());
            file[block.start..block.start + len].copy_from_slice(&taken[..len]);
        }
        Some(block) if random.is_one_in(2) => {
            shape.replace(&mut file, block.start..block.start, taken)
        }
        Some(block) => shape.replace(&mut file, block, taken),
        None => file.extend(taken),
    }
    file
}

/// Whether `STRIAE_FUZZ_PLAIN` says that the engine's own mutations are enough: to compare.
fn is_off() -> bool {
    static OFF: OnceLock<bool> = OnceLock::new();
    *OFF.get_or_init(|| std::env::var_os("STRIAE_FUZZ_PLAIN").is_some())
}

/// What libFuzzer asks for: makes another input of the first `len` bytes of `data`, of at most
/// `most`, and returns its length. `plain` is libFuzzer's own way, the only one without `input`.
pub fn by_engine(
    input: Option<Input>,
    data: &mut [u8],
    len: usize,
    most: usize,
    seed: u32,
    plain: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut random = Random::new(seed);
    let Some(input) = input.filter(|_| !is_off() && random.below(8) >= 3) else {
        return plain(data, len, most);
    };
    let made = match random.below(5) {
        0 => {
            let len = plain(data, len, most);
            input.mended(&data[..len])
        }
        1 => input.mutated(&data[..len], most, &mut random),
        _ => input.mended(&input.mutated(&data[..len], most, &mut random)),
    };
    put(&made, data, most)
}

/// What libFuzzer asks for: makes an input of two, in `out`, and returns its length; 0 if another
/// way is to be taken. It asks for this as often as for mutations of one, which find more.
pub fn cross_by_engine(
    input: Option<Input>,
    one: &[u8],
    other: &[u8],
    out: &mut [u8],
    seed: u32,
) -> usize {
    let mut random = Random::new(seed);
    let Some(input) = input.filter(|_| !is_off() && random.is_one_in(4)) else { return 0 };
    let most = out.len();
    let made = input.crossed(one, other, most, &mut random);
    let made = if random.is_one_in(4) { made } else { input.mended(&made) };
    put(&made, out, most)
}

fn put(made: &[u8], out: &mut [u8], most: usize) -> usize {
    let len = made.len().min(most).min(out.len());
    out[..len].copy_from_slice(&made[..len]);
    len
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
