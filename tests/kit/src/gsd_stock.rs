//! What gsd 5.0.1 writes, write by write; the real one is run by the job `interop`.

/// A file that gsd has opened to write.
#[derive(Debug)]
pub struct Stock {
    pub file: Vec<u8>,
    /// The file after each of its writes: what a kill leaves.
    pub states: Vec<Vec<u8>>,
    /// How many of these states there were at each sync.
    pub synced: Vec<usize>,
}

/// A chunk of one column of bytes.
#[derive(Debug)]
pub struct Chunk<'a> {
    pub frame: u64,
    pub name: &'a [u8],
    pub bytes: &'a [u8],
}

const MAJOR: usize = 46;

impl Stock {
    /// Opens a file as mode `r+` does: the header is written again, with the minor version of this
    /// gsd if the major one is 2.
    pub fn open(file: &[u8], minor: u8) -> Self {
        let mut stock = Self { file: file.to_vec(), states: Vec::new(), synced: Vec::new() };
        if stock.file[MAJOR] == 2 {
            stock.file[MAJOR - 2] = minor;
            stock.kept();
        }
        stock
    }

    fn kept(&mut self) {
        self.states.push(self.file.clone());
    }

    fn sync(&mut self) {
        self.synced.push(self.states.len());
    }

    fn number(&self, at: usize) -> usize {
        let bytes = self.file[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(bytes)).unwrap()
    }

    fn set_number(&mut self, at: usize, value: usize) {
        self.file[at..at + 8].copy_from_slice(&u64::try_from(value).unwrap().to_le_bytes());
    }

    /// Slots in front of one that is not used, which is searched for by halves.
    fn used(&self) -> usize {
        let (location, slots) = (self.number(8), self.number(16));
        let is_used = |slot| self.number(location + 32 * slot + 16) != 0;
        let (mut used, mut empty) = (0, slots);
        if slots == 0 || !is_used(0) {
            return 0;
        }
        while empty - used > 1 {
            let middle = usize::midpoint(used, empty);
            match is_used(middle) {
                true => used = middle,
                false => empty = middle,
            }
        }
        empty
    }

    /// Chunks that gsd sees: entries, but for those that are the same as the one before.
    pub fn chunks(&self) -> usize {
        let location = self.number(8);
        let index = &self.file[location..location + 32 * self.used()];
        let mut entries: Vec<_> = index.chunks(32).collect();
        entries.dedup();
        entries.len()
    }

    /// The names, and the bytes that they take.
    fn names(&self) -> (Vec<Vec<u8>>, usize) {
        let (location, len) = (self.number(24), 64 * self.number(32));
        let list = &self.file[location..location + len];
        let (mut names, mut at) = (Vec::new(), 0);
        while at < len && list[at] != 0 {
            let name: Vec<u8> = list[at..].iter().copied().take_while(|&byte| byte != 0).collect();
            at += if self.file[MAJOR] == 2 { name.len() + 1 } else { 64 };
            names.push(name);
        }
        (names, at)
    }

    /// All that pygsd takes for names: whatever stands in the list between NULs, to its end.
    pub fn all_names(&self) -> Vec<Vec<u8>> {
        let (location, len) = (self.number(24), 64 * self.number(32));
        let names = self.file[location..location + len].split(|&byte| byte == 0);
        names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Writes and flushes chunks; those of the frame `open` stay in memory, but not their names.
    pub fn flush(&mut self, chunks: &[Chunk<'_>], open: Option<u64>) {
        let (mut names, _) = self.names();
        let known = names.len();
        let (mut data, mut entries) = (Vec::new(), Vec::new());
        for chunk in chunks {
            let id = names.iter().position(|name| name == chunk.name).unwrap_or_else(|| {
                names.push(chunk.name.to_vec());
                names.len() - 1
            });
            let location = self.file.len() + data.len();
            data.extend(chunk.bytes);
            if Some(chunk.frame) != open {
                entries.push(entry(chunk.frame, chunk.bytes.len(), location, id));
            }
        }
        self.file.extend(&data);
        self.kept();
        if names.len() > known {
            self.add_names(&names[known..]);
        }
        self.sync();
        if !entries.is_empty() {
            entries.sort_by_key(|entry| key(entry));
            self.add_entries(&entries.concat());
        }
    }

    /// In place if they fit, else all names in a larger block at the end of the file.
    fn add_names(&mut self, new: &[Vec<u8>]) {
        let (_, used) = self.names();
        let (location, room) = (self.number(24), 64 * self.number(32));
        let mut list = self.file[location..location + used].to_vec();
        for name in new {
            list.extend(name);
            let end =
                if self.file[MAJOR] == 2 { list.len() + 1 } else { list.len() / 64 * 64 + 64 };
            list.resize(end, 0);
        }
        let mut len = room;
        while len < list.len() {
            len *= 2;
        }
        list.resize(len, 0);
        if len == room {
            self.file[location..location + len].copy_from_slice(&list);
        } else {
            let end = self.file.len();
            self.file.extend(&list);
            self.kept();
            self.sync();
            self.set_number(24, end);
            self.set_number(32, len / 64);
        }
        self.kept();
    }

    /// In free slots if there are enough, else all entries move to a larger block at the end.
    fn add_entries(&mut self, entries: &[u8]) {
        let used = self.used();
        let (location, slots, wanted) =
            (self.number(8), self.number(16), used + entries.len() / 32);
        if wanted > slots {
            let mut more = 2 * slots;
            while more <= wanted {
                more *= 2;
            }
            let end = self.file.len();
            self.file.resize(end + 32 * more, 0);
            self.kept();
            self.file.copy_within(location..location + 32 * slots, end);
            self.kept();
            self.sync();
            self.set_number(8, end);
            self.set_number(16, more);
            self.kept();
            self.sync();
        }
        let at = self.number(8) + 32 * used;
        self.file[at..at + entries.len()].copy_from_slice(entries);
        self.kept();
        self.sync();
    }

    /// From layer 1 to 2, in place: entries sorted, names packed, the header's version last.
    pub fn upgrade(&mut self) {
        let (location, used) = (self.number(8), self.used());
        let slots = self.file[location..location + 32 * used].chunks(32);
        let mut entries: Vec<_> = slots.map(<[u8]>::to_vec).collect();
        entries.sort_by_key(|entry| key(entry));
        self.file[location..location + 32 * used].copy_from_slice(&entries.concat());
        self.kept();
        let (names, _) = self.names();
        let (location, len) = (self.number(24), 64 * self.number(32));
        let mut list = Vec::new();
        for name in names {
            list.extend(name);
            list.push(0);
        }
        list.resize(len, 0);
        self.file[location..location + len].copy_from_slice(&list);
        self.file[44..48].copy_from_slice(&[1, 0, 2, 0]);
        self.kept();
    }

    /// A new file with the old labels.
    pub fn truncate(&mut self) {
        let labels = self.file[40..176].to_vec();
        self.file.clear();
        self.file.resize(5376, 0);
        self.file[..8].fill(0x65);
        for at in (0..8).step_by(2) {
            self.file[at] = 0xDF;
        }
        self.set_number(8, 256);
        self.set_number(16, 128);
        self.set_number(24, 4352);
        self.set_number(32, 16);
        self.file[40..176].copy_from_slice(&labels);
        self.file[44..48].copy_from_slice(&[1, 0, 2, 0]);
        self.kept();
    }
}

/// The frame and the id of an entry, by which they are sorted.
fn key(entry: &[u8]) -> (u64, u16) {
    let frame = u64::from_le_bytes(entry[..8].try_into().unwrap());
    (frame, u16::from_le_bytes(entry[28..30].try_into().unwrap()))
}

fn entry(frame: u64, n: usize, location: usize, id: usize) -> [u8; 32] {
    let mut entry = [0; 32];
    entry[..8].copy_from_slice(&frame.to_le_bytes());
    entry[8..16].copy_from_slice(&u64::try_from(n).unwrap().to_le_bytes());
    entry[16..24].copy_from_slice(&u64::try_from(location).unwrap().to_le_bytes());
    entry[24] = 1;
    entry[28..30].copy_from_slice(&u16::try_from(id).unwrap().to_le_bytes());
    entry[30] = 1;
    entry
}
