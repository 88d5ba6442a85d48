//! A log and its store: what loggers of this kind do. What differs between them is a [`Form`].

#[twin(FixedError)]
use super::FixedError;
use super::fault::Fault;
use super::form::Form;
use super::log::{Log, Place};
use super::medium::Medium;
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::gsd::write::book::count_rows;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// A log of at most `N` chunks a frame, and its store.
///
/// The log changes only when the store has done what the change says, so a call may end anywhere,
/// by an error or a dropped future, and be made again.
#[derive(Debug)]
pub(super) struct Desk<S, F, const N: usize> {
    pub(super) disk: Medium<S>,
    pub(super) log: Log<F, N>,
}

impl<S, F: Form, const N: usize> Desk<S, F, N> {
    #[inline]
    pub(super) fn new(store: S, form: F) -> Self {
        Self { disk: Medium::new(store), log: Log::new(form) }
    }
}

#[twin(WriteAt, FixedError)]
impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    pub(super) async fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        let n = count_rows(kind, m, usize_to_u64(bytes.len())).map_err(|_| Fault::Rows)?;
        self.put(Place { id, kind, n, m }, bytes).await
    }

    #[inline]
    pub(super) async fn write<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), FixedError<S>> {
        let place = Place::of(id, rows)?;
        if cfg!(target_endian = "little") {
            return self.put(place, rows.as_bytes()).await;
        }
        self.disk.recognise(&self.log).await?;
        let (start, end) = self.log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for value in rows.iter().flatten() {
            let value = value.swap_to_file();
            self.disk.put(offset, value.as_bytes()).await?;
            offset = offset.saturating_add(usize_to_u64(size_of::<T>()));
        }
        self.log.add(&place, start, end);
        Ok(())
    }

    async fn put(&mut self, place: Place, bytes: &[u8]) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.log).await?;
        let (start, end) = self.log.place(&place, bytes.len())?;
        self.disk.put(start, bytes).await?;
        self.log.add(&place, start, end);
        Ok(())
    }
}
