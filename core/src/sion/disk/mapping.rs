//! The mapping of global ranks to physical files, in file 0 of a set (`spec/sion.md#mapping`).

use super::head::Head;
use crate::endian::ByteOrder;
use crate::sion::error::Error;
use crate::sion::raw;
use crate::span::Span;
use zerocopy::FromBytes;

/// The place of a set's mapping, all of which lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Mapping {
    entries: Span,
    order: ByteOrder,
}

impl Mapping {
    /// The bytes of the head of a mapping.
    pub const HEAD_LEN: usize = size_of::<raw::MappingSize>();
    /// The bytes of an entry.
    pub const ENTRY_LEN: usize = size_of::<raw::MappingEntry>();

    /// The offset of a mapping: the end of META2 in the first file of several. Other files have no
    /// mapping, whatever bytes are there.
    #[must_use]
    pub fn place(head: &Head) -> Option<u64> {
        head.meta2.filter(|_| head.meta1.is_first_of_several()).map(|meta2| meta2.end())
    }

    /// Reads the head of the mapping, the bytes at [`Mapping::place`].
    ///
    /// # Errors
    /// [`Error::TooSmall`] for a negative size; [`Error::Cut`] if the file ends inside the mapping.
    pub fn parse(bytes: &[u8], at: u64, head: &Head) -> Result<Self, Error> {
        let (field, file_len) = (raw::MappingSize::mapping_size, head.file_len);
        let order = head.meta1.order();
        let Ok((size, _)) = raw::MappingSize::ref_from_prefix(bytes) else {
            return Err(Error::Cut { field, offset: at, count: 1, file_len });
        };
        let value = size.mapping_size.get(order);
        let count = u64::try_from(value).map_err(|_| Error::TooSmall {
            field,
            offset: at,
            value: value.into(),
            min: 0,
        })?;
        let offset = at.saturating_add(raw::MappingSize::TABLE.len.into());
        let entries = Span::of_table(offset, count, raw::MappingEntry::TABLE.len.into());
        match entries.filter(|entries| entries.fits(file_len)) {
            Some(entries) => Ok(Self { entries, order }),
            None => {
                let field = raw::MappingEntry::filenumber;
                Err(Error::Cut { field, offset, count, file_len })
            }
        }
    }

    /// The number of global ranks in the mapping.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.entries.len() >> 3
    }

    /// The end of the mapping.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.entries.end()
    }

    /// Whether the mapping has no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The place of the entry of `globalrank`, or `None` if the mapping has fewer entries.
    #[must_use]
    pub fn entry(&self, globalrank: u64) -> Option<Span> {
        let len = u64::from(raw::MappingEntry::TABLE.len);
        self.entries.part(globalrank.checked_mul(len)?, len)
    }

    /// The physical file and the local rank in an entry's bytes, or `None` if one is negative.
    #[must_use]
    pub fn address(&self, bytes: &[u8]) -> Option<(u32, u32)> {
        let (entry, _) = raw::MappingEntry::ref_from_prefix(bytes).ok()?;
        let file = u32::try_from(entry.filenumber.get(self.order)).ok()?;
        let local = u32::try_from(entry.lrank.get(self.order)).ok()?;
        Some((file, local))
    }
}
