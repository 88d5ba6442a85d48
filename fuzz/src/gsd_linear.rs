//! What is in a GSD file, read from its first byte to its last as `spec/gsd.md` says, with all of
//! it in memory.
//!
//! It shares no code with striae's reader, so that the two can be compared.

use striae_core::integrity::crc32c;

/// An index entry as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The frame.
    pub frame: u64,
    /// Rows.
    pub n: u64,
    /// Where its bytes are.
    pub location: i64,
    /// Columns.
    pub m: u32,
    /// Index of the name.
    pub id: u16,
    /// Type of a value.
    pub kind: u8,
    /// Zero.
    pub flags: u8,
}

impl Entry {
    /// It as it stands in the file.
    #[must_use]
    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.frame.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.n.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.location.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.m.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.id.to_le_bytes());
        (bytes[30], bytes[31]) = (self.kind, self.flags);
        bytes
    }
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    /// striae, which knows commit records.
    Striae,
    /// gsd, which does not, and refuses frames that are not below the number of slots.
    Gsd,
}

/// What is in a file.
#[derive(Debug, Clone)]
pub struct Linear<'f> {
    bytes: &'f [u8],
    /// Major and minor version of the file layer.
    pub layer: (u16, u16),
    /// Slots of the index that the header shows, and where.
    pub index: (u64, u64),
    /// Units of 64 bytes of the name list, and where.
    pub name_list: (u64, u64),
    /// Whether a commit record says how much is used.
    pub is_committed: bool,
    /// Whether frames carry checksums.
    pub checksums: bool,
    /// By id. A last one without an end is not among them.
    pub names: Vec<&'f [u8]>,
    /// How many names there should be.
    pub names_count: u32,
    /// All slots that are used.
    pub entries: Vec<Entry>,
    /// One more than the last entry's frame.
    pub frames: u64,
}

/// Why there is nothing to be read, in a word.
pub type Refusal = &'static str;

const MAGIC: [u8; 8] = [0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65];

/// Where a commit record stands in the header.
const RECORD: usize = 176;

/// Where it stands in an image, and its fields in it.
const COMMIT: usize = 40;

/// Bytes of values by the number of their type.
#[must_use]
pub fn value_len(kind: u8) -> Option<u64> {
    [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1].get(usize::from(kind).checked_sub(1)?).copied()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

/// What commits change of a header: 8 to 47 and 176 to 255.
fn image(header: &[u8]) -> [u8; 120] {
    let mut image = [0; 120];
    image[..40].copy_from_slice(&header[8..48]);
    image[40..].copy_from_slice(&header[RECORD..256]);
    image
}

/// The checksum that the record of an image must have.
#[must_use]
fn record_crc(image: &[u8; 120]) -> u32 {
    crc32c(crc32c(0, &image[..32]), &image[COMMIT..116])
}

/// Makes the checksums of a commit record and of its shadow right, whatever they say.
pub fn seal(bytes: &mut [u8]) {
    let Some(header) = bytes.get(..256).filter(|header| header[RECORD..].starts_with(b"striae"))
    else {
        return;
    };
    let crc = record_crc(&image(header)).to_le_bytes();
    bytes[252..256].copy_from_slice(&crc);
    seal_shadow(bytes);
}

/// Makes the checksums of the shadows right, if they lie in the file.
pub fn seal_shadow(bytes: &mut [u8]) {
    let Some(header) = bytes.get(..256) else { return };
    let Ok(at) = usize::try_from(u64_at(header, RECORD + 32)) else { return };
    for at in [at, at.saturating_add(256)] {
        let end = at.checked_add(256);
        let Some(shadow) = end.and_then(|end| bytes.get_mut(at..end)) else { return };
        if shadow.starts_with(b"striaeSH") && at >= 256 {
            let crc = crc32c(0, &shadow[..252]).to_le_bytes();
            shadow[252..].copy_from_slice(&crc);
        }
    }
}

/// Makes the shadow of the next commit one of a commit of one sync that was made, as far as its
/// checksums and what it says of the header can do that.
pub fn seal_ahead(bytes: &mut [u8]) {
    let Some(header) = bytes.get(..256) else { return };
    let now = image(header);
    let Some(at) = usize::try_from(u64_at(&now, COMMIT + 32)).ok().filter(|&at| at >= 256) else {
        return;
    };
    let odd = !u32_at(&now, COMMIT + 48).wrapping_add(1).is_multiple_of(2);
    let at = at.saturating_add(256 * usize::from(odd));
    let Some(shadow) = at.checked_add(256).and_then(|end| bytes.get_mut(at..end)) else { return };
    shadow[8..128].copy_from_slice(&now);
    let mut new: [u8; 120] = shadow[128..248].try_into().unwrap();
    let crc = record_crc(&new).to_le_bytes();
    new[116..].copy_from_slice(&crc);
    let added = added_crc(bytes, &now, &new).unwrap_or(1).to_le_bytes();
    let shadow = &mut bytes[at..at + 256];
    shadow[..8].copy_from_slice(b"striaeSH");
    shadow[128..248].copy_from_slice(&new);
    shadow[248..252].copy_from_slice(&added);
    let crc = crc32c(0, &shadow[..252]).to_le_bytes();
    shadow[252..].copy_from_slice(&crc);
}

/// What tells how much of a file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: it is counted.
    Count,
    /// The commit record in this image of the header, as it is or as it should be.
    Record([u8; 120]),
}

/// What may tell how much is used, and whether the file may as well be refused: its commit record
/// has another checksum, for bytes have changed, or gsd has.
#[must_use]
pub fn proofs(bytes: &[u8]) -> (Vec<Proof>, bool) {
    let Some(header) = bytes.get(..256) else { return (vec![Proof::Count], false) };
    let now = image(header);
    if now[COMMIT..COMMIT + 8] != *b"striae\0\x01" {
        return (vec![Proof::Count], false);
    }
    if u32_at(&now, 116) == record_crc(&now) {
        let ahead = |image: &[u8; 120]| ahead(bytes, image);
        return (std::iter::successors(Some(now), ahead).map(Proof::Record).collect(), false);
    }
    let mut all = Vec::new();
    for shadow in shadows(bytes, &now).into_iter().flatten() {
        let (old, new) = (&shadow[8..128], &shadow[128..248]);
        let is_cut = |now: &[u8]| {
            (0..=now.len()).any(|cut| now[..cut] == new[..cut] && now[cut..] == old[cut..])
        };
        let mut as_new = now; // gsd changes the version when it opens a file
        as_new[36..40].copy_from_slice(&new[36..40]);
        if is_cut(&now) || is_cut(&as_new) {
            let new: [u8; 120] = new.try_into().unwrap();
            all.push(Proof::Record(new));
            all.extend(ahead(bytes, &new).map(Proof::Record));
        }
    }
    all.push(Proof::Count);
    (all, true)
}

/// The two shadows of the file with this image in its header, as far as their checksums are right.
fn shadows<'f>(bytes: &'f [u8], now: &[u8; 120]) -> [Option<&'f [u8]>; 2] {
    let at = usize::try_from(u64_at(now, COMMIT + 32)).ok().filter(|&at| at >= 256);
    let both = at.and_then(|at| bytes.get(at..at.checked_add(512)?));
    let is_right = |shadow: &&[u8]| {
        shadow[..8] == *b"striaeSH" && u32_at(shadow, 252) == crc32c(0, &shadow[..252])
    };
    match both {
        Some(both) => [&both[..256], &both[256..]].map(|one| Some(one).filter(is_right)),
        None => [None, None],
    }
}

/// The image of the commit of one sync that comes after that of `now`, if its shadow proves that it
/// was made: `spec/gsd.md#a-commit-of-one-sync`.
fn ahead(bytes: &[u8], now: &[u8; 120]) -> Option<[u8; 120]> {
    let next = u32_at(now, COMMIT + 48).wrapping_add(1);
    let shadow = shadows(bytes, now)[usize::from(!next.is_multiple_of(2))]?;
    let (old, new) = (&shadow[8..128], &shadow[128..248]);
    // index_allocated_entries, entries, data_end, sequence, index_crc, one_sync, commit_crc
    let may_differ = [8..16, 48..56, 64..72, 88..92, 100..104, 115..116, 116..120];
    let is_same =
        |at: &usize| may_differ.iter().any(|range| range.contains(at)) || old[*at] == new[*at];
    let is_now = (0..120).all(|at| (36..40).contains(&at) || old[at] == now[at]);
    if !is_now || old[115] != 1 || !(0..120).all(|at| is_same(&at)) || u32_at(new, 88) != next {
        return None;
    }
    let (first, last) = (u64_at(old, 48), u64_at(new, 48));
    let crc = added_crc(bytes, old, new)?;
    let is_there = first > 0 && first < last && crc != 0 && u32_at(shadow, 248) == crc;
    let mut made: [u8; 120] = new.try_into().unwrap();
    made[36..40].copy_from_slice(&now[36..40]); // gsd may have looked, and raised the version
    is_there.then_some(made)
}

/// The checksum of what a commit of one sync adds, if that lies in the file.
fn added_crc(bytes: &[u8], old: &[u8], new: &[u8]) -> Option<u32> {
    let added = |from: u64, to: u64| {
        to.checked_sub(from).filter(|&len| len <= 1 << 20)?;
        bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    };
    let slot = |number: u64| u64_at(new, 0).checked_add(number.checked_mul(32)?);
    let chunks = added(u64_at(old, 64), u64_at(new, 64))?;
    let entries = added(slot(u64_at(old, 48))?, slot(u64_at(new, 48))?)?;
    let crcs = [crc32c(0, chunks).to_le_bytes(), crc32c(0, entries).to_le_bytes()].concat();
    Some(crc32c(0, &crcs))
}

impl<'f> Linear<'f> {
    /// Reads a file.
    ///
    /// # Errors
    /// Why nobody can.
    pub fn read(bytes: &'f [u8], eyes: Eyes, proof: Proof) -> Result<Self, Refusal> {
        let file_len = u64::try_from(bytes.len()).unwrap();
        if bytes.len() < 256 || bytes[..8] != MAGIC {
            return Err("no header");
        }
        let now = match proof {
            Proof::Record(now) if u32_at(&now, 116) != record_crc(&now) => return Err("no record"),
            Proof::Record(now) => now,
            Proof::Count => image(bytes),
        };
        let layer = (u16_at(&now, 38), u16_at(&now, 36));
        for version in [layer, (u16_at(bytes, 46), u16_at(bytes, 44))] {
            if !matches!(version, (1 | 2, _) | (0, 3)) {
                return Err("version");
            }
        }
        let mut file = Self {
            bytes,
            layer,
            index: (u64_at(&now, 0), u64_at(&now, 8)),
            name_list: (u64_at(&now, 16), u64_at(&now, 24)),
            is_committed: false,
            checksums: false,
            names: Vec::new(),
            names_count: 0,
            entries: Vec::new(),
            frames: 0,
        };
        for ((location, count), len) in [(file.index, 32), (file.name_list, 64)] {
            let end = count.checked_mul(len).and_then(|len| len.checked_add(location));
            if location < 256 || end.is_none_or(|end| end > file_len) {
                return Err("a block does not lie in the file");
            }
        }
        if let Proof::Record(now) = proof {
            file.check_record(&now[COMMIT..])?;
            if u16::from(now[COMMIT + 74]) == layer.0 && !file.has_entry_behind(&now) {
                file.read_committed(&now[COMMIT..])?;
                return Ok(file);
            }
        }
        file.scan(eyes)?;
        Ok(file)
    }

    /// Whether the commit record contradicts itself or the header.
    fn check_record(&self, record: &[u8]) -> Result<(), Refusal> {
        let name_len = if record[74] < 2 { 64 } else { 2 };
        let (names_len, names) = (u32_at(record, 52), u32_at(record, 56));
        let (entries, reserved) = (u64_at(record, 8), u64_at(record, 16));
        let is_right = names <= 65535
            && u64::from(names_len) <= self.name_list.1 * 64
            && names <= names_len / name_len
            && entries <= self.index.1
            && u64_at(record, 40) <= entries
            && record[72] <= 30
            && reserved <= i64::MAX.unsigned_abs() / 32
            && u64_at(record, 24) <= u64::try_from(self.bytes.len()).unwrap();
        if is_right { Ok(()) } else { Err("the record cannot be") }
    }

    fn has_entry_behind(&self, now: &[u8]) -> bool {
        let entries = u64_at(now, COMMIT + 8);
        entries < self.index.1 && self.entry(entries).location != 0
    }

    fn read_committed(&mut self, record: &[u8]) -> Result<(), Refusal> {
        self.is_committed = true;
        self.checksums = record[73] == 1;
        let names_len = usize::try_from(u32_at(record, 52)).unwrap();
        self.names_count = u32_at(record, 56);
        let list = &self.behind(self.name_list.0)[..names_len];
        self.names = if self.layer.0 >= 2 { packed(list) } else { slots(list) };
        self.names.truncate(usize::try_from(self.names_count).unwrap());
        self.entries = (0..u64_at(record, 8)).map(|slot| self.entry(slot)).collect();
        if let Some(last) = self.entries.last() {
            if self.is_chunk(last) != Some(true) {
                return Err("the last entry is no chunk");
            }
            self.frames = last.frame + 1;
        }
        Ok(())
    }

    /// Counts what is used, as gsd does.
    fn scan(&mut self, eyes: Eyes) -> Result<(), Refusal> {
        let list =
            &self.behind(self.name_list.0)[..usize::try_from(self.name_list.1 * 64).unwrap()];
        let all = if self.layer.0 >= 2 { packed(list) } else { slots(list) };
        self.names = all.into_iter().take_while(|name| !name.is_empty()).take(65535).collect();
        self.names_count = u32::try_from(self.names.len()).unwrap();
        if list.last().is_some_and(|&byte| byte != 0) {
            return Err("the name list does not end");
        }
        if list.is_empty() && eyes == Eyes::Gsd {
            return Err("no name list");
        }
        let is_used = |slot: u64| -> Result<Option<u64>, Refusal> {
            let entry = self.entry(slot);
            match self.is_chunk(&entry) {
                None => Ok(None),
                Some(true) if eyes == Eyes::Striae || entry.frame < self.index.1 => {
                    Ok(Some(entry.frame))
                }
                Some(_) => Err("an entry on the way to the last one is no chunk"),
            }
        };
        let mut unused = self.index.1;
        let Some(first) = (if unused > 0 { is_used(0)? } else { None }) else { return Ok(()) };
        let (mut used, mut before) = (0, first);
        while unused - used > 1 {
            let middle = used + (unused - used) / 2;
            match is_used(middle)? {
                None => unused = middle,
                Some(frame) if frame < before => return Err("frames are not in order"),
                Some(frame) => (used, before) = (middle, frame),
            }
        }
        self.entries = (0..unused).map(|slot| self.entry(slot)).collect();
        self.frames = before + 1;
        Ok(())
    }

    fn behind(&self, location: u64) -> &'f [u8] {
        &self.bytes[usize::try_from(location).unwrap()..]
    }

    fn entry(&self, slot: u64) -> Entry {
        let bytes = &self.behind(self.index.0 + 32 * slot)[..32];
        Entry {
            frame: u64_at(bytes, 0),
            n: u64_at(bytes, 8),
            location: i64::from_le_bytes(bytes[16..24].try_into().unwrap()),
            m: u32_at(bytes, 24),
            id: u16_at(bytes, 28),
            kind: bytes[30],
            flags: bytes[31],
        }
    }

    /// The entries without those that are the same as the one before.
    #[must_use]
    pub fn listed(&self) -> Vec<&Entry> {
        let mut listed: Vec<_> = self.entries.iter().collect();
        listed.dedup();
        listed
    }

    /// Where the index is, and its slots.
    #[must_use]
    pub fn index_block(&self) -> (usize, usize) {
        (usize::try_from(self.index.0).unwrap(), usize::try_from(self.index.1).unwrap())
    }

    /// Where the name list is, and its units of 64 bytes.
    #[must_use]
    pub fn names_block(&self) -> (usize, usize) {
        (usize::try_from(self.name_list.0).unwrap(), usize::try_from(self.name_list.1).unwrap())
    }

    /// Whether an entry is one of a chunk; `None` if its slot is not used.
    #[must_use]
    pub fn is_chunk(&self, entry: &Entry) -> Option<bool> {
        if entry.location == 0 {
            return None;
        }
        let is_sound = entry.m > 0 && entry.flags == 0 && entry.frame < u64::MAX;
        let is_named = u32::from(entry.id) < self.names_count;
        Some(is_sound && is_named && self.bytes_of(entry).is_some())
    }

    /// The bytes of a chunk, if they lie in the file.
    #[must_use]
    pub fn bytes_of(&self, entry: &Entry) -> Option<&'f [u8]> {
        let len = entry.n.checked_mul(u64::from(entry.m))?.checked_mul(value_len(entry.kind)?)?;
        let start = u64::try_from(entry.location).ok().filter(|&start| start >= 256)?;
        let end = usize::try_from(start.checked_add(len)?).ok()?;
        self.bytes.get(usize::try_from(start).ok()?..end)
    }
}

/// The names of a list in which each ends with its NUL.
fn packed(list: &[u8]) -> Vec<&[u8]> {
    let mut names: Vec<_> = list.split(|&byte| byte == 0).collect();
    names.pop(); // nothing, or a name without an end
    names
}

/// The names of a list of slots.
fn slots(list: &[u8]) -> Vec<&[u8]> {
    list.chunks_exact(64).map(|slot| slot.split(|&byte| byte == 0).next().unwrap()).collect()
}
