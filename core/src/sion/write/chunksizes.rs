//! The chunksizes that META1 stores for the requested ones, by the rules of SIONlib's writers
//! (`spec/sion.md#layout`).

use super::groups::{Grouping, Groups, Request, Total};
use crate::sion::error::Error;
use crate::span::round_up;
use core::num::{NonZeroU32, NonZeroU64};

/// The rule by which a writer lays out chunks. Readers need only the stored chunksizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ChunkRule {
    /// Each chunk is rounded up to fsblksize, and 0 stays 0 (sion_internal_startptr.c:63): no two
    /// tasks share a block of the file system. For tasks that write by themselves.
    #[default]
    Aligned,
    /// Chunks of a group lie side by side, and the last one is enlarged so that the next group
    /// starts at a multiple of fsblksize (sion_internal_startptr.c:230, :335). For collectors that
    /// write for their group.
    ///
    /// With [`Grouping::Fixed`] and a last group of one task, SIONlib does not enlarge the chunk
    /// and then fails its own assertion; here the last group is like the others.
    Packed(Grouping),
    /// The first chunk of a group gets the rounded sum of the group; the others are rounded and
    /// stay empty (sion_internal_startptr.c:379). For collectors that merge the streams of a group.
    ///
    /// SIONlib never merges with [`Grouping::Fixed`]; here the rule is the same.
    Merged(Grouping),
}

impl ChunkRule {
    /// The chunksizes that META1 stores for the tasks of one physical file with these requests, one
    /// for each. It iterates over the requests here and again with the result.
    ///
    /// ```
    /// use core::num::NonZeroU32;
    /// use striae_core::sion::{ChunkRule, Grouping};
    ///
    /// let fsblksize = NonZeroU32::new(512).unwrap();
    /// let aligned = ChunkRule::Aligned.stored(fsblksize, [300u64, 0, 1000].into_iter())?;
    /// assert!(aligned.eq([512, 0, 1024]));
    /// let packed = ChunkRule::Packed(Grouping::Automatic);
    /// assert!(packed.stored(fsblksize, [300u64, 0, 1000].into_iter())?.eq([300, 212, 1024]));
    /// # Ok::<(), striae_core::sion::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the sum of the chunks, or their number, is more than a file can
    /// hold.
    pub fn stored<I>(self, fsblksize: NonZeroU32, requests: I) -> Result<Stored<I>, Error>
    where
        I: Iterator<Item: Into<Request>> + Clone,
    {
        let groups = match self {
            Self::Aligned => None,
            Self::Packed(grouping) | Self::Merged(grouping) => {
                Some(grouping.groups(fsblksize, requests.clone())?)
            }
        };
        let merges = matches!(self, Self::Merged(_));
        let unit = fsblksize.into();
        let stored = Stored { requests, groups, merges, unit, left: 0, bytes: 0 };
        Total::of(stored.clone())?;
        Ok(stored)
    }
}

/// An iterator over the stored chunksizes in the order of tasks; made by [`ChunkRule::stored`].
#[derive(Debug, Clone)]
pub struct Stored<I> {
    requests: I,
    groups: Option<Groups<I>>,
    merges: bool,
    unit: NonZeroU64,
    /// The number of remaining tasks of the current group.
    left: u32,
    /// The sum of the requests of the current group.
    bytes: u64,
}

impl<I> Stored<I> {
    fn round_up(&self, bytes: u64) -> u64 {
        round_up(bytes, self.unit).unwrap_or(u64::MAX) // which `stored` refuses
    }
}

impl<I: Iterator<Item: Into<Request>>> Iterator for Stored<I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let Request { chunksize, .. } = self.requests.next()?.into();
        let Some(groups) = &mut self.groups else { return Some(self.round_up(chunksize)) };
        let collects = self.left == 0;
        if collects {
            let group = groups.next()?;
            (self.left, self.bytes) = (group.ntasks, group.bytes);
        }
        self.left = self.left.saturating_sub(1);
        let rounded = self.round_up(self.bytes);
        Some(match self.merges {
            true if collects => rounded,
            true => self.round_up(chunksize),
            false if self.left == 0 => chunksize.saturating_add(rounded.saturating_sub(self.bytes)),
            false => chunksize,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.requests.size_hint()
    }
}
