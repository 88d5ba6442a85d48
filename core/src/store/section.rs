//! [`Section`]: a part of a store as a store of its own.

#[twin(ReadAt)]
use super::ReadAt;
use crate::span::{Span, Stride};
use embedded_io::ReadExactError;
use striae_twin::twin;

/// The spans that are passed on by one call.
const SPANS: usize = 16;

/// The bytes of a span of another store, as a store whose first byte is at offset 0.
///
/// So a file that lies in another file is read: the machines and readers here begin at offset 0.
/// The store ends where the span ends, or before, where the other store ends. A call for more than
/// 16 spans becomes several calls of the other store.
///
/// The header of a subfile in HDF5 is such a file, in its own byte order:
///
#[cfg_attr(feature = "blob", doc = "```")]
#[cfg_attr(not(feature = "blob"), doc = "```ignore")]
/// use striae_core::cdf::{Cursor, Scan, Survey};
/// use striae_core::endian::ByteOrder;
/// use striae_core::source::Window;
/// use striae_core::step::drive_read;
/// use striae_core::{hdf5, store::Section};
///
/// # let file = include_bytes!("../../doc/es_h1.h5.0001");
/// let mut memory = [0; hdf5::Reader::<()>::MEMORY];
/// let subfile = hdf5::Reader::open(&file[..], &mut memory)?;
/// let header = subfile.dataset(b"header_blob", &mut memory)?.ok_or("no header_blob")?.values;
/// let store = Section::new(subfile.store(), header);
///
/// let mut lengths = [0; 64];
/// let mut survey = Survey::of_header(header.len(), &mut lengths);
/// let take = |item, after: &Cursor, _: &Window<'_>| survey.take(item, after);
/// let mut scan = Scan::new(header.len(), Cursor::new(ByteOrder::Little), take);
/// let head = drive_read(&mut scan, &store, &mut [0; 512])?.ok_or("no end")?;
/// assert_eq!((head.header_len, head.nvars), (16_236, 66));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Section<S> {
    store: S,
    span: Span,
}

impl<S> Section<S> {
    /// Makes a store of the bytes of `span` of `store`.
    #[must_use]
    pub const fn new(store: S, span: Span) -> Self {
        Self { store, span }
    }

    /// The bytes at `offset`, at most `buf.len()` of them: their place in the other store, and
    /// memory for them; `None` if there are none.
    fn place<'b>(&self, offset: u64, buf: &'b mut [u8]) -> Option<(u64, &'b mut [u8])> {
        let rest = self.span.skip(offset);
        Some((rest.offset(), rest.front_of(buf))).filter(|(_, buf)| !buf.is_empty())
    }

    /// Spans of the section in the other store; `None` if they are not wholly in the section.
    fn shifted(&self, spans: Stride) -> Option<Stride> {
        if spans.is_empty() {
            return Some(Stride::NONE);
        }
        let first = self.span.part(spans.first().offset(), spans.first().len())?;
        let is_inside = spans.hull().fits(self.span.len());
        Stride::new(first, spans.step(), spans.count()).filter(|_| is_inside)
    }
}

#[twin(ReadAt)]
impl<S: ReadAt> ReadAt for Section<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        let Some((offset, buf)) = self.place(offset, buf) else { return Ok(0) };
        self.store.read_at(offset, buf).await
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        let Some((offset, buf)) = self.place(offset, buf) else { return Ok(0) };
        self.store.reread_at(offset, buf).await
    }

    async fn size(&self) -> Result<u64, S::Error> {
        let left = self.store.size().await?.saturating_sub(self.span.offset());
        Ok(left.min(self.span.len()))
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<S::Error>> {
        for spans in spans.chunks(SPANS) {
            let (mut shifted, mut len) = ([Stride::NONE; SPANS], 0_u64);
            for (place, &spans) in shifted.iter_mut().zip(spans) {
                *place = self.shifted(spans).ok_or(ReadExactError::UnexpectedEof)?;
                len = len.saturating_add(spans.len());
            }
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let (front, rest) = buf.split_at_mut_checked(len).unwrap_or_default();
            let shifted = shifted.get(..spans.len()).unwrap_or_default();
            self.store.read_spans_at(shifted, front).await?;
            buf = rest;
        }
        Ok(())
    }

    async fn will_read(&self, spans: &[Stride]) {
        for spans in spans.chunks(SPANS) {
            let mut shifted = [Stride::NONE; SPANS];
            for (place, &spans) in shifted.iter_mut().zip(spans) {
                *place = self.shifted(spans).unwrap_or(Stride::NONE);
            }
            self.store.will_read(shifted.get(..spans.len()).unwrap_or_default()).await;
        }
    }
}
