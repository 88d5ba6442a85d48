//! Files without a commit record that holds: they get one before anything else is done to them.

use super::sums::Sums;
use super::tail::Stands;
use super::{Slot, WriteError, Writer};
use crate::gsd::raw::{Commit, Shadow};
use crate::gsd::record::{OFFSET, Record};
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::{WriteAt, usize_to_u64};
use zerocopy::IntoBytes;

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Makes the file ready for writing: gives it a commit record that says what it holds, if it has
    /// none, and makes that durable.
    #[inline] // each chunk asks for it, and the first one gets it
    pub(super) fn adopt(&mut self) -> Result<(), WriteError<S>> {
        match self.tail.is_adopted && self.tail.stands != Stands::Found {
            true => Ok(()),
            false => self.adopt_found(),
        }
    }

    #[cold]
    #[inline(never)]
    fn adopt_found(&mut self) -> Result<(), WriteError<S>> {
        if self.tail.is_adopted {
            return self.make_durable();
        }
        let shadow = self.behind(Shadow::BOTH_LEN).map_err(DriveError::Format)?;
        self.reserve(shadow.end())?;
        self.tail.names_crc = self.crc_of(self.name_list())?;
        self.record_at(shadow.offset(), shadow.end())
    }

    /// Writes a commit record of what is committed, with the shadows at `shadow`; the file ends at
    /// `data_end`.
    ///
    /// Until the last step it has none: a record that is half written says nothing.
    pub(super) fn record_at(&mut self, shadow: u64, data_end: u64) -> Result<(), WriteError<S>> {
        self.tail.is_adopted = false;
        if self.tail.image.commit.magic != [0; 8] {
            self.store.write_all_at(OFFSET, &[0; 8]).map_err(DriveError::Store)?;
            self.tail.image.commit.magic = [0; 8];
        }
        let tail = &self.tail;
        let record = Record {
            entries: tail.committed,
            index_reserved: tail.index.slots,
            data_end,
            shadow,
            crc_from: tail.crc_from,
            sequence: 0,
            names_len: u32::try_from(tail.names_len).unwrap_or(u32::MAX),
            names: tail.names_count,
            index_crc: tail.index_crc,
            names_crc: tail.names_crc,
            ident_crc: tail.ident_crc,
            align: tail.align,
            checksums: tail.checksums,
            one_sync: tail.one_sync,
            layer: u8::try_from(tail.version.major).unwrap_or(0),
        };
        let image = tail.image.with_record(record, self.checksum);
        // Of a commit that changes nothing: without one, an append by gsd could not be told from
        // damage. The file must be as long as the record says.
        let own = Shadow::of(&image, &image, 0, self.checksum);
        self.store.write_all_at(shadow, own.as_bytes()).map_err(DriveError::Store)?;
        let other = Shadow::offset_of(shadow, 1);
        self.write_zeros(other, other.saturating_add(Shadow::LEN))?;
        self.store.sync().map_err(DriveError::Store)?;
        let bytes = image.commit.as_bytes();
        let (magic, rest) = bytes.split_at_checked(Commit::MAGIC.len()).unwrap_or((bytes, &[]));
        let behind = OFFSET.saturating_add(usize_to_u64(magic.len()));
        self.store.write_all_at(behind, rest).map_err(DriveError::Store)?;
        self.store.sync().map_err(DriveError::Store)?;
        self.store.write_all_at(OFFSET, magic).map_err(DriveError::Store)?;
        self.store.sync().map_err(DriveError::Store)?;
        self.tail.image = image;
        self.tail.data_end = data_end;
        (self.tail.is_adopted, self.tail.stands) = (true, Stands::Durable);
        self.tail.sums = if self.tail.one_sync { Sums::behind(data_end) } else { Sums::NONE };
        Ok(())
    }

    /// CRC-32C of bytes of the file.
    pub(super) fn crc_of(&mut self, span: Span) -> Result<u32, WriteError<S>> {
        let (mut crc, mut skip) = (0, 0);
        while let Some(left) = span.len().checked_sub(skip).filter(|&left| left > 0) {
            let mut small = [0; 256];
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(small.len());
            let bytes = small.get_mut(..len).unwrap_or_default();
            read_exact(&self.store, span.offset().saturating_add(skip), bytes)?;
            crc = (self.checksum)(crc, bytes);
            skip = skip.saturating_add(usize_to_u64(len));
        }
        Ok(crc)
    }
}
