//! Logging to an asynchronous store.

use super::{Desk, PIECE};
use crate::gsd::book::count_rows;
use crate::gsd::create::Create;
use crate::gsd::element::Element;
use crate::gsd::fixed::begin::{Find, Found, Make};
use crate::gsd::fixed::commit::Commit;
use crate::gsd::fixed::form::Form;
use crate::gsd::fixed::log::{Log, Place};
use crate::gsd::fixed::{AsyncFixedError, Fault};
use crate::gsd::kind::ChunkType;
use crate::gsd::open::Open;
use crate::gsd::publish::Publish;
use crate::gsd::raw::Header;
use crate::step::{DriveError, drive_async, drive_read_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, Disk, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

impl<S: AsyncWriteAt, F: Form, const N: usize> Desk<S, F, N> {
    pub(in crate::gsd::fixed) async fn begin_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let store_len = self.disk.size().await.map_err(DriveError::Store)?;
        let (store, log) = (&mut self.disk, &mut self.log);
        let mut find = Find::new(log, store_len);
        match drive_read_async(&mut find, store, &mut [0; Open::WINDOW]).await? {
            Found::None => {
                let mut create = Create::nothing();
                let mut make = Make::new(log, &mut create, store_len);
                drive_async(&mut make, store, &mut [0; PIECE]).await?;
            }
            Found::Whole => store.sync().await.map_err(DriveError::Store)?,
            Found::Torn => self.commit_async().await?,
            Found::Erased => {
                let mut header = Header::new_zeroed();
                log.fill_header(&mut header);
                store.write_all_at(0, header.as_bytes()).await.map_err(DriveError::Store)?;
                store.sync().await.map_err(DriveError::Store)?;
            }
        }
        Ok(())
    }

    /// [`known`](Desk::known) for an asynchronous store.
    pub(in crate::gsd::fixed) async fn known_async(
        &mut self,
    ) -> Result<(&mut Disk<S>, &mut Log<F, N>), AsyncFixedError<S>> {
        self.disk.recognise_async(&self.log).await?;
        Ok((&mut self.disk, &mut self.log))
    }

    pub(in crate::gsd::fixed) async fn chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncFixedError<S>> {
        let rows = count_rows(kind, m, usize_to_u64(bytes.len()));
        let n = rows.map_err(|_| DriveError::Format(Fault::Rows))?;
        self.put_async(Place { id, kind, n, m }, bytes).await
    }

    pub(in crate::gsd::fixed) async fn write_async<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), AsyncFixedError<S>> {
        let place = Place::of(id, rows)?;
        if cfg!(target_endian = "little") {
            return self.put_async(place, rows.as_bytes()).await;
        }
        let (disk, log) = self.known_async().await?;
        let (start, end) = log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for value in rows.iter().flatten() {
            let value = value.swap_to_file();
            disk.put_async(offset, value.as_bytes()).await.map_err(DriveError::Store)?;
            offset = offset.saturating_add(usize_to_u64(size_of::<T>()));
        }
        log.add(&place, start, end);
        Ok(())
    }

    async fn put_async(&mut self, place: Place, bytes: &[u8]) -> Result<(), AsyncFixedError<S>> {
        let (disk, log) = self.known_async().await?;
        let (start, end) = log.place(&place, bytes.len())?;
        disk.put_async(start, bytes).await.map_err(DriveError::Store)?;
        log.add(&place, start, end);
        Ok(())
    }

    pub(in crate::gsd::fixed) async fn end_frame_async(
        &mut self,
    ) -> Result<u64, AsyncFixedError<S>> {
        self.commit_async().await?;
        Ok(self.log.frames().saturating_sub(1))
    }

    async fn commit_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let (disk, log) = self.known_async().await?;
        let mut publish = Publish::nothing();
        let mut commit = Commit::new(log, &mut publish)?;
        let done = drive_async(&mut commit, disk, &mut []).await;
        done.map_err(DriveError::infallible)
    }
}
