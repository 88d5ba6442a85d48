//! Memory that the ranks of a node share, with a slot for each of them.
#![allow(unsafe_code, reason = "memory that several processes have mapped")]

use super::pass::{Pass, Token};
use crate::collective::{Collective, Fold};
use crate::error::Error;
use memmap2::MmapRaw;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use striae_core::store::usize_to_u64;
use tempfile::NamedTempFile;

/// Where files are memory.
const FOLDER: &str = "/dev/shm";

/// How many bytes of a slot get pages at first: the tables of a set whose tasks have few chunks.
const FIRST: usize = 1 << 14;

/// How the names of segments begin. A number follows, as 8 characters.
const PREFIX: &str = "striae-";

/// A segment, as one rank has mapped it. Only the owner of a slot writes to it, and only while no
/// other rank reads it: the ranks tell each other by messages.
#[derive(Debug)]
pub(super) struct Segment {
    map: MmapRaw,
    slot_len: usize,
    rank: u32,
    /// Where the slot of this rank starts; all of it is in the mapping.
    start: usize,
    file: File,
    /// Number of bytes at the start of this rank's slot whose pages exist.
    made: usize,
}

impl Segment {
    /// A segment with a slot of `slot_len` bytes for each rank, or `None`, at all ranks, if one of
    /// them cannot have it. The pages of a slot are made by the first [`put`](Self::put) that needs
    /// them, so that no access can fail. With it comes the way on which the writer, rank 0, passes
    /// its file, which single ranks may not have. This takes two calls of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks of `group`.
    pub(super) fn new<C: Collective>(
        group: &C,
        slot_len: usize,
    ) -> Result<(Option<Self>, Option<Pass>), Error> {
        let len = usize::try_from(group.size()).ok().and_then(|ranks| ranks.checked_mul(slot_len));
        let (made, pass) = match (group.rank(), len) {
            (0, Some(len)) => (make(len).ok(), Pass::writer(group.size()).ok()),
            _ => (None, None),
        };
        let number = made.as_ref().and_then(number_of).unwrap_or(0);
        let [name, secret, more] = pass.as_ref().and_then(Pass::token).map_or([0; 3], Token::words);
        let [number, token @ ..] = group.max(Ok([number, name, secret, more]))?;
        let pass = match (group.rank(), Token::of_words(token)) {
            (1.., Some(token)) => Pass::of(token, group.rank()).ok(),
            _ => pass,
        };
        let path = Path::new(FOLDER).join(name_of(number));
        let map = if number == 0 { None } else { map(&path, len.unwrap_or(0)).ok() };
        let segment = map.and_then(|map| Self::of(map, slot_len, group.rank()));
        let [all] = group.combine(Ok([u64::from(segment.is_some())]), [Fold::Min])?;
        pass.as_ref().map(Pass::all_came);
        Ok((segment.filter(|_| all == 1), pass)) // the name goes with `made`
    }

    fn of((file, map): (File, MmapRaw), slot_len: usize, rank: u32) -> Option<Self> {
        let mut segment = Self { map, slot_len, rank, start: 0, file, made: 0 };
        segment.start = segment.place(rank, 0, slot_len)?;
        Some(segment)
    }

    /// Copies bytes into the slot of this rank, from `at` on. Returns whether they have room: in
    /// the slot, and in the memory of the node, which may have become full.
    #[inline]
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) -> bool {
        let Some(end) = at.checked_add(bytes.len()).filter(|end| *end <= self.slot_len) else {
            return false;
        };
        if end > self.made && self.make_pages(end).is_err() {
            return false;
        }
        // SAFETY: the slot is in the mapping, which lives as long as `self`, the bytes are in the
        // slot, and their pages exist. Nobody else reads or writes it now (see `Segment`).
        unsafe {
            let to = self.map.as_mut_ptr().add(self.start).add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        true
    }

    /// Moves bytes of the slot of this rank to its start.
    pub(super) fn move_to_start(&mut self, from: usize, len: usize) {
        let Some(start) = self.place(self.rank, from, len) else { return };
        let slot = self.map.as_mut_ptr();
        // SAFETY: as above; the bytes were put there, so their pages exist.
        unsafe { std::ptr::copy(slot.add(start), slot.add(self.start), len) };
    }

    /// Bytes of the slot of a rank, which has said that they are there and waits.
    pub(super) fn bytes(&self, rank: u32, at: usize, len: usize) -> Option<&[u8]> {
        let start = self.place(rank, at, len)?;
        // SAFETY: as above, where the rank has put them; it does not write before the next
        // collective, which needs this one too.
        Some(unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(start), len) })
    }

    /// The first bytes of the slot of this rank.
    pub(super) fn own(&self, len: usize) -> &[u8] {
        self.bytes(self.rank, 0, len).unwrap_or_default()
    }

    /// Makes the pages of the slot of this rank up to byte `end`, and as many again: a write to one
    /// that the file system then had no memory for would end the process.
    #[cold]
    fn make_pages(&mut self, end: usize) -> io::Result<()> {
        let end = end.saturating_mul(2).max(FIRST).min(self.slot_len);
        let at = usize_to_u64(self.start.saturating_add(self.made));
        let len = usize_to_u64(end.saturating_sub(self.made));
        rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), at, len)?;
        self.made = end;
        Ok(())
    }

    /// Where bytes of a slot are in the mapping, if they are in the slot.
    fn place(&self, rank: u32, at: usize, len: usize) -> Option<usize> {
        at.checked_add(len).filter(|end| *end <= self.slot_len)?;
        let start = usize::try_from(rank).ok()?.checked_mul(self.slot_len)?.checked_add(at)?;
        start.checked_add(len).filter(|end| *end <= self.map.len())?;
        Some(start)
    }
}

/// Makes a file of at most half of what is free. It has no pages yet.
fn make(len: usize) -> io::Result<NamedTempFile> {
    let random = size_of::<u64>();
    let file = tempfile::Builder::new().prefix(PREFIX).rand_bytes(random).tempfile_in(FOLDER)?;
    let len = u64::try_from(len).map_err(io::Error::other)?;
    let free = rustix::fs::fstatvfs(&file)?;
    if len > free.f_bavail.saturating_mul(free.f_frsize) >> 1 {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.as_file().set_len(len)?;
    Ok(file)
}

/// The number in the name of a segment.
fn number_of(file: &NamedTempFile) -> Option<u64> {
    let name = file.path().file_name()?.as_bytes().strip_prefix(PREFIX.as_bytes())?;
    Some(u64::from_le_bytes(name.try_into().ok()?))
}

fn name_of(number: u64) -> OsString {
    OsString::from_vec([PREFIX.as_bytes(), &number.to_le_bytes()].concat())
}

fn map(path: &Path, len: usize) -> io::Result<(File, MmapRaw)> {
    let file: File = OpenOptions::new().read(true).write(true).open(path)?;
    let map = MmapRaw::map_raw(&file)?;
    if map.len() == len { Ok((file, map)) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test: a panic fails it")]
mod tests {
    use super::{Segment, map};
    use crate::collect::handle::{Group, Handle};
    use crate::{Collective, Threads};
    use std::fs::File;
    use striae::posix::PosixFile;
    use striae_core::store::{ReadAt, WriteAt};
    use tempfile::NamedTempFile;

    /// A segment of a file system that has no memory left: its pages cannot be made.
    fn without_memory(rank: u32) -> Segment {
        let file = NamedTempFile::new().unwrap();
        file.as_file().set_len(200).unwrap();
        let (_, map) = map(file.path(), 200).unwrap();
        // The operating system refuses to allocate through it.
        Segment::of((File::open(file.path()).unwrap(), map), 100, rank).unwrap()
    }

    #[test]
    fn a_rank_for_which_no_memory_is_left_writes_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let done = Threads::new(2).run(|comm| {
            let (rank, path) = (comm.rank(), path.clone());
            let all = comm.split(Ok(0)).unwrap();
            if rank == 0 {
                PosixFile::create(&path, false).unwrap();
            }
            comm.agree(Ok(())).unwrap(); // the file is there
            let file = PosixFile::open_rw(&path).unwrap();
            let open = move |_: bool| PosixFile::open_rw(&path);
            let segment = Some(without_memory(rank));
            let group = Group { comm, segment, pass: None, kept_as: None };
            let handle = Handle::new(open, Some(group), 100);
            handle.io().write_all_at(u64::from(rank) * 4, b"text").unwrap();
            let size = file.size().unwrap();
            let handed_over = handle.hand_over(Ok(()));
            (rank, size, handed_over, handle.leave(&all))
        });
        for done in done {
            let (rank, size, handed_over, left) = done.unwrap();
            assert!(rank == 0 || size == 8, "{size}");
            handed_over.unwrap();
            left.unwrap();
        }
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), b"texttext");
    }
}
