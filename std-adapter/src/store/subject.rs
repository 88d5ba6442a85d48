//! A file under inspection: its data is read ahead, by many threads, or past the page cache.

use super::bulk::{Ahead, Bulk};
use crate::each::{all_processors, for_each};
use crate::posix::PosixFile;
use crate::posix::holes::{HoleSearch, next_data};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use striae_core::embedded_io::ReadExactError;
use striae_core::integrity::Checksum;
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_inspect::subject::{Subject, Sum, WINDOW};

/// Spans shorter than this are read without a search for holes, which takes as long as reading.
const SHORTEST_HOLE: u64 = 1 << 16;

/// The number of bytes for which another thread pays: to start one takes longer than the checksum
/// of a window.
const WORTH: u64 = 1 << 20;

type Unread = DriveError<io::Error, Infallible>;

/// A file, how its data is read, and the progress callback.
pub(crate) struct Inspected<'a, B> {
    bulk: B,
    progress: &'a (dyn Fn(u64) + Sync),
    ahead: RefCell<Reader>,
}

/// What one thread reads with.
struct Reader {
    ahead: Ahead,
    zeros: Vec<u8>,
    holes: HoleSearch,
}

impl<'a, B: Borrow<Bulk>> Inspected<'a, B> {
    /// Wraps the file; `progress` gets the length of each piece of data that was checksummed.
    pub(crate) fn new(bulk: B, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { bulk, progress, ahead: RefCell::new(Reader::new()) }
    }

    /// The number of threads that pay for these spans.
    fn threads(&self, spans: &[Span]) -> NonZeroUsize {
        let bytes = spans.iter().map(|span| span.len()).fold(0, u64::saturating_add);
        let worth = usize::try_from(bytes.checked_div(WORTH).unwrap_or(0)).unwrap_or(usize::MAX);
        // What is read directly is read ahead, several reads at once, which needs one that asks in
        // order. To ask for the number of processors takes longer than to sum up a short chunk.
        match NonZeroUsize::new(worth) {
            Some(worth) if worth.get() > 1 && !self.bulk.borrow().is_direct() => {
                worth.min(all_processors())
            }
            _ => NonZeroUsize::MIN,
        }
    }
}

impl<B: Borrow<Bulk>> ReadAt for Inspected<'_, B> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.bulk.borrow().read_at(offset, buf)
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        self.bulk.borrow().read_spans_at(spans, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.bulk.borrow().size()
    }
}

impl Subject for PosixFile {
    fn checksum(&self, sum: Sum) -> Checksum {
        match sum {
            Sum::Crc32c => crc32c::crc32c_append,
            Sum::Crc32 => crate::crc32::crc32,
        }
    }

    fn first_data(&self, span: Span) -> io::Result<Option<Span>> {
        let data = next_data(self, span.offset(), span.end());
        let data = data.and_then(|(start, end)| Span::between(start, end));
        Ok(data.filter(|data| !data.is_empty()))
    }
}

impl<B: Borrow<Bulk>> Subject for Inspected<'_, B> {
    fn checksum(&self, sum: Sum) -> Checksum {
        self.bulk.borrow().file().checksum(sum)
    }

    fn bring(&self, span: Span) {
        // Whoever reads them is told what is wrong.
        let _: Result<(), Unread> = self.ahead.borrow_mut().ahead.bring(self.bulk.borrow(), span);
    }

    fn first_data(&self, span: Span) -> io::Result<Option<Span>> {
        Subject::first_data(&**self.bulk.borrow().file(), span)
    }

    fn data(&self, span: Span, each: &mut dyn FnMut(&[u8])) -> Result<(), Unread> {
        self.ahead.borrow_mut().ahead.read_pieces(self.bulk.borrow(), span, &mut |bytes| {
            each(bytes);
            true
        })
    }

    fn sums(&self, sum: Sum, spans: &[Span], each: &mut dyn FnMut(Result<u32, Unread>)) {
        let (checksum, threads) = (self.checksum(sum), self.threads(spans));
        let (bulk, progress) = (self.bulk.borrow(), self.progress);
        if threads == NonZeroUsize::MIN {
            let reader = &mut *self.ahead.borrow_mut();
            spans.iter().for_each(|&span| each(reader.sum(bulk, span, checksum, progress)));
            return;
        }
        let done = Mutex::new(Vec::new());
        let items = (0_usize..).zip(spans).map(Ok);
        let all = for_each(items, threads, || {
            let (mut reader, done) = (Reader::new(), &done);
            move |(index, &span): (usize, &Span)| {
                let crc = reader.sum(bulk, span, checksum, progress);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((index, crc));
                Ok(())
            }
        });
        debug_assert!(all.is_ok(), "what fails is in `done`");
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().for_each(|(_, crc)| each(crc));
    }
}

impl Reader {
    fn new() -> Self {
        Self { ahead: Ahead::default(), zeros: Vec::new(), holes: HoleSearch::new() }
    }

    /// The checksum of the bytes of `span`. Holes are not read.
    fn sum(
        &mut self,
        bulk: &Bulk,
        span: Span,
        checksum: Checksum,
        progress: &dyn Fn(u64),
    ) -> Result<u32, Unread> {
        let (mut crc, mut at) = (0, span.offset());
        let mut add = |bytes: &[u8]| {
            crc = checksum(crc, bytes);
            progress(usize_to_u64(bytes.len()));
        };
        while at < span.end() {
            let (start, end) = match span.len() < SHORTEST_HOLE {
                true => (at, span.end()),
                // The end may have moved: reading tells.
                false => {
                    self.holes.next_data(bulk.file(), at, span.end()).unwrap_or((at, span.end()))
                }
            };
            let hole = Span::between(at, start).into_iter();
            for piece in hole.flat_map(|hole| hole.pieces(WINDOW)) {
                let len = usize::try_from(piece.len()).unwrap_or(usize::MAX);
                if self.zeros.len() < len {
                    self.zeros.resize(len, 0);
                }
                add(self.zeros.get(..len).unwrap_or_default());
            }
            if let Some(data) = Span::between(start, end) {
                self.ahead.read_pieces(bulk, data, &mut |bytes| {
                    add(bytes);
                    true
                })?;
            }
            at = end;
        }
        Ok(crc)
    }
}
