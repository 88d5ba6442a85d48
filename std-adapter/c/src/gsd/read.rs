//! The committed frames, as they are found and read.

use super::code::Code;
use super::handle::GsdIndexEntry;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use striae::Span;
use striae::gsd::{Chunk, ChunkType, File};

/// A file as it was at the last flush of this handle, or when it was opened.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) file: File,
    /// Number of frames, with empty frames at the end that this handle has flushed.
    pub(super) frames: u64,
    /// The names, each with a NUL.
    names: Vec<u8>,
    /// Entries that a caller has pointers to, until the next flush.
    found: Mutex<HashMap<(u64, u16), Arc<GsdIndexEntry>>>,
}

impl Seen {
    pub(super) fn new(file: File) -> Result<Self, Code> {
        let frames = file.frames();
        let mut seen = Self { file, frames, names: Vec::new(), found: Mutex::default() };
        seen.set_names()?;
        Ok(seen)
    }

    /// Reads the file again, after which it has `frames` frames.
    pub(super) fn refresh(&mut self, frames: u64) -> Result<(), Code> {
        self.file.refresh()?;
        self.frames = frames;
        self.found.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.set_names()
    }

    fn set_names(&mut self) -> Result<(), Code> {
        self.names.clear();
        for name in self.file.names()?.iter() {
            self.names.extend_from_slice(name.as_bytes());
            self.names.push(0);
        }
        Ok(())
    }

    /// The entry of a chunk. It stays where it is until the next [`refresh`](Self::refresh).
    pub(super) fn find(&self, frame: u64, name: &[u8]) -> Option<*const GsdIndexEntry> {
        if frame >= self.frames {
            return None;
        }
        let name = super::write::name_in(self.file.header().version, name);
        let chunk = self.file.find(frame, name).map_err(Code::from).ok()??;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = found.entry((chunk.frame, chunk.id)).or_insert_with(|| Arc::new(entry(&chunk)));
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
