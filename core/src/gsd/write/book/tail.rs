//! A writer's state: the places of the next writes, and what is committed.

use super::sums::Sums;
use crate::field::FieldId;
use crate::gsd::disk::checksums;
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::disk::header::Version;
use crate::gsd::disk::record::Record;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::{
    HEADER_END, IndexBlock, Misplaced, NameBlock, SECTOR, SHOWN_SLOTS, check_places, chunk_len,
    free,
};
use crate::gsd::raw::{Commit, Header, Image, Shadow};
use crate::gsd::verdict::{Counted, Kind};
use crate::gsd::write::create::align_of;
use crate::integrity::Checksum;
use crate::span::Span;
use core::num::NonZeroU64;
use zerocopy::FromZeros;

/// The fields with the places of a file's blocks.
const BLOCKS: [FieldId; 3] = [Header::index_location, Header::namelist_location, Commit::shadow];

/// The places of the next writes, and what is committed.
#[derive(Debug, Clone, Copy, FromZeros)]
pub(in crate::gsd) struct Tail {
    /// The part of the header that commits change, as in the file.
    pub(super) image: Image,
    /// Whether the header may be half written, or older than its shadow: it must be written again
    /// before anything else.
    pub(super) is_torn: bool,
    /// Whether the previous header is half written as well, or not at all.
    pub(super) is_torn_before: bool,
    /// How durable the header is.
    pub(super) stands: Stands,
    /// Whether the file has a valid commit record.
    pub(super) is_adopted: bool,
    /// The index block for new entries.
    pub(super) index: IndexBlock,
    /// Entries of an older block that must be copied before the next commit.
    pub(super) moving: Move,
    /// Entries in the current block, including those that must still be copied, committed or not.
    pub(super) entries: u64,
    /// Committed entries.
    pub(super) committed: u64,
    /// Number of frames up to the frame of the last of these entries.
    pub(super) index_frames: u64,
    /// The least number of slots that a header shows.
    pub(super) shown_slots: u64,
    /// The name list for new names.
    pub(super) names: NameBlock,
    /// The previous visible name list; empty if there is none.
    pub(super) names_before: NameBlock,
    /// Its used bytes.
    pub(super) names_before_len: u64,
    /// Whether another program made the name list, perhaps with unused names.
    pub(super) names_found: bool,
    /// Whether names may be added to the visible list.
    pub(super) names_in_place: bool,
    pub(super) names_len: u64,
    pub(super) names_count: u32,
    /// Whether a failed write may have left bytes after the names.
    pub(super) names_torn: bool,
    /// Id of [`checksums::NAME`], or [`NO_NAME`] until it is known.
    pub(super) checksums_id: u16,
    /// The frame of the next chunks.
    pub(super) frame: u64,
    pub(super) data_end: u64,
    /// The first place in the current frame that was given away before its bytes were written.
    pub(super) placed_from: Option<NonZeroU64>,
    pub(super) store_len: u64,
    pub(super) crc_from: u64,
    pub(super) index_crc: u32,
    pub(super) names_crc: u32,
    pub(super) ident_crc: u32,
    pub(super) align: u8,
    pub(super) checksums: bool,
    /// Whether commits take one sync if possible.
    pub(super) one_sync: bool,
    /// Checksums of the bytes that the next commit adds.
    pub(super) sums: Sums,
    pub(super) version: Version,
}

/// What was found in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// The part of the header that commits change; for a torn header, the correct one.
    pub(super) image: &'a Image,
    pub(super) kind: Kind,
    /// See [`Head::is_torn`](crate::gsd::Head::is_torn).
    pub(super) is_torn: bool,
    pub(super) counted: &'a Counted,
    pub(super) ident_crc: u32,
    pub(super) file_len: u64,
}

/// How durable the header in the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromZeros)]
#[repr(u8)]
pub(super) enum Stands {
    /// It was found: the program that wrote it may have been killed before its sync.
    Found = 0,
    /// It is written, and the next sync makes it durable; until then a shadow proves it.
    Written,
    /// It is durable.
    Durable,
}

/// Bytes that must be copied.
#[derive(Debug, Clone, Copy, FromZeros)]
pub(super) struct Move {
    /// Those that are left.
    pub(super) from: Span,
    /// Where the first of them goes to.
    pub(super) to: u64,
}

impl Move {
    pub(super) const NOTHING: Self = Self { from: Span::ZERO, to: 0 };
}

/// The id that no name has.
pub(super) const NO_NAME: u16 = u16::MAX;

/// No name list.
pub(super) const NO_NAMES: NameBlock = NameBlock { location: 0, units: 0 };

impl Tail {
    /// The state of no file.
    #[inline]
    pub(super) fn unopened() -> Self {
        let mut tail = Self::new_zeroed();
        (tail.shown_slots, tail.names_found, tail.checksums_id) = (SHOWN_SLOTS, true, NO_NAME);
        (tail.stands, tail.version) = (Stands::Found, Version::LAYER);
        tail
    }

    /// Makes this, the state of no file, that of a file of `file_len` bytes. It is made in place:
    /// it is large for a device's stack.
    #[inline(never)]
    pub(super) fn set(&mut self, found: &Found<'_>) -> Result<(), Error> {
        let Found { image, kind, counted, file_len, .. } = *found;
        let (commit, shown) = (&image.commit, image.index());
        let has_record = kind.has_record();
        self.index = shown;
        if has_record {
            let reserved = (commit.entries.get(), commit.index_reserved.get());
            self.index = shown.whole(reserved).ok_or(Error::Outside {
                field: Header::index_location,
                start: shown.location,
                len: u64::MAX,
                file_len,
            })?;
        }
        self.image.copy_from(image);
        self.is_torn = matches!(kind, Kind::Torn | Kind::Ahead);
        self.is_torn_before = found.is_torn && matches!(kind, Kind::Ahead);
        let Counted { entries, names, names_len, frames } = *counted;
        (self.entries, self.committed) = (entries, entries);
        (self.index_frames, self.frame) = (frames, frames);
        (self.names, self.names_len) = (image.name_block(), names_len);
        self.names_count = names;
        (self.data_end, self.store_len, self.crc_from) = (file_len, file_len, entries);
        self.ident_crc = found.ident_crc;
        self.version = Version::from_number(image.gsd_version.get());
        if has_record {
            self.is_adopted = true;
            self.shown_slots = shown.slots.clamp(1, SHOWN_SLOTS);
            (self.data_end, self.crc_from) = (commit.data_end.get(), commit.crc_from.get());
            (self.index_crc, self.names_crc) = (commit.index_crc.get(), commit.names_crc.get());
            (self.align, self.checksums) = (commit.align, commit.checksums == 1);
            self.one_sync = commit.one_sync == 1;
            self.begin_sums();
        }
        self.check(shown)
    }

    /// Checks that the next writes overwrite nothing: blocks and shadows end before `data_end`, and
    /// do not overlap.
    fn check(&self, shown: IndexBlock) -> Result<(), Error> {
        if !self.is_adopted {
            return Ok(());
        }
        let shadow = self.image.commit.shadow.get();
        let shadows = Span::new(shadow, Shadow::BOTH_LEN);
        let places = [self.index.span(), self.names.span(), shadows];
        let (at, other) = match check_places(&places, HEADER_END..self.data_end) {
            Ok(()) => return Ok(()),
            Err(Misplaced::Outside(at)) => (at, None),
            Err(Misplaced::Overlap(at, other)) => (at, Some(other)),
        };
        let starts = [shown.location, self.names.location, shadow];
        let field = |at: usize| BLOCKS.get(at).copied().unwrap_or(Commit::shadow);
        let (field, start, other) = (field(at), starts.get(at).copied(), other.map(field));
        let span = places.get(at).copied().flatten();
        let (start, len) = (start.unwrap_or(shadow), span.map_or(u64::MAX, Span::len));
        Err(match other {
            None => Error::Outside { field, start, len, file_len: self.data_end },
            Some(other) => Error::Overlap { field, start, len, other },
        })
    }

    /// The end of all blocks, visible or not, and of the data of the last commit.
    pub(super) fn blocks_end(&self) -> u64 {
        let end = self.image.commit.data_end.get();
        let end = end.max(self.index.exact_span().end()).max(self.names.exact_span().end());
        end.max(self.names_before.exact_span().end()) // an index that moves is before the new one
    }

    /// The span of the names and of the padding between them.
    pub(super) fn name_list(&self) -> Span {
        Span::exact(self.names.location, self.names_len)
    }

    /// A new block of `len` bytes at the end of the file, which starts at a sector or later.
    #[inline(never)]
    pub(super) fn behind(&self, len: u64) -> Result<Span, Error> {
        let span = free(self.data_end, self.align().max(SECTOR), len);
        span.ok_or(Error::FileFull { data_end: self.data_end, len })
    }

    /// Replaces the commit record of `image` by that of a file with `entries` entries. The file
    /// ends at `data_end`, and the commit has the number `sequence`. The record is not made
    /// elsewhere before: it is large for a device's stack.
    #[inline(never)]
    pub(super) fn put_record(
        &self,
        image: &mut Image,
        entries: u64,
        (data_end, shadow, sequence): (u64, u64, u32),
        checksum: Checksum,
    ) -> Result<(), Error> {
        let full = Error::FileFull { data_end, len: self.names_len };
        let record = Record {
            entries,
            index_reserved: self.index.slots,
            data_end,
            shadow,
            crc_from: self.crc_from,
            sequence,
            names_len: u32::try_from(self.names_len).map_err(|_| full)?,
            names: self.names_count,
            index_crc: self.index_crc,
            names_crc: self.names_crc,
            ident_crc: self.ident_crc,
            align: self.align,
            checksums: self.checksums,
            one_sync: self.one_sync,
            layer: u8::try_from(self.version.major).unwrap_or(0),
        };
        image.set_record(&record, checksum);
        Ok(())
    }

    /// Starts the checksums for the commit after this one.
    pub(super) const fn begin_sums(&mut self) {
        self.sums = if self.one_sync { Sums::behind(self.data_end) } else { Sums::NONE };
    }

    /// The alignment of chunks.
    pub(super) const fn align(&self) -> NonZeroU64 {
        align_of(self.align)
    }

    /// The place of a chunk at the end of the file.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    #[cfg_attr(not(target_os = "none"), inline)]
    pub(super) fn place(&self, id: u16, kind: ChunkType, n: u64, m: u32) -> Result<Chunk, Error> {
        let full = |len| Error::FileFull { data_end: self.data_end, len };
        let len = chunk_len(n, m, kind).ok_or(full(u64::MAX))?;
        let span = free(self.data_end, self.align(), len).ok_or(full(len))?;
        Ok(Chunk { frame: self.frame, id, kind, n, m, span })
    }

    /// Whether the file has a durable commit record.
    #[inline]
    pub(super) const fn is_writable(&self) -> bool {
        self.is_adopted && !matches!(self.stands, Stands::Found)
    }

    /// Notes that the file is used and present up to `end`.
    #[inline]
    pub(super) fn use_up_to(&mut self, end: u64) {
        self.data_end = self.data_end.max(end);
        self.store_len = self.store_len.max(end);
    }

    /// Checks the id that was found for `name`: a list may be damaged.
    pub(super) fn found_name(&mut self, name: &[u8], id: Option<u16>) -> Option<u16> {
        let id = id.filter(|&id| u32::from(id) < self.names_count);
        if name == checksums::NAME && self.checksums {
            self.checksums_id = id.unwrap_or(NO_NAME);
        }
        id
    }
}
