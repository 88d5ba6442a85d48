//! Commits: what was written becomes what the file is.

use super::sums::Sums;
use super::tail::Stands;
use super::{Slot, WriteError, Writer};
use crate::gsd::error::Error;
use crate::gsd::layout::IndexBlock;
use crate::gsd::publish::Publish;
use crate::gsd::raw::{Image, Shadow};
use crate::gsd::record::Record;
use crate::gsd::shadow::{Added, SHADOW_LEN};
use crate::step::{DriveError, drive, read_exact};
use crate::store::WriteAt;

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Makes all ended frames durable and visible. Costs two syncs, or one
    /// ([`Attributes::one_sync`](crate::gsd::Attributes::one_sync)), and none if there is nothing new, but
    /// the first one syncs what was found in any case.
    ///
    /// The present frame goes on. Nothing is visible before all of it is.
    ///
    /// # Errors
    /// The store's own: the file is as the last commit left it, or as this one would, and says
    /// which; the next commit tries again. [`Error::FileFull`].
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.settle()?;
        self.spill()?;
        let tail = &self.tail;
        let names = if tail.is_adopted { tail.image.commit.names.get() } else { tail.names_count };
        if tail.entries == tail.committed && names == tail.names_count {
            return match tail.stands {
                // Whoever left it may have been killed before its sync, and this is a promise.
                Stands::Found => self.make_durable(),
                Stands::Written | Stands::Durable => Ok(()),
            };
        }
        self.publish_all()
    }

    /// Publishes all that the index and the name list have.
    pub(super) fn publish_all(&mut self) -> Result<(), WriteError<S>> {
        self.make_writable()?;
        self.pad()?;
        self.publish(self.tail.entries)
    }

    /// Whether all chunks and names that were written are committed.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        let (tail, committed) = (&self.tail, self.tail.image.commit.names.get());
        let has_names = !tail.is_adopted || tail.names_count == committed;
        self.buffer.is_empty() && tail.entries == tail.committed && has_names && !tail.is_torn
    }

    /// Publishes the first `entries` of the index, and all names.
    pub(super) fn publish(&mut self, entries: u64) -> Result<(), WriteError<S>> {
        let shown = if entries > 0 {
            IndexBlock { slots: entries, ..self.tail.index }
        } else {
            self.show_nothing()?
        };
        self.copy_entries()?;
        self.clear_behind_names()?;
        self.reserve(self.tail.data_end)?;
        let new = self.next_image(entries, shown).map_err(DriveError::Format)?;
        self.replace(&new)?;
        self.tail.committed = entries;
        Ok(())
    }

    /// Empty slots for a header without entries: the last ones, which leaves the others free.
    #[cold]
    fn show_nothing(&mut self) -> Result<IndexBlock, WriteError<S>> {
        let shown = self.tail.image.index();
        if self.tail.index.last(shown.slots) == Some(shown) || self.tail.index == shown {
            return Ok(shown);
        }
        let slots = self.tail.shown_slots;
        if self.tail.index.last(slots).is_none() {
            self.move_index(slots.saturating_mul(2))?;
        }
        let last = self.tail.index.last(slots).unwrap_or(shown);
        self.write_zeros(last.location, last.offset_of(slots))?;
        Ok(last)
    }

    /// The header that shows `entries`.
    #[inline(never)]
    fn next_image(&self, entries: u64, shown: IndexBlock) -> Result<Image, Error> {
        let tail = &self.tail;
        let full = Error::FileFull { data_end: tail.data_end, len: tail.names_len };
        let record = Record {
            entries,
            index_reserved: tail.index.slots,
            data_end: tail.data_end,
            shadow: tail.image.commit.shadow.get(),
            crc_from: tail.crc_from,
            sequence: tail.image.commit.sequence.get().wrapping_add(1),
            names_len: u32::try_from(tail.names_len).map_err(|_| full)?,
            names: tail.names_count,
            index_crc: tail.index_crc,
            names_crc: tail.names_crc,
            ident_crc: tail.ident_crc,
            align: tail.align,
            checksums: tail.checksums,
            one_sync: tail.one_sync,
            layer: u8::try_from(tail.version.major).unwrap_or(0),
        };
        let mut image = tail.image;
        image.index_location = shown.location.into();
        image.index_allocated_entries = shown.slots.into();
        image.namelist_location = tail.names.location.into();
        image.namelist_allocated_entries = tail.names.units.into();
        image.gsd_version = tail.version.number().into();
        Ok(image.with_record(record, self.checksum))
    }

    /// Puts `new` in the place of the header's image.
    #[inline(never)]
    fn replace(&mut self, new: &Image) -> Result<(), WriteError<S>> {
        let tail = &self.tail;
        let crc = tail.sums.added_crc(tail.data_end, self.checksum);
        let added_crc = Added::between(&tail.image, new).map_or(0, |_| crc);
        let mut machine = Publish::new(&tail.image, new, added_crc, self.checksum);
        let done = drive(&mut machine, &mut self.store, &mut []);
        if machine.has_begun() {
            let tail = &mut self.tail;
            tail.image = *new;
            tail.is_torn = done.is_err();
            tail.stands = if added_crc == 0 { Stands::Durable } else { Stands::Written };
            tail.sums = if tail.one_sync { Sums::behind(tail.data_end) } else { Sums::NONE };
        }
        done.map_err(DriveError::infallible)
    }

    /// Makes the header durable: before anything is written to a file that another program left, since
    /// an older header may show what is free to the present one, and at the end.
    pub(super) fn make_durable(&mut self) -> Result<(), WriteError<S>> {
        if self.tail.stands != Stands::Durable {
            self.store.sync().map_err(DriveError::Store)?;
            self.tail.stands = Stands::Durable;
        }
        Ok(())
    }

    /// Ends the publication of the commit before the last one: no shadow knows a header that is a front of
    /// the last commit's and has parts of two others behind that.
    #[cold]
    #[inline(never)]
    fn settle_before(&mut self) -> Result<(), WriteError<S>> {
        let commit = &self.tail.image.commit;
        let before = commit.sequence.get().wrapping_sub(1);
        let mut bytes = [0; SHADOW_LEN];
        read_exact(&self.store, Shadow::offset_of(commit.shadow.get(), before), &mut bytes)?;
        let lost = DriveError::Format(self.tail.image.crc_error());
        let image = Shadow::parse(&bytes).ok_or(lost)?.new;
        let mut machine = Publish::again(&image, self.checksum);
        drive(&mut machine, &mut self.store, &mut []).map_err(DriveError::infallible)?;
        self.tail.is_torn_before = false;
        Ok(())
    }

    /// Ends a publication that was cut off in the middle of the header.
    pub(super) fn settle(&mut self) -> Result<(), WriteError<S>> {
        if self.tail.is_torn_before {
            self.settle_before()?;
        }
        if self.tail.is_torn {
            let mut machine = Publish::again(&self.tail.image, self.checksum);
            drive(&mut machine, &mut self.store, &mut []).map_err(DriveError::infallible)?;
            (self.tail.is_torn, self.tail.stands) = (false, Stands::Durable);
            self.tail.committed = self.tail.image.commit.entries.get();
        }
        Ok(())
    }
}
