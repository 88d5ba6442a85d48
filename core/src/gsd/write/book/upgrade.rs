//! The upgrade from layer 1 to layer 2: packed names and a sorted index, in new blocks, with one
//! commit.

use super::desk::{Desk, Failure};
use super::tail::{NO_NAMES, Tail};
use super::waiting::Counts;
use crate::exact::Exact;
use crate::gsd::disk::chunk::{Chunk, Limits};
use crate::gsd::disk::header::Version;
use crate::gsd::error::{BadName, Error};
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, MAX_LEN, NAME_UNIT, NameBlock};
use crate::gsd::raw::IndexEntry;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

/// A desk whose book goes back to its state before, if the work fails or its future is dropped.
pub(super) struct Undo<'u, 'w, S, E> {
    pub(super) desk: &'u mut Desk<'w, S, E>,
    before: Option<(Tail, Counts)>,
}

impl<'u, 'w, S, E> Undo<'u, 'w, S, E> {
    pub(super) fn new(desk: &'u mut Desk<'w, S, E>) -> Self {
        let before = Some((*desk.tail, *desk.waiting.counts));
        Self { desk, before }
    }

    /// Keeps the new state.
    pub(super) fn forget(mut self) {
        self.before = None;
    }
}

impl<S, E> Drop for Undo<'_, '_, S, E> {
    /// If the header may be the new one already, the new state stays, and the header will be
    /// written again.
    fn drop(&mut self) {
        let Some((before, counts)) = self.before.take() else { return };
        *self.desk.waiting.counts = counts;
        if self.desk.tail.is_torn {
            self.desk.waiting.counts.clear();
        } else {
            *self.desk.tail = Tail { store_len: self.desk.tail.store_len, ..before };
        }
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Commits, and turns a file of an older layer into one of layer 2.1.
    pub(super) async fn upgrade(&mut self) -> Result<(), Failure> {
        if self.waiting.counts.open_len() > 0 {
            return Err(self.disk.fail(&Error::OpenFrame { frame: self.tail.frame }));
        }
        self.commit().await?;
        let version = self.tail.version;
        if version >= Version::LAYER {
            return Ok(());
        }
        self.adopt().await?;
        if version.is_sorted() {
            self.free_slots().await?; // a commit of its own, which is not undone
        }
        let undo = Undo::new(self);
        if version.is_sorted() {
            undo.desk.tail.version = Version::LAYER; // layer 2.0 lacks text only
            undo.desk.publish_all().await?;
        } else {
            undo.desk.pack_names().await?;
            undo.desk.sort_entries().await?;
            undo.desk.pad().await?;
            undo.desk.publish(undo.desk.tail.entries).await?;
            undo.desk.waiting.counts.clear();
            undo.desk.waiting.counts.set_rows(undo.desk.tail.checksums);
        }
        undo.forget();
        Ok(())
    }

    /// Writes the names to a new list, without the padding of their slots.
    async fn pack_names(&mut self) -> Result<(), Failure> {
        let units = self.tail.names.units.max(16); // never longer than in slots, but for 64 bytes
        let names = NameBlock { location: 0, units: units.saturating_add(1) };
        let block = self.tail.behind(names.span().map_or(u64::MAX, Span::len));
        let block = self.disk.check(block)?;
        self.reserve(block.end()).await?;
        let (mut left, mut free, mut crc) = (self.tail.name_list(), block, 0);
        while !left.is_empty() {
            let mut slot = [0; 65];
            let read = slot.get_mut(..64).unwrap_or_default();
            self.disk.read(left.offset(), read).await?;
            let len = slot.iter().position(|&byte| byte == 0).unwrap_or(64);
            if len == 0 {
                // a packed list cannot have an empty name, and ids are positions in the list
                return Err(self.disk.fail(&Error::BadName(BadName::Empty)));
            }
            let name = slot.get(..len.saturating_add(1)).unwrap_or_default();
            if free.len() < usize_to_u64(name.len()) {
                // gsd ends each name within its slot: it wrote no file with so many that do not
                return Err(self.disk.fail(&Error::BadName(BadName::Long { len: 64, max: 63 })));
            }
            crc = (self.checksum)(crc, name);
            self.disk.write(free.offset(), name).await?;
            (left, free) = (left.skip(NAME_UNIT), free.after(name));
        }
        self.disk.write_zeros(free).await?;
        let tail = &mut *self.tail;
        tail.names = NameBlock { location: block.offset(), units: block.len() / NAME_UNIT };
        tail.names_len = free.offset().saturating_sub(block.offset());
        (tail.names_crc, tail.names_torn) = (crc, false);
        (tail.names_before, tail.names_found) = (NO_NAMES, false); // the old one has slots
        tail.data_end = block.end().min(MAX_LEN);
        Ok(())
    }

    /// Copies the entries to a new index; the entries of each frame are sorted by id. If a frame
    /// has several entries with one name, the last one is kept, as readers of layer 1 find it. Any
    /// may become the last of all, which must be that of a chunk, or the file cannot be opened.
    async fn sort_entries(&mut self) -> Result<(), Failure> {
        let index = self.disk.check(self.tail.index_block(self.tail.entries.max(2)))?;
        let block = index.span().unwrap_or(Span::ZERO);
        self.reserve(block.end()).await?;
        self.waiting.counts.clear();
        self.waiting.counts.set_rows(false); // entries are all that is sorted, and need the room
        let (mut free, mut crc, mut frame) = (block, 0, 0);
        let mut slot = 0;
        while slot < self.tail.entries {
            let mut entry = IndexEntry::new_zeroed();
            self.disk.read(self.tail.index.slot(slot), entry.as_mut_bytes()).await?;
            let limits = Limits { file_len: self.tail.store_len, names: self.tail.names_count };
            self.disk.check(Chunk::parse_used(&entry, self.tail.index, slot, limits))?;
            let open = self.waiting.counts.open_len();
            if open > 0 && entry.frame.get() != frame {
                (free, crc) = self.write_sorted(free, crc).await?;
                continue;
            }
            frame = entry.frame.get();
            let is_new = self.waiting.position(entry.id.get()).is_ok();
            if is_new && !self.waiting.counts.has_room() {
                let full = Error::FrameFull { frame, chunks: usize_to_u64(open) };
                return Err(self.disk.fail(&full));
            }
            self.waiting.insert_entry(&entry, 0);
            slot = slot.exact_add(1);
        }
        (free, crc) = self.write_sorted(free, crc).await?;
        let tail = &mut *self.tail;
        let entries = free.offset().saturating_sub(block.offset()) / ENTRY_LEN;
        tail.index = IndexBlock { location: block.offset(), slots: block.len() / ENTRY_LEN };
        (tail.entries, tail.index_crc, tail.crc_from) = (entries, crc, 0);
        (tail.data_end, tail.version) = (block.end(), Version::LAYER);
        Ok(())
    }

    /// Writes the entries of the frame that is sorted in memory to the front of `free`.
    async fn write_sorted(&mut self, free: Span, crc: u32) -> Result<(Span, u32), Failure> {
        self.waiting.counts.end_frame();
        let sorted = self.waiting.ended();
        self.disk.write(free.offset(), sorted).await?;
        let behind = (free.after(sorted), (self.checksum)(crc, sorted));
        self.waiting.counts.clear();
        Ok(behind)
    }
}
