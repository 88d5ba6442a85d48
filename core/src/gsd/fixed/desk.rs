//! A log and its store. What differs between loggers is a [`Form`].

#[cfg(feature = "async")]
mod asynch;

use super::FixedError;
use super::begin::{Find, Found, Make};
use super::commit::Commit;
use super::fault::Fault;
use super::form::Form;
use super::log::{Log, Place};
use crate::gsd::book::count_rows;
use crate::gsd::create::Create;
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::gsd::open::Open;
use crate::gsd::publish::Publish;
use crate::gsd::raw::Header;
use crate::step::{DriveError, drive, drive_read};
use crate::store::{Disk, ReadAt, WriteAt, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

/// Bytes that are read at once to see if a store is blank.
const PIECE: usize = 64;

/// A log of at most `N` chunks a frame, and its store.
#[derive(Debug)]
pub(super) struct Desk<S, F, const N: usize> {
    pub(super) disk: Disk<S>,
    pub(super) log: Log<F, N>,
}

impl<S, F: Form, const N: usize> Desk<S, F, N> {
    #[inline]
    pub(super) fn new(store: S, form: F) -> Self {
        Self { disk: Disk::new(store), log: Log::new(form) }
    }
}

impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    /// Opens the file, or makes one in a blank store.
    pub(super) fn begin(&mut self) -> Result<(), FixedError<S>> {
        let store_len = self.disk.size().map_err(DriveError::Store)?;
        match self.find(store_len)? {
            Found::None => self.make(store_len),
            Found::Whole => self.disk.sync().map_err(DriveError::Store),
            Found::Torn => self.commit(),
            Found::Erased => self.restore(),
        }
    }

    /// The store, after the log was recognised in it, and the log.
    #[inline]
    pub(super) fn known(&mut self) -> Result<(&mut Disk<S>, &mut Log<F, N>), FixedError<S>> {
        self.disk.recognise(&self.log)?;
        Ok((&mut self.disk, &mut self.log))
    }

    // Each in a function of its own, so that its part of the stack is free before the next one.

    #[inline(never)]
    fn find(&mut self, store_len: u64) -> Result<Found, FixedError<S>> {
        drive_read(&mut Find::new(&mut self.log, store_len), &self.disk, &mut [0; Open::WINDOW])
    }

    #[inline(never)]
    fn make(&mut self, store_len: u64) -> Result<(), FixedError<S>> {
        let mut create = Create::nothing();
        let mut make = Make::new(&self.log, &mut create, store_len);
        drive(&mut make, &mut self.disk, &mut [0; PIECE])
    }

    /// Writes the header again, whose sector was erased.
    #[inline(never)]
    fn restore(&mut self) -> Result<(), FixedError<S>> {
        let mut header = Header::new_zeroed();
        self.log.fill_header(&mut header);
        self.disk.write_all_at(0, header.as_bytes()).map_err(DriveError::Store)?;
        self.disk.sync().map_err(DriveError::Store)
    }

    #[inline(never)]
    fn commit(&mut self) -> Result<(), FixedError<S>> {
        let (disk, log) = self.known()?;
        let mut publish = Publish::nothing();
        let mut commit = Commit::new(log, &mut publish)?;
        drive(&mut commit, disk, &mut []).map_err(DriveError::infallible)
    }

    pub(super) fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        let rows = count_rows(kind, m, usize_to_u64(bytes.len()));
        let n = rows.map_err(|_| DriveError::Format(Fault::Rows))?;
        self.put(Place { id, kind, n, m }, bytes)
    }

    #[inline]
    pub(super) fn write<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), FixedError<S>> {
        let place = Place::of(id, rows)?;
        if cfg!(target_endian = "little") {
            return self.put(place, rows.as_bytes());
        }
        let (disk, log) = self.known()?;
        let (start, end) = log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for value in rows.iter().flatten() {
            let value = value.swap_to_file();
            disk.put(offset, value.as_bytes()).map_err(DriveError::Store)?;
            offset = offset.saturating_add(usize_to_u64(size_of::<T>()));
        }
        log.add(&place, start, end);
        Ok(())
    }

    fn put(&mut self, place: Place, bytes: &[u8]) -> Result<(), FixedError<S>> {
        let (disk, log) = self.known()?;
        let (start, end) = log.place(&place, bytes.len())?;
        disk.put(start, bytes).map_err(DriveError::Store)?;
        log.add(&place, start, end);
        Ok(())
    }

    pub(super) fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
        self.commit()?;
        Ok(self.log.frames().saturating_sub(1))
    }
}
