//! What gsd makes of a file, and does to one, from what was measured of it: its checks when it
//! opens a file, its search for the end of the index, and the order of its writes.

use super::check::{Piece, Seen};

const HEADER: usize = 256;
const ENTRY: usize = 32;
const UNIT: usize = 64;

/// A file that gsd has opened.
#[derive(Debug)]
pub(crate) struct Stock<'f> {
    bytes: &'f [u8],
    /// Major version of the file layer.
    layer: u8,
    index: Block,
    list: Block,
    names: Vec<&'f [u8]>,
    names_len: usize,
    pub(crate) used: usize,
}

/// Slots of the index, or units of the name list.
#[derive(Debug, Clone, Copy)]
struct Block {
    at: usize,
    count: usize,
}

/// An index entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    frame: u64,
    n: u64,
    location: i64,
    m: u32,
    id: u16,
    kind: u8,
    flags: u8,
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn fits(at: u64, count: u64, size: u64, len: usize) -> Option<Block> {
    let end = count.checked_mul(size)?.checked_add(at)?;
    let fits = end <= u64::try_from(len).unwrap();
    fits.then(|| Block { at: usize::try_from(at).unwrap(), count: usize::try_from(count).unwrap() })
}

fn entry(bytes: &[u8]) -> Entry {
    Entry {
        frame: number(bytes, 0),
        n: number(bytes, 8),
        location: number(bytes, 16).cast_signed(),
        m: u32::from_le_bytes(bytes[24..28].try_into().unwrap()),
        id: u16::from_le_bytes(bytes[28..30].try_into().unwrap()),
        kind: bytes[30],
        flags: bytes[31],
    }
}

impl Entry {
    /// Where the bytes of the chunk are.
    fn span(&self, file_len: usize) -> Option<std::ops::Range<usize>> {
        const SIZES: [u64; 11] = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1];
        let size = SIZES.get(usize::from(self.kind.checked_sub(1)?))?;
        let len = self.n.checked_mul(u64::from(self.m))?.checked_mul(*size)?;
        let block = fits(u64::try_from(self.location).ok()?, len, 1, file_len)?;
        Some(block.at..block.at + block.count)
    }
}

impl<'f> Stock<'f> {
    /// Opens a file, or says what gsd does.
    pub(crate) fn open(bytes: &'f [u8]) -> Result<Self, String> {
        if bytes.len() < HEADER || bytes[..8] != [0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65] {
            return Err("not a GSD file".to_owned());
        }
        let version = u32::from_le_bytes(bytes[44..48].try_into().unwrap());
        if version != 3 && !(0x1_0000..0x3_0000).contains(&version) {
            return Err(format!("version {version:x}"));
        }
        let block = |at, size| fits(number(bytes, at), number(bytes, at + 8), size, bytes.len());
        let list = block(24, 64).filter(|list| list.count > 0).ok_or("no name list")?;
        let index = block(8, 32).filter(|index| index.count > 0).ok_or("no index")?;
        let layer = if version >= 0x2_0000 { 2 } else { 1 };
        let mut file = Self { bytes, layer, index, list, names: vec![], names_len: 0, used: 0 };
        file.read_names()?;
        file.find_end()?;
        Ok(file)
    }

    /// The names up to the first empty one.
    fn read_names(&mut self) -> Result<(), String> {
        let list = &self.bytes[self.list.at..][..self.list.count * UNIT];
        if list[list.len() - 1] != 0 {
            return Err("a name list without an end".to_owned());
        }
        while self.names_len < list.len() && list[self.names_len] != 0 {
            let rest = &list[self.names_len..];
            let len = rest.iter().position(|&byte| byte == 0).unwrap();
            self.names.push(&rest[..len]);
            self.names_len += if self.layer >= 2 { len + 1 } else { UNIT };
        }
        Ok(())
    }

    fn entry(&self, slot: usize) -> Entry {
        entry(&self.bytes[self.index.at + slot * ENTRY..][..ENTRY])
    }

    /// The checks of entries that the search comes by.
    fn is_valid(&self, entry: &Entry) -> bool {
        entry.span(self.bytes.len()).is_some()
            && entry.frame < u64::try_from(self.index.count).unwrap()
            && usize::from(entry.id) < self.names.len()
            && entry.flags == 0
    }

    /// The search for the first entry that is not used.
    fn find_end(&mut self) -> Result<(), String> {
        let first = self.entry(0);
        if first.location == 0 {
            return Ok(());
        }
        if !self.is_valid(&first) {
            return Err(format!("{first:?}"));
        }
        let (mut low, mut high) = (0, self.index.count);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            let entry = self.entry(middle);
            if entry.location == 0 {
                high = middle;
                continue;
            }
            if !self.is_valid(&entry) || entry.frame < self.entry(low).frame {
                return Err(format!("slot {middle}: {entry:?}"));
            }
            low = middle;
        }
        self.used = high;
        Ok(())
    }

    /// Whether all slots behind the used ones are empty.
    pub(crate) fn is_clean(&self) -> bool {
        (self.used..self.index.count).all(|slot| self.entry(slot).location == 0)
    }

    /// All that is in the file, an entry and its copies being one; an error if an entry cannot be
    /// right.
    pub(crate) fn read(&self) -> Result<Seen<'f>, String> {
        let mut pieces = Vec::with_capacity(self.used);
        for slot in 0..self.used {
            let entry = self.entry(slot);
            if slot > 0 && entry == self.entry(slot - 1) {
                continue;
            }
            let bad = || format!("slot {slot}: {entry:?}");
            let span = entry.span(self.bytes.len()).ok_or_else(bad)?;
            if entry.location == 0 || !self.is_valid(&entry) {
                return Err(bad());
            }
            pieces.push(Piece {
                frame: entry.frame,
                id: entry.id,
                kind: entry.kind,
                n: entry.n,
                m: entry.m,
                bytes: &self.bytes[span],
            });
        }
        let names = self.names.iter().map(|name| name.to_vec()).collect();
        Ok(Seen::new(self.layer, names, pieces))
    }
}

/// A program that appends by gsd.
struct Appender {
    bytes: Vec<u8>,
    /// The file behind each write.
    steps: Vec<Vec<u8>>,
}

impl Appender {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
        self.steps.push(self.bytes.clone());
    }

    /// Writes the header with other fields from `at` on.
    fn write_header(&mut self, at: usize, fields: &[u8]) {
        let mut header = self.bytes[..HEADER].to_vec();
        header[at..at + fields.len()].copy_from_slice(fields);
        self.write(0, &header);
    }

    fn write_block(&mut self, field: usize, at: usize, count: usize) {
        let [at, count] = [at, count].map(|n| u64::try_from(n).unwrap().to_le_bytes());
        self.write_header(field, &[at, count].concat());
    }
}

/// A chunk of one column of bytes: its name and them.
pub(crate) type Appended<'a> = (&'a [u8], &'a [u8]);

/// Appends frames as gsd does, with one flush; returns the file behind each of its writes, the last
/// one being the result. Nothing is said about power cuts while gsd writes.
pub(crate) fn append(bytes: &[u8], frames: &[&[Appended<'_>]]) -> Result<Vec<Vec<u8>>, String> {
    let file = Stock::open(bytes)?;
    let Stock { layer, index, list, names_len, used, .. } = file;
    let last = used.checked_sub(1).map(|slot| file.entry(slot));
    let mut names: Vec<Vec<u8>> = file.names.iter().map(|name| name.to_vec()).collect();
    let mut program = Appender { bytes: bytes.to_vec(), steps: vec![] };
    if layer >= 2 && bytes[44] == 0 {
        program.write_header(44, &[1]); // opening it says layer 2.1
    }
    let (mut new, mut entries, mut data) = (vec![], vec![], vec![]);
    for (frame, chunks) in (last.map_or(0, |last| last.frame + 1)..).zip(frames) {
        for (name, bytes) in *chunks {
            let id = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_vec());
                new.extend_from_slice(name);
                new.resize(if layer >= 2 { new.len() + 1 } else { (new.len() | 63) + 1 }, 0);
                names.len() - 1
            });
            entries.push((frame, u16::try_from(id).unwrap(), data.len(), bytes.len()));
            data.extend_from_slice(bytes);
        }
    }
    entries.sort_unstable();
    append_names(&mut program, list, names_len, &new);
    let start = program.bytes.len();
    program.write(start, &data);
    let index = grow_index(&mut program, index, used + entries.len(), used);
    let mut slots = vec![];
    for (frame, id, skip, len) in entries {
        for number in [frame, u64::try_from(len).unwrap(), u64::try_from(start + skip).unwrap()] {
            slots.extend_from_slice(&number.to_le_bytes());
        }
        slots.extend_from_slice(&[1, 0, 0, 0]);
        slots.extend_from_slice(&id.to_le_bytes());
        slots.extend_from_slice(&[1, 0]);
    }
    program.write(index + used * ENTRY, &slots);
    Ok(program.steps)
}

fn append_names(program: &mut Appender, list: Block, used: usize, new: &[u8]) {
    if new.is_empty() {
        return;
    }
    let mut room = list.count * UNIT;
    while room < used + new.len() {
        room *= 2;
    }
    let mut bytes = program.bytes[list.at..][..used].to_vec();
    bytes.extend_from_slice(new);
    bytes.resize(room, 0);
    if room == list.count * UNIT {
        program.write(list.at + used, &bytes[used..]);
    } else {
        let end = program.bytes.len();
        program.write(end, &bytes);
        program.write_block(24, end, room / UNIT);
    }
}

/// Moves the index to the end of the file, if it has no room for `need` entries; returns where it
/// is.
fn grow_index(program: &mut Appender, index: Block, need: usize, used: usize) -> usize {
    if need <= index.count {
        return index.at;
    }
    let mut count = index.count * 2;
    while count <= need {
        count *= 2;
    }
    assert!(used <= index.count);
    let mut slots = program.bytes[index.at..][..index.count * ENTRY].to_vec();
    let end = program.bytes.len();
    program.write(end, &slots);
    slots.resize(count * ENTRY, 0);
    program.write(end, &slots);
    program.write_block(8, end, count);
    end
}
