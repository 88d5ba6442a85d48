//! The commit fields of META1 and the place of META2, checked (`spec/sion.md#meta2`).

use super::meta1::Meta1;
use crate::sion::error::Error;
use crate::sion::layout::{ENTRY_LEN, Layout, signed};
use crate::sion::raw;
use crate::span::Span;
use zerocopy::FromBytes;

/// The place of META2, all of which lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Meta2 {
    maxchunks: u32,
    blockcounts: Span,
    blocksizes: Span,
}

impl Meta2 {
    /// Reads the commit fields from `bytes`: the 12 bytes at [`Layout::commit_fields`], or fewer if
    /// the file ends there, of a file of `file_len` bytes. `None` if the file was never closed:
    /// start_of_varheader is 0, or the commit fields are missing, since SIONlib first writes them
    /// when it closes the file.
    ///
    /// # Errors
    /// [`Error::TooSmall`] and [`Error::TooLarge`] for a `start_of_varheader` inside META1 or after
    /// the end of the file; [`Error::TooSmall`] for a `maxchunks` below 1; [`Error::Cut`] if the
    /// file ends inside META2.
    pub fn parse(bytes: &[u8], meta1: &Meta1, file_len: u64) -> Result<Option<Self>, Error> {
        let (layout, order) = (meta1.layout(), meta1.order());
        let at = layout.commit_fields().offset();
        let Ok((commit, _)) = raw::CommitFields::ref_from_prefix(bytes) else { return Ok(None) };
        let start = commit.start_of_varheader.get(order);
        if start == 0 {
            return Ok(None);
        }
        let start = check_start(start, layout, file_len)?;
        let value = commit.maxchunks.get(order);
        let maxchunks =
            u32::try_from(value).ok().filter(|&rows| rows != 0).ok_or(Error::TooSmall {
                field: raw::CommitFields::maxchunks,
                offset: at,
                value: value.into(),
                min: 1,
            })?;

        let ntasks = u64::from(meta1.ntasks());
        let blockcounts = layout
            .blockcounts(start)
            .filter(|span| span.fits(file_len))
            .ok_or_else(|| cut(raw::BlockcountEntry::blockcount, start, ntasks, file_len))?;
        let blocksizes = layout
            .blocksizes(start, maxchunks)
            .filter(|span| span.fits(file_len))
            .ok_or_else(|| {
                let count = ntasks.saturating_mul(maxchunks.into());
                cut(raw::BlocksizeEntry::blocksize, blockcounts.end(), count, file_len)
            })?;
        Ok(Some(Self { maxchunks, blockcounts, blocksizes }))
    }

    /// The most chunks that a task used: the number of rows of blocksizes.
    #[must_use]
    pub const fn maxchunks(&self) -> u32 {
        self.maxchunks
    }

    /// The offset of META2 in the file.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.blockcounts.offset()
    }

    /// The end of META2, where the mapping starts if there is one.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.blocksizes.end()
    }

    /// The table of blockcounts, with one entry for each task.
    #[must_use]
    pub const fn blockcounts(&self) -> Span {
        self.blockcounts
    }

    /// The row of the blocksizes of all tasks for chunk `chunk`, or `None` after the last row.
    #[must_use]
    pub const fn blocksizes(&self, chunk: u64) -> Option<Span> {
        match chunk.checked_mul(self.blockcounts.len()) {
            Some(skip) => self.blocksizes.part(skip, self.blockcounts.len()),
            None => None,
        }
    }
}

/// The entry of task `local` in a table with one entry for each task, or `None` after the last
/// entry.
#[must_use]
pub const fn entry(table: Span, local: u32) -> Option<Span> {
    #[allow(clippy::as_conversions, reason = "widening; From is not const")]
    let skip = (local as u64).saturating_mul(ENTRY_LEN);
    table.part(skip, ENTRY_LEN)
}

fn check_start(start: i64, layout: &Layout, file_len: u64) -> Result<u64, Error> {
    let field = raw::CommitFields::start_of_varheader;
    let offset = layout.commit_fields().offset().saturating_add(field.offset().into());
    let min = layout.meta1_end();
    match u64::try_from(start) {
        Ok(found) if found > file_len => {
            Err(Error::TooLarge { field, offset, value: start, max: signed(file_len) })
        }
        Ok(found) if found >= min => Ok(found),
        _ => Err(Error::TooSmall { field, offset, value: start, min: signed(min) }),
    }
}

const fn cut(field: crate::field::FieldId, offset: u64, count: u64, file_len: u64) -> Error {
    Error::Cut { field, offset, count, file_len }
}
