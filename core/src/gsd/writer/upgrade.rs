//! From layer 1 to layer 2: packed names and a sorted index, in fresh blocks, by one commit.

use super::tail::{MAX_LEN, Tail};
use super::{Slot, WriteError, Writer};
use crate::gsd::error::{BadName, Error};
use crate::gsd::header::Version;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, NAME_UNIT, NameBlock, grown};
use crate::gsd::raw::IndexEntry;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::{WriteAt, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Makes a file of an older layer one of layer 2.1; commits first.
    ///
    /// Old index and names stay where they are until the new ones are whole, so the file can be read
    /// at any time. Of chunks of a frame that have the same name the last one is kept, which is
    /// the one that readers of layer 1 find.
    ///
    /// # Errors
    /// [`Error::OpenFrame`]; [`Error::FrameFull`] if a frame has more chunks than there is memory
    /// for; [`Error::BadName`] if the file has an empty name; [`Error::FileFull`]; the store's own. The file is of layer 1 then, and nothing is lost.
    pub fn upgrade(&mut self) -> Result<(), WriteError<S>> {
        if self.buffer.open_len() > 0 {
            return Err(DriveError::Format(Error::OpenFrame { frame: self.tail.frame }));
        }
        self.commit()?;
        if self.tail.version >= Version::LAYER {
            return Ok(());
        }
        self.adopt()?;
        let before = self.tail;
        let upgraded = match before.version.is_sorted() {
            false => self.upgrade_blocks(),
            true => {
                self.tail.version = Version::LAYER;
                self.publish_all() // layer 2.0 lacks text only
            }
        };
        // If publishing has begun, the file may be of layer 2 already, and will be.
        if upgraded.is_err() && !self.tail.is_torn {
            let Tail { store_len, stands, .. } = self.tail;
            self.tail = Tail { store_len, stands, ..before };
        }
        self.buffer.clear();
        upgraded
    }

    fn upgrade_blocks(&mut self) -> Result<(), WriteError<S>> {
        self.pack_names()?;
        let slots = self.tail.entries.max(2);
        let data_end = self.tail.data_end;
        let full = DriveError::Format(Error::FileFull { data_end, len: u64::MAX });
        let slots = grown(self.tail.index.slots, slots).ok_or(full)?;
        let len = Span::of_table(0, slots, ENTRY_LEN).map_or(u64::MAX, Span::len);
        let block = self.behind(len).map_err(DriveError::Format)?;
        self.reserve(block.end())?;
        let index = IndexBlock { location: block.offset(), slots };
        self.buffer.clear();
        self.buffer.set_rows(false); // entries are all that is sorted, and need the room
        let sorted = self.sort_entries(index);
        self.buffer.clear();
        self.buffer.set_rows(self.tail.checksums);
        let (entries, crc) = sorted?;
        let tail = &mut self.tail;
        (tail.index, tail.entries, tail.index_crc, tail.crc_from) = (index, entries, crc, 0);
        tail.data_end = block.end();
        tail.version = Version::LAYER;
        self.pad()?;
        self.publish(self.tail.entries)
    }

    /// Writes the names without what fills their slots to a fresh list.
    fn pack_names(&mut self) -> Result<(), WriteError<S>> {
        let old = self.name_list();
        let units = self.tail.names.units.max(16); // never longer than in slots, but for 64 bytes
        let names = NameBlock { location: 0, units: units.saturating_add(1) };
        let len = names.span().map_or(u64::MAX, Span::len);
        let block = self.behind(len).map_err(DriveError::Format)?;
        self.reserve(block.end())?;
        let (mut skip, mut crc, mut at) = (0, 0, block.offset());
        while skip < old.len() {
            let mut slot = [0; 65];
            let bytes = slot.get_mut(..64).unwrap_or_default();
            read_exact(&self.store, old.offset().saturating_add(skip), bytes)?;
            let len = slot.iter().position(|&byte| byte == 0).unwrap_or(64);
            if len == 0 {
                // a packed list cannot have it, and ids are places in the list
                return Err(DriveError::Format(Error::BadName(BadName::Empty)));
            }
            let name = slot.get(..len.saturating_add(1)).unwrap_or_default();
            self.store.write_all_at(at, name).map_err(DriveError::Store)?;
            crc = (self.checksum)(crc, name);
            at = at.saturating_add(usize_to_u64(name.len()));
            skip = skip.saturating_add(NAME_UNIT);
        }
        self.write_zeros(at, block.end())?;
        let tail = &mut self.tail;
        tail.names = NameBlock { location: block.offset(), ..names };
        tail.names_len = at.saturating_sub(block.offset());
        (tail.names_crc, tail.names_torn) = (crc, false);
        (tail.names_before, tail.names_found) = (None, false); // the old one has slots
        tail.data_end = block.end().min(MAX_LEN);
        Ok(())
    }

    /// Copies the entries to `index`, those of a frame in the order of their ids; returns how many
    /// there are and their checksum.
    fn sort_entries(&mut self, index: IndexBlock) -> Result<(u64, u32), WriteError<S>> {
        let (from, count) = (self.tail.index, self.tail.entries);
        let (mut written, mut crc, mut frame) = (0, 0, 0);
        for slot in 0..=count {
            let mut entry = IndexEntry::new_zeroed();
            if slot < count {
                read_exact(&self.store, from.offset_of(slot), entry.as_mut_bytes())?;
            }
            if self.buffer.open_len() > 0 && (slot == count || entry.frame.get() != frame) {
                self.buffer.end_frame();
                let sorted = self.buffer.ended();
                let to = index.offset_of(written);
                self.store.write_all_at(to, sorted).map_err(DriveError::Store)?;
                crc = (self.checksum)(crc, sorted);
                written = written.saturating_add(usize_to_u64(sorted.len() / 32));
                self.buffer.clear();
            }
            frame = entry.frame.get();
            if slot < count {
                let is_new = self.buffer.position(entry.id.get()).is_ok();
                if is_new && !self.buffer.has_room() {
                    let chunks = usize_to_u64(self.buffer.open_len());
                    return Err(DriveError::Format(Error::FrameFull { frame, chunks }));
                }
                self.buffer.insert_entry(&entry, 0);
            }
        }
        Ok((written, crc))
    }
}
