//! Reading with checksums: data that have a checksum are compared with it.

use super::file::File;
use super::window::FileToken;
use crate::error::Error;
use crate::store::bulk::Bulk;
use std::sync::{Arc, Mutex, PoisonError};
use striae_core::gsd::raw::{ChecksumRow, Commit};
use striae_core::gsd::{self as core_gsd, Checksums, Chunk, Head, ReadError, checksums};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use striae_inspect::subject::read_pieces;
use zerocopy::FromBytes;

/// The most bytes of a chunk of checksums: one row for each possible name.
const MAX_LEN: u64 = 8 << 16;

/// Compares index, names and identity fields of the header with the checksums in the commit record.
pub(super) fn check_head(store: &Bulk, head: &Head) -> Result<(), ReadError<Bulk>> {
    let Some(record) = head.state.record() else { return Ok(()) };
    let mut index = head.index();
    index.location = index.offset_of(record.crc_from);
    index.slots = index.slots.saturating_sub(record.crc_from); // none if there are not so many
    let names = crc_of(store, head.name_list())?;
    let index = crc_of(store, index.span().unwrap_or(Span::ZERO))?;
    let ident = head.header.ident_crc(crc32c::crc32c_append);
    for (field, stored, computed) in [
        (Commit::names_crc, record.names_crc, names),
        (Commit::index_crc, record.index_crc, index),
        (Commit::ident_crc, record.ident_crc, ident),
    ] {
        if stored != computed {
            let offset = Commit::OFFSET.saturating_add(field.offset().into());
            let error = core_gsd::Error::Checksum { field, offset, stored, computed };
            return Err(DriveError::Format(error));
        }
    }
    Ok(())
}

fn crc_of(store: &Bulk, span: Span) -> Result<u32, ReadError<Bulk>> {
    let mut crc = 0;
    read_pieces(&**store.file(), span, &mut Vec::new(), &mut |bytes| {
        crc = crc32c::crc32c_append(crc, bytes);
        true
    })?;
    Ok(crc)
}

/// The checksums of a frame, after a check of their own checksum.
#[derive(Debug)]
pub(super) struct Sums {
    look: FileToken,
    frame: u64,
    /// The chunk that holds them; `None` if the frame has none.
    own: Option<Chunk>,
    /// One row for each chunk, in the order of the ids.
    rows: Vec<ChecksumRow>,
}

/// The checksums of the frame that was read last.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Option<Arc<Sums>>>);

impl Clone for Cache {
    /// Returns an empty cache: a clone reads other frames.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl File {
    /// Compares the CRC-32C of a chunk's bytes with the chunk's checksum in its frame. A frame
    /// without checksums passes.
    ///
    /// # Errors
    /// [`ErrorKind::Chunk`](super::ErrorKind::Chunk) with [`core_gsd::Error::Checksum`] if the two
    /// differ, or with [`core_gsd::Error::NoChecksums`] if the frame's checksums lack this chunk;
    /// an error of the operating system.
    pub(super) fn check_crc(&self, chunk: &Chunk, crc: u32) -> Result<(), Error> {
        self.check_crc_by(&*self.sums_of(chunk.frame)?, chunk, crc)
    }

    /// Does what [`check_crc`](Self::check_crc) does, with the given checksums of the chunk's
    /// frame.
    pub(super) fn check_crc_by(&self, sums: &Sums, chunk: &Chunk, crc: u32) -> Result<(), Error> {
        let wrong = |error| self.error(self.in_chunk(chunk.frame, chunk.id, error));
        let Some(own) = sums.own.filter(|own| own.id != chunk.id) else { return Ok(()) };
        let none = core_gsd::Error::NoChecksums { frame: chunk.frame, id: chunk.id };
        let at = sums.rows.binary_search_by_key(&u32::from(chunk.id), |row| row.id.get());
        let row = at.ok().and_then(|at| Some((at, sums.rows.get(at)?)));
        let (at, row) = row.ok_or_else(|| wrong(none))?;
        let computed = chunk.to_raw().sealed_crc(crc, crc32c::crc32c_append);
        let stored = row.crc.get();
        if stored == computed {
            return Ok(());
        }
        let skip = usize_to_u64(at).saturating_mul(8).saturating_add(4);
        let (field, offset) = (ChecksumRow::crc, own.span.offset().saturating_add(skip));
        Err(wrong(core_gsd::Error::Checksum { field, offset, stored, computed }))
    }

    /// The checksums of a frame. Those of the frame that was read last are cached.
    fn sums_of(&self, frame: u64) -> Result<Arc<Sums>, Error> {
        let Cache(cache) = self.sums();
        let last = cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_it = |sums: &Arc<Sums>| sums.frame == frame && sums.look == self.look();
        if let Some(sums) = last.filter(is_it) {
            return Ok(sums);
        }
        let own = self.find(frame, checksums::NAME)?;
        let read = |span, bytes: &mut [u8]| self.read_span(span, bytes).map(drop);
        let sums = Arc::new(self.read_sums(frame, own, read)?);
        *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&sums));
        Ok(sums)
    }

    /// Parses the checksums of a frame; `read` reads the chunk `own` that holds them.
    pub(super) fn read_sums(
        &self,
        frame: u64,
        own: Option<Chunk>,
        read: impl FnOnce(Span, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Sums, Error> {
        let look = self.look();
        let Some(own) = own else {
            let is_sealed = self.state().record().is_some_and(|record| record.checksums);
            let id = self.names()?.id(checksums::NAME).unwrap_or(u16::MAX);
            return match is_sealed {
                true => Err(self.error(core_gsd::Error::NoChecksums { frame, id })),
                false => Ok(Sums { look, frame, own: None, rows: Vec::new() }),
            };
        };
        let wrong = |error| self.error(self.in_chunk(frame, own.id, error));
        let none = core_gsd::Error::NoChecksums { frame, id: own.id };
        if own.span.len() > MAX_LEN {
            return Err(wrong(none));
        }
        let mut bytes = vec![0; usize::try_from(own.span.len()).unwrap_or(0)];
        read(own.span, &mut bytes)?;
        Checksums::parse(own, &bytes, crc32c::crc32c_append).map_err(wrong)?;
        let rows = <[ChecksumRow]>::ref_from_bytes(&bytes).unwrap_or_default();
        let rows = rows.split_last().map_or(rows, |(_, others)| others).to_vec();
        if !rows.is_sorted_by(|a, b| a.id.get() < b.id.get()) {
            return Err(wrong(none));
        }
        Ok(Sums { look, frame, own: Some(own), rows })
    }
}
