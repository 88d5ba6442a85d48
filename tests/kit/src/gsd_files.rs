//! GSD files for tests: those of `tests/golden/gsd`, and files made byte by byte.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file that gsd wrote, and what is known about it.
#[derive(Debug)]
pub struct GoldenFile {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Its part of `expected.json`.
    pub expected: Value,
}

impl GoldenFile {
    pub fn is_valid(&self) -> bool {
        self.expected["kind"] == "valid"
    }

    /// The names in the order of their ids.
    pub fn names(&self) -> Vec<Vec<u8>> {
        self.expected["names"].as_array().unwrap().iter().map(name_bytes).collect()
    }

    /// The chunks by frame and name.
    pub fn chunks(&self) -> &[Value] {
        self.expected["chunks"].as_array().unwrap()
    }
}

pub fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/gsd")
}

/// All of them, in the order of their names.
pub fn golden_files() -> Vec<GoldenFile> {
    let json = std::fs::read(golden_dir().join("expected.json")).unwrap();
    let Value::Object(all) = serde_json::from_slice(&json).unwrap() else { panic!("no object") };
    assert!(all.len() >= 52, "golden files are missing: {}", all.len());
    let load = |(name, expected): (String, Value)| {
        let bytes = std::fs::read(golden_dir().join(&name)).unwrap();
        GoldenFile { name: name.trim_end_matches(".gsd").to_owned(), bytes, expected }
    };
    all.into_iter().map(load).collect()
}

/// The bytes of the one with this name.
pub fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(golden_dir().join(format!("{name}.gsd"))).unwrap()
}

/// A name as `expected.json` has it: a text, or `{"hex": ".."}`.
pub fn name_bytes(name: &Value) -> Vec<u8> {
    if let Value::String(text) = name {
        return text.as_bytes().to_vec();
    }
    let digit = |byte: &u8| u8::try_from(char::from(*byte).to_digit(16).unwrap()).unwrap();
    let digits = name["hex"].as_str().unwrap().as_bytes().chunks_exact(2);
    digits.map(|two| (digit(&two[0]) << 4) | digit(&two[1])).collect()
}

/// An index entry as a test writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub frame: u64,
    pub n: u64,
    pub location: i64,
    pub m: u32,
    pub id: u16,
    pub kind: u8,
    pub flags: u8,
}

impl Entry {
    /// A chunk without rows: it needs no place of its own.
    pub const fn empty(frame: u64, id: u16) -> Self {
        Self { frame, n: 0, location: 256, m: 1, id, kind: 1, flags: 0 }
    }

    pub fn bytes(self) -> [u8; 32] {
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

/// A file made byte by byte: header, index at 256, name list, nothing else.
#[derive(Debug, Clone)]
pub struct Made {
    /// Major and minor version of the file layer.
    pub layer: (u16, u16),
    pub entries: Vec<Entry>,
    /// Slots of the index; those behind the entries are empty.
    pub slots: usize,
    pub names: Vec<Vec<u8>>,
}

impl Made {
    /// A file of layer 2.1 with `names` names `n0`, `n1`, ... and some slots to spare.
    pub fn new(entries: Vec<Entry>, names: usize) -> Self {
        let names = (0..names).map(|id| format!("n{id}").into_bytes()).collect();
        Self { layer: (2, 1), slots: entries.len() + 3, entries, names }
    }

    pub fn of_layer_1(self) -> Self {
        Self { layer: (1, 0), ..self }
    }

    fn name_list(&self) -> Vec<u8> {
        let mut list = Vec::new();
        for name in &self.names {
            list.extend_from_slice(name);
            let used = if self.layer.0 == 1 { 64 - name.len() } else { 1 };
            list.extend(std::iter::repeat_n(0, used));
        }
        list.resize((list.len() + 1).next_multiple_of(64), 0);
        list
    }

    pub fn names_at(&self) -> usize {
        256 + 32 * self.slots
    }

    pub fn bytes(&self) -> Vec<u8> {
        let names = self.name_list();
        let mut bytes = vec![0; 256];
        let mut put = |at: usize, value: u64| {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(0, 0x65DF_65DF_65DF_65DF);
        put(8, 256);
        put(16, u64::try_from(self.slots).unwrap());
        put(24, u64::try_from(self.names_at()).unwrap());
        put(32, u64::try_from(names.len() / 64).unwrap());
        let layer = (u64::from(self.layer.0) << 16) | u64::from(self.layer.1);
        put(40, (layer << 32) | 0x0001_0002);
        bytes[48..52].copy_from_slice(b"made");
        bytes[112..116].copy_from_slice(b"none");
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.bytes());
        }
        bytes.resize(self.names_at(), 0);
        bytes.extend_from_slice(&names);
        bytes
    }
}

/// The bytes with others in place of some.
pub fn with(bytes: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

/// CRC-32C, bit by bit.
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut crc = !0u32;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    !crc
}

/// The file with a right checksum of its commit record.
pub fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c(&[&bytes[8..40], &bytes[176..252]]);
    bytes[252..256].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// What commits change of a header.
pub fn image(bytes: &[u8]) -> Vec<u8> {
    [&bytes[8..48], &bytes[176..256]].concat()
}

/// The file with such an image in its header.
pub fn with_image(bytes: &[u8], image: &[u8]) -> Vec<u8> {
    with(&with(bytes, 8, &image[..40]), 176, &image[40..])
}

/// A file with a commit record, made by `spec/gsd.md`: header, shadows at 256, names at 768, index
/// of 8 slots at 1024, data from 1280 to 1304. Of its entries the last commit shows all, the one
/// before it those of the first two frames.
pub fn committed_file(major: u16, entries: &[Entry]) -> Vec<u8> {
    let before = entries.iter().take_while(|entry| entry.frame < 2).count();
    let names: &[u8] = if major == 1 { &V1_NAMES } else { b"n0\0n1\0n2\0" };
    let minor = if major == 1 { 0 } else { 1 };
    let mut bytes = Made { layer: (major, minor), ..Made::new(vec![], 0) }.bytes();
    bytes.truncate(256);
    bytes.resize(768, 0);
    bytes.extend_from_slice(names);
    bytes.resize(1024, 0);
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.bytes()));
    bytes.resize(1280, 0);
    bytes.extend(1..=24);

    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(8, &1024u64.to_le_bytes());
    put(24, &768u64.to_le_bytes());
    put(32, &4u64.to_le_bytes());
    put(176, b"striae\0\x01");
    for (at, value) in [(16, 8u64), (24, 1304), (32, 256), (40, 0)] {
        put(176 + at, &value.to_le_bytes());
    }
    put(176 + 52, &u32::try_from(names.len()).unwrap().to_le_bytes());
    put(176 + 56, &3u32.to_le_bytes());
    put(176 + 64, &crc32c(&[names]).to_le_bytes());
    put(176 + 74, &[u8::try_from(major).unwrap()]);
    let ident = crc32c(&[&bytes[40..44], &bytes[48..176]]);
    bytes[176 + 68..176 + 72].copy_from_slice(&ident.to_le_bytes());

    let old = image(&committed(bytes.clone(), before, 1));
    let mut bytes = committed(bytes, entries.len(), 2);
    let new = image(&bytes);
    let mut shadow = [b"striaeSH", old.as_slice(), &new, &[0; 4]].concat();
    shadow.extend_from_slice(&crc32c(&[&shadow]).to_le_bytes());
    bytes[256..512].copy_from_slice(&shadow);
    bytes
}

/// The file with a commit of so many entries.
fn committed(mut bytes: Vec<u8>, entries: usize, sequence: u32) -> Vec<u8> {
    let count = u64::try_from(entries).unwrap().to_le_bytes();
    bytes[16..24].copy_from_slice(&count);
    bytes[176 + 8..176 + 16].copy_from_slice(&count);
    bytes[176 + 48..176 + 52].copy_from_slice(&sequence.to_le_bytes());
    let index_crc = crc32c(&[&bytes[1024..1024 + 32 * entries]]);
    bytes[176 + 60..176 + 64].copy_from_slice(&index_crc.to_le_bytes());
    signed(bytes)
}

/// `n0`, `n1` and `n2` in slots of layer 1.
const V1_NAMES: [u8; 192] = {
    let mut names = [0; 192];
    (names[0], names[64], names[128]) = (b'n', b'n', b'n');
    (names[1], names[65], names[129]) = (b'0', b'1', b'2');
    names
};
