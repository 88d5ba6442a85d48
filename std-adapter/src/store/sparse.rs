//! A file whose holes are known and not read.

use crate::posix::PosixFile;
use crate::posix::holes::next_data;
use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use striae_core::sion::recover::Sparse;
use striae_core::span::Span;
use striae_core::store::ReadAt;

/// A file whose holes are looked up once, when they are first needed.
#[derive(Debug)]
pub(crate) struct SparseFile {
    file: Arc<PosixFile>,
    /// Parts that are no holes, in order.
    data: OnceCell<Vec<Span>>,
}

impl SparseFile {
    pub(crate) const fn new(file: Arc<PosixFile>) -> Self {
        Self { file, data: OnceCell::new() }
    }

    pub(crate) fn file(&self) -> &PosixFile {
        &self.file
    }

    fn data(&self) -> io::Result<&[Span]> {
        if let Some(data) = self.data.get() {
            return Ok(data);
        }
        let data = parts_with_data(&self.file)?;
        Ok(self.data.get_or_init(|| data))
    }
}

/// The intersection of `span` and `data`, if it is not empty.
fn shared(span: Span, data: &Span) -> Option<Span> {
    let start = span.offset().max(data.offset());
    let end = span.end().min(data.end());
    Span::new(start, end.checked_sub(start)?).filter(|shared| !shared.is_empty())
}

impl ReadAt for SparseFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl Sparse for SparseFile {
    fn first_data(&self, span: Span) -> io::Result<Option<Span>> {
        let data = self.data()?;
        let index = data.partition_point(|data| data.end() <= span.offset());
        Ok(data.get(index).and_then(|data| shared(span, data)))
    }

    fn last_data(&self, span: Span) -> io::Result<Option<Span>> {
        let data = self.data()?;
        let behind = data.partition_point(|data| data.offset() < span.end());
        let last = behind.checked_sub(1).and_then(|index| data.get(index));
        Ok(last.and_then(|data| shared(span, data)))
    }
}

/// The number of bytes of a file that are not in a hole; its length if the file system cannot tell.
pub(crate) fn existing(file: &PosixFile) -> io::Result<u64> {
    let size = file.size()?;
    // A search for holes of a file on tmpfs looks at each page. A file that has as many blocks as
    // bytes takes that much of the disk, even if some of them are after its end.
    if file.allocated()? >= size {
        return Ok(size);
    }
    let (mut at, mut sum) = (0, 0_u64);
    while let Some((start, end)) = next_data(file, at, size).filter(|_| at < size) {
        sum = sum.saturating_add(end.saturating_sub(start));
        at = end;
    }
    Ok(sum)
}

/// All parts of a file that are not holes; the whole file if the file system cannot tell.
fn parts_with_data(file: &PosixFile) -> io::Result<Vec<Span>> {
    let size = file.size()?;
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some((start, end)) = next_data(file, at, size).filter(|_| at < size) {
        parts.extend(Span::between(start, end).filter(|part| !part.is_empty()));
        at = end;
    }
    Ok(parts)
}
