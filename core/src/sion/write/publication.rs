//! A commit that is to be published, with the checksums and the trailer of its seal.

use crate::endian::{I32, I64, U32};
use crate::integrity::{Checksum, Crc32cParts, crc32c};
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::varheader::Varheader;
use crate::sion::layout::signed;
use crate::sion::raw;
use zerocopy::{IntoBytes, transmute_mut};

/// A commit that is to be published, and its place.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// META1 of the file.
    pub meta1: Meta1,
    /// CRC-32C of META1 before its commit fields; only used for a seal.
    pub meta1_crc: u32,
    /// The place of the last commit.
    pub old: Option<Varheader>,
    /// The place of this commit.
    pub new: Varheader,
    /// The length of the file in bytes, which may contain tables of an older commit.
    pub file_len: u64,
    /// CRC-32C; only used for a seal.
    pub checksum: Checksum,
}

/// The checksums of the tables that were written, or of parts of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TableSums {
    /// The checksum of META2 and the mapping.
    pub meta2: Crc32cParts,
    /// The checksum of the table of chunk checksums.
    pub chunks: Crc32cParts,
}

impl TableSums {
    /// No parts yet.
    pub const NONE: Self = Self { meta2: Crc32cParts::NONE, chunks: Crc32cParts::NONE };

    /// The checksums of the parts of both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        let (meta2, chunks) = (self.meta2.join(other.meta2), self.chunks.join(other.chunks));
        Self { meta2, chunks }
    }
}

/// The trailer of the seal; `None` if the publication has none. A trailer of version 2 has the
/// fields of version 1 but for `start_of_seal`.
pub(in crate::sion) fn seal_trailer(
    publication: &Publication,
    sums: &TableSums,
) -> Option<raw::SealTrailer> {
    let Publication { meta1, meta1_crc, new, checksum, .. } = publication;
    if !new.is_sealed() {
        return None;
    }
    let order = meta1.order();
    let fields = new.commit_fields(order);
    let ntasks = I32::new(i32::try_from(meta1.ntasks()).unwrap_or(i32::MAX), order);
    let meta2 = sums.meta2.crc(new.crcs().offset().saturating_sub(new.start()));
    let mut trailer = raw::SealTrailer {
        seal_version: I32::new(raw::SealTrailer::VERSION, order),
        ntasks,
        maxchunks: fields.maxchunks,
        meta1_crc: U32::new(checksum(*meta1_crc, fields.as_bytes()), order),
        start_of_varheader: fields.start_of_varheader,
        start_of_seal: I64::new(signed(new.crcs().offset()), order),
        meta2_crc: U32::new(meta2, order),
        chunks_crc: U32::new(sums.chunks.crc(new.crcs().len()), order),
        set_number: I32::new(new.set_number().cast_signed(), order),
        trailer_crc: U32::new(0, order),
        magic: raw::SealTrailer::MAGIC,
    };
    if new.set_identity() > 0 {
        let entries = new.mapping().len().checked_sub(raw::MappingSize::TABLE.len.into());
        let entries = entries.map_or(-1, |len| i32::try_from(len >> 3).unwrap_or(i32::MAX));
        let v2: &mut raw::SealTrailerV2 = transmute_mut!(&mut trailer);
        v2.seal_version = I32::new(raw::SealTrailerV2::VERSION, order);
        v2.mapping_size = I32::new(entries, order);
        v2.set_identity = U32::new(new.set_identity(), order);
    }
    let own = usize::from(raw::SealTrailer::trailer_crc.offset());
    let sealed = trailer.as_bytes().get(..own).unwrap_or_default();
    trailer.trailer_crc = U32::new(crc32c(0, sealed), order);
    Some(trailer)
}
