//! The committed frames, as they are found and read.

use super::code::Code;
use super::handle::GsdIndexEntry;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use striae::Span;
use striae::gsd::{Chunk, ChunkType, File};

/// A file as it was at the last flush of this handle, or when it was opened.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) file: File,
    /// Number of frames, with empty frames at the end that this handle has flushed.
    pub(super) frames: u64,
    /// Length of the file.
    pub(super) file_len: u64,
    /// The names, each with a NUL.
    names: Vec<u8>,
    /// Entries that a caller has pointers to, until the next flush.
    found: Mutex<HashMap<(u64, u16), Arc<GsdIndexEntry>, Quick>>,
    /// Whether the file was flushed since it was read.
    pub(super) is_stale: bool,
}

/// A hash of frame and id: the caller chooses both, so that nobody can choose bad ones for it.
#[derive(Debug, Clone, Copy, Default)]
struct Quick(u64);

impl BuildHasher for Quick {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // Odd, with bits in no order; the upper half of the product depends on all bits.
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed.rotate_right(32);
    }
}

impl Seen {
    pub(super) fn new(file: File, file_len: u64) -> Result<Self, Code> {
        let (frames, names, found) = (file.frames(), Vec::new(), Mutex::default());
        let mut seen = Self { file, frames, file_len, names, found, is_stale: false };
        seen.set_names()?;
        Ok(seen)
    }

    /// Reads the file again, if it was flushed.
    pub(super) fn refresh(&mut self) -> Result<(), Code> {
        if self.is_stale {
            self.file.refresh()?;
            self.found.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            self.set_names()?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// The file was flushed: it has `frames` frames and `file_len` bytes.
    pub(super) const fn flushed(&mut self, frames: u64, file_len: u64) {
        (self.frames, self.file_len, self.is_stale) = (frames, file_len, true);
    }

    fn set_names(&mut self) -> Result<(), Code> {
        self.names.clear();
        for name in self.file.names()?.iter() {
            self.names.extend_from_slice(name.as_bytes());
            self.names.push(0);
        }
        Ok(())
    }

    /// The entry of a chunk. It stays where it is until a flush.
    pub(super) fn find(&self, frame: u64, name: &[u8]) -> Option<*const GsdIndexEntry> {
        if frame >= self.frames {
            return None;
        }
        let name = super::write::name_in(self.file.header().version, name);
        let id = self.file.names().map_err(Code::from).ok()?.id(name)?;
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = found().get(&(frame, id)) {
            return Some(Arc::as_ptr(entry)); // programs ask whether a chunk is there, then for it
        }
        let chunk = self.file.find_id(frame, id).map_err(Code::from).ok()??;
        let mut found = found();
        let entry = found.entry((frame, id)).or_insert_with(|| Arc::new(entry(&chunk)));
        Some(Arc::as_ptr(entry))
    }

    /// Number of bytes of the chunk that `entry` describes.
    pub(super) fn len(entry: &GsdIndexEntry) -> Option<u64> {
        let kind = ChunkType::from_number(entry.kind)?;
        entry.n.checked_mul(entry.m.into())?.checked_mul(kind.size().get())
    }

    /// Reads all bytes of the chunk that `entry` describes, in the byte order of the machine.
    pub(super) fn read(&self, entry: &GsdIndexEntry, bytes: &mut [u8]) -> Result<(), Code> {
        let chunk = chunk(entry).ok_or_else(|| {
            Code::FILE_CORRUPT.because(&"gsd_read_chunk: no file can have a chunk of this entry")
        })?;
        self.file.read_bytes_into(&chunk, bytes)?;
        to_machine_order(chunk.kind, bytes);
        Ok(())
    }

    /// The first name after `prev` that starts with `start`; `prev` is the address of a name that
    /// was returned before, or null to begin.
    pub(super) fn matching(&self, start: &[u8], prev: *const u8) -> Option<*const u8> {
        let mut rest = match prev.is_null() {
            true => &*self.names,
            false => {
                let skip = prev.addr().checked_sub(self.names.as_ptr().addr())?;
                after_nul(self.names.get(skip..)?)
            }
        };
        while !rest.is_empty() {
            if rest.starts_with(start) {
                return Some(rest.as_ptr());
            }
            rest = after_nul(rest);
        }
        None
    }
}

/// What follows the first NUL.
fn after_nul(bytes: &[u8]) -> &[u8] {
    let mut parts = bytes.splitn(2, |&byte| byte == 0);
    parts.nth(1).unwrap_or_default()
}

fn entry(chunk: &Chunk) -> GsdIndexEntry {
    GsdIndexEntry {
        frame: chunk.frame,
        n: chunk.n,
        location: i64::try_from(chunk.span.offset()).unwrap_or(0), // the file has it
        m: chunk.m,
        id: chunk.id,
        kind: chunk.kind.number(),
        flags: 0,
    }
}

/// The chunk of an entry, which may be a caller's own.
fn chunk(entry: &GsdIndexEntry) -> Option<Chunk> {
    let kind = ChunkType::from_number(entry.kind)?;
    let place = u64::try_from(entry.location).ok().filter(|&place| place > 0)?;
    let span = Span::new(place, Seen::len(entry)?)?;
    Some(Chunk { frame: entry.frame, id: entry.id, kind, n: entry.n, m: entry.m, span })
}

/// Turns values of a file, which are little-endian, into those of this machine, or back.
pub(super) fn to_machine_order(kind: ChunkType, bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        let size = usize::try_from(kind.size().get()).unwrap_or(1);
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_one_another_until_the_last() {
        assert_eq!(after_nul(b"a\0bc\0"), b"bc\0");
        assert_eq!(after_nul(b"bc\0"), b"");
        assert_eq!(after_nul(b""), b"");
    }
}
