//! [`Walk`]: the machine that finds the blobs of a process-centric subfile.

use crate::blob::error::Error;
use crate::blob::layout::{Fixed, Share, width_of_blob};
use crate::blob::names::Part;
use crate::endian::{ByteOrder, I32, I64};
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use core::num::NonZeroU32;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// The start of a map in a blob (`spec/blob.md#process-centric`).
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct MapHead {
    nreqs: I32,
    blob_start: I64,
    blob_count: I64,
}

const _: () = assert!(size_of::<MapHead>() == 20);

/// The process-centric data, as the header describes them.
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    /// The bytes of `/data_blob`.
    pub span: Span,
    /// The byte order of all numbers.
    pub order: ByteOrder,
    /// The bytes of variables that do not depend on a number of elements.
    pub fixed: Fixed,
    /// For each decomposition the bytes for each element, of all variables.
    pub elements: &'a [u64],
    /// For each decomposition the number of elements, `Dk.nelems`.
    pub nelems: &'a [u64],
    /// For each decomposition the largest number of requests, `Dk.max_nreqs`.
    pub max_nreqs: &'a [u64],
}

/// A machine that finds where each blob starts. No file says so: each blob begins at the end of the
/// blob before.
///
/// It reads 20 bytes for each decomposition of each blob. A file of n bytes has at most n / 20 of
/// these, so the memory must come from a check of the number of blobs against that.
#[derive(Debug)]
pub struct Walk<'a, 'm> {
    data: Data<'a>,
    starts: &'m mut [u64],
    shares: &'m mut [Share],
    /// The blob and the decomposition that come next, and the place of the map.
    blob: usize,
    decomposition: usize,
    at: u64,
    /// Whether a wrong `blob_start` is passed over, and the first one.
    mends: bool,
    mended: Option<Error>,
}

impl<'a, 'm> Walk<'a, 'm> {
    /// Makes the machine. It fills `starts` with the offset of each blob. `shares` needs an entry
    /// for each decomposition of each blob, and gets the blobs one after another.
    ///
    /// # Errors
    /// [`Error::Memory`] if `shares` has another length; another [`Error`], which blames the file,
    /// if there is nothing to read and the numbers contradict each other.
    pub fn new(
        data: Data<'a>,
        starts: &'m mut [u64],
        shares: &'m mut [Share],
    ) -> Result<Self, Error> {
        let room = usize_to_u64(shares.len());
        let need = data.elements.len().checked_mul(starts.len()).map_or(u64::MAX, usize_to_u64);
        if room != need {
            return Err(Error::Memory { need, room });
        }
        let at = data.span.offset();
        let (blob, decomposition, mends, mended) = (0, 0, false, None);
        let mut walk = Self { data, starts, shares, blob, decomposition, at, mends, mended };
        walk.advance()?;
        Ok(walk)
    }

    /// Passes over a `blob_start` that is not the number of elements before the blob: that number
    /// is known without it.
    #[must_use]
    pub fn mend(self) -> Self {
        Self { mends: true, ..self }
    }

    /// The number of blobs whose places were found.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.blob
    }

    /// The first error that was passed over.
    #[must_use]
    pub const fn mended(&self) -> Option<Error> {
        self.mended
    }

    fn number(&self) -> u32 {
        u32::try_from(self.blob).unwrap_or(u32::MAX)
    }

    fn id(&self) -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add(u32::try_from(self.decomposition).unwrap_or(u32::MAX))
    }

    /// The number of decompositions.
    const fn count(&self) -> usize {
        self.data.elements.len()
    }

    /// The shares of the current blob.
    fn row(&self) -> &[Share] {
        let first = self.blob.saturating_mul(self.count());
        self.shares.get(first..first.saturating_add(self.count())).unwrap_or_default()
    }

    /// The elements of the blobs before the current one.
    fn before(&self) -> u64 {
        let Some(blob) = self.blob.checked_sub(1) else { return 0 };
        let index = blob.saturating_mul(self.count()).saturating_add(self.decomposition);
        self.shares.get(index).map_or(0, |share| share.start.saturating_add(share.count))
    }

    /// The share that a map begins with.
    fn share(&mut self, head: MapHead) -> Result<Share, Error> {
        let (order, blob, id) = (self.data.order, self.number(), self.id());
        let checked = |part, value: i64| {
            u64::try_from(value).map_err(|_| Error::Negative { id, part, blob, value })
        };
        let at_most = |part, value, max| match value <= max {
            true => Ok(()),
            false => Err(Error::TooLarge { id, part, blob, value, max }),
        };
        let nreqs = checked(Part::Nreqs, head.nreqs.get(order).into())?;
        let count = checked(Part::BlobCount, head.blob_count.get(order))?;
        let start = self.before();
        let found = checked(Part::BlobStart, head.blob_start.get(order));
        let right = found.and_then(|value| match value == start {
            true => Ok(()),
            false => {
                Err(Error::Differs { id, part: Part::BlobStart, blob, value, expected: start })
            }
        });
        match right {
            Err(error) if self.mends => self.mended = self.mended.or(Some(error)),
            right => right?,
        }

        let max = |lengths: &[u64]| lengths.get(self.decomposition).copied().unwrap_or(0);
        at_most(Part::Nreqs, nreqs, max(self.data.max_nreqs))?;
        at_most(Part::BlobCount, count, max(self.data.nelems).saturating_sub(start))?;
        Ok(Share { nreqs, start, count })
    }

    fn take(&mut self, head: MapHead) -> Result<(), Error> {
        let share = self.share(head)?;
        let index = self.blob.saturating_mul(self.count()).saturating_add(self.decomposition);
        if let Some(place) = self.shares.get_mut(index) {
            *place = share;
        }
        self.move_on(share.map_len())?;
        self.decomposition = self.decomposition.saturating_add(1);
        self.advance()
    }

    /// Moves over bytes of the current blob, which must be there.
    fn move_on(&mut self, len: Option<u64>) -> Result<(), Error> {
        let (blob, data_end) = (self.number(), self.data.span.end());
        let end = len.and_then(|len| self.at.checked_add(len)).ok_or(Error::Size { blob })?;
        if end > data_end {
            return Err(Error::Cut { blob, end, data_end });
        }
        self.at = end;
        Ok(())
    }

    /// Goes to the next map, and checks that its start is there; or checks the sums after the last
    /// one.
    fn advance(&mut self) -> Result<(), Error> {
        loop {
            let Some(start) = self.starts.get_mut(self.blob) else { return self.check() };
            if self.decomposition == 0 {
                *start = self.at;
            }
            if self.decomposition < self.data.elements.len() {
                let map = self.at;
                self.move_on(Some(Share::HEAD_LEN))?;
                self.at = map;
                return Ok(());
            }
            let Data { fixed, elements, .. } = self.data;
            self.move_on(width_of_blob(fixed, elements, self.number(), self.row()))?;
            (self.blob, self.decomposition) = (self.blob.saturating_add(1), 0);
        }
    }

    /// Checks that the blobs are all elements and all bytes.
    fn check(&mut self) -> Result<(), Error> {
        for &nelems in self.data.nelems {
            let found = self.before();
            if found != nelems {
                return Err(Error::Elements { id: self.id(), found, nelems });
            }
            self.decomposition = self.decomposition.saturating_add(1);
        }
        let Data { span, .. } = self.data;
        let (found, data_len) = (self.at.saturating_sub(span.offset()), span.len());
        match found == data_len {
            true => Ok(()),
            false => Err(Error::Blobs { found, data_len }),
        }
    }
}

impl ReadMachine for Walk<'_, '_> {
    type Output = ();
    type Error = Error;

    fn poll(&mut self) -> ReadStep<()> {
        if self.blob >= self.starts.len() {
            return ReadStep::Done(());
        }
        ReadStep::Read { offset: self.at, need: size_of::<MapHead>(), want: Share::HEAD_LEN }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match MapHead::ref_from_prefix(bytes) {
            Ok((&head, _)) => self.take(head),
            Err(_) => Ok(()), // never: a driver feeds what was asked for
        }
    }
}
