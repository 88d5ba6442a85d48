//! GSD files as gsd writes them, made from `spec/gsd.md` alone.
//!
//! It shares no code with striae's writer, so that the two can be compared.

use crate::gsd_linear::{Entry, Eyes, Linear, Proof};

/// A chunk of bytes, in one column.
#[derive(Debug, Clone)]
pub struct Put {
    /// Its frame, as a distance from the first that is new.
    pub frame: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// Its rows.
    pub bytes: Vec<u8>,
}

/// A file without frames, with room for so many chunks and so many units of 64 bytes of names.
#[must_use]
pub fn empty(major: u16, slots: usize, units: usize) -> Vec<u8> {
    let index = 256;
    let names = index + 32 * slots;
    let mut file = vec![0; names + 64 * units];
    file[..8].copy_from_slice(&0x65DF_65DF_65DF_65DF_u64.to_le_bytes());
    put_block(&mut file, 8, index, slots);
    put_block(&mut file, 24, names, units);
    file[40..44].copy_from_slice(&[2, 0, 1, 0]);
    file[46..48].copy_from_slice(&major.to_le_bytes());
    file[44] = u8::from(major == 2);
    file[48..51].copy_from_slice(b"gsd");
    file
}

fn put_block(file: &mut [u8], at: usize, location: usize, count: usize) {
    file[at..at + 8].copy_from_slice(&u64::try_from(location).unwrap().to_le_bytes());
    file[at + 8..at + 16].copy_from_slice(&u64::try_from(count).unwrap().to_le_bytes());
}

/// What gsd makes of a file when it appends frames: bytes at the end, then names, then the index,
/// each in its place if there is room, else in a block of twice the size, or more, at the end.
///
/// # Panics
/// If gsd cannot read the file.
pub fn append(file: &mut Vec<u8>, puts: &[Put]) {
    let old = file.clone();
    let old = Linear::read(&old, Eyes::Gsd, Proof::Count).unwrap();
    if old.layer.0 == 2 {
        file[44] = 1; // that of the newest gsd
    }
    let mut names: Vec<_> = old.names.iter().map(|name| name.to_vec()).collect();
    let mut entries = Vec::new();
    for put in puts {
        let known = names.iter().position(|name| *name == put.name);
        let id = known.unwrap_or_else(|| {
            names.push(put.name.clone());
            names.len() - 1
        });
        entries.push(Entry {
            frame: old.frames + put.frame,
            n: u64::try_from(put.bytes.len()).unwrap(),
            location: i64::try_from(file.len()).unwrap(),
            m: 1,
            id: u16::try_from(id).unwrap(),
            kind: 1,
            flags: 0,
        });
        file.extend_from_slice(&put.bytes);
    }
    entries.sort_by_key(|entry| (entry.frame, entry.id));
    if names.len() > old.names.len() {
        put_names(file, &old, &names);
    }
    let used = old.entries.len();
    let (mut location, mut slots) = old.index_block();
    if used + entries.len() > slots {
        let from = location;
        (location, slots) = (file.len(), 2 * slots);
        while slots <= used + entries.len() {
            slots *= 2;
        }
        file.resize(location + 32 * slots, 0);
        file.copy_within(from..from + 32 * used, location);
        put_block(file, 8, location, slots);
    }
    for (entry, slot) in entries.iter().zip(used..) {
        let at = location + 32 * slot;
        file[at..at + 32].copy_from_slice(&entry.bytes());
    }
}

fn put_names(file: &mut Vec<u8>, old: &Linear<'_>, names: &[Vec<u8>]) {
    let mut list = Vec::new();
    for name in names {
        list.extend_from_slice(name);
        let len = if old.layer.0 == 2 { list.len() + 1 } else { list.len() / 64 * 64 + 64 };
        list.resize(len, 0);
    }
    let (mut location, mut units) = old.names_block();
    if list.len() > 64 * units {
        location = file.len();
        while 64 * units < list.len() {
            units *= 2;
        }
        file.resize(location + 64 * units, 0);
        put_block(file, 24, location, units);
    }
    file[location..location + list.len()].copy_from_slice(&list);
}
