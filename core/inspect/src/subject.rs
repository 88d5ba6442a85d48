//! The file that is inspected: a store, and how its data is read.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::num::NonZeroU64;
use striae_core::integrity::{self, Checksum};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// Bytes that are read at once; a multiple of the length of every table entry.
pub const WINDOW: NonZeroU64 = NonZeroU64::new(1 << 20).unwrap();

/// The error of an inspection that cannot continue: the store failed or became shorter, or an error
/// of the format.
pub type Failed<S, F> = DriveError<<S as ReadAt>::Error, F>;

/// The error of reading data of a store `S`.
pub type Unread<S> = DriveError<<S as ReadAt>::Error, Infallible>;

/// The kind of a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// CRC-32C, of SION and GSD files.
    Crc32c,
    /// CRC-32, of ffrecord files.
    Crc32,
}

/// A file to be inspected.
///
/// Tables are read through [`ReadAt`] in the order in which they are needed. Data is most of a
/// file; it is requested by offset, and an implementation may read it with many threads, ahead, or
/// past a page cache. The default methods read it in a plain way.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Subject: ReadAt {
    /// The function that computes such a checksum; the default is in software.
    #[must_use]
    fn checksum(&self, sum: Sum) -> Checksum {
        match sum {
            Sum::Crc32c => integrity::crc32c,
            Sum::Crc32 => integrity::crc32,
        }
    }

    /// A hint: data in this span will be read soon, in parts and in any order.
    fn bring(&self, span: Span) {
        let _ = span;
    }

    /// The first part of `span` that is stored: what is before it is a hole, and all of `span` is
    /// one if there is none. The part may end before the next hole.
    ///
    /// # Errors
    /// An error of the store.
    fn first_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        Ok(Some(span).filter(|span| !span.is_empty()))
    }

    /// Passes all bytes of `span`, which are data, to `each`, piece by piece.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the file is shorter; an error of the store.
    fn data(&self, span: Span, each: &mut dyn FnMut(&[u8])) -> Result<(), Unread<Self>> {
        read_pieces(self, span, &mut Vec::new(), &mut |bytes| {
            each(bytes);
            true
        })
    }

    /// Computes the checksum of the data in each of `spans`, and passes each checksum, or the error
    /// of reading the data, to `each` in the order of the spans.
    fn sums(&self, sum: Sum, spans: &[Span], each: &mut dyn FnMut(Result<u32, Unread<Self>>)) {
        let checksum = self.checksum(sum);
        for &span in spans {
            let mut crc = 0;
            let read = self.data(span, &mut |bytes| crc = checksum(crc, bytes));
            each(read.map(|()| crc));
        }
    }
}

/// The physical files of a set, by number. A slice of byte slices implements it.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Files {
    /// A physical file.
    type Subject: Subject;

    /// Opens a file: the first one (number 0), or an existing one.
    ///
    /// # Errors
    /// An error of the store.
    fn open(&self, number: u32) -> Result<Self::Subject, <Self::Subject as ReadAt>::Error>;

    /// The numbers of the existing files. The time must not depend on the number of files that the
    /// set claims.
    ///
    /// # Errors
    /// An error of the store.
    fn there(&self) -> Result<BTreeSet<u32>, <Self::Subject as ReadAt>::Error>;

    /// The number in the name of the first file; `None` if files have no names.
    fn named(&self) -> Option<u32> {
        None
    }
}

impl<'a> Files for [&'a [u8]] {
    type Subject = &'a [u8];

    fn open(&self, number: u32) -> Result<&'a [u8], <[u8] as ReadAt>::Error> {
        let file = usize::try_from(number).ok().and_then(|number| self.get(number));
        Ok(file.copied().unwrap_or_default())
    }

    fn there(&self) -> Result<BTreeSet<u32>, <[u8] as ReadAt>::Error> {
        Ok((0..).zip(self).map(|(number, _)| number).collect())
    }
}

impl Subject for [u8] {}

impl<S: Subject + ?Sized> Subject for &S {
    fn checksum(&self, sum: Sum) -> Checksum {
        (**self).checksum(sum)
    }

    fn bring(&self, span: Span) {
        (**self).bring(span);
    }

    fn first_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        (**self).first_data(span)
    }

    fn data(&self, span: Span, each: &mut dyn FnMut(&[u8])) -> Result<(), Unread<Self>> {
        (**self).data(span, each)
    }

    fn sums(&self, sum: Sum, spans: &[Span], each: &mut dyn FnMut(Result<u32, Unread<Self>>)) {
        (**self).sums(sum, spans, each);
    }
}

/// Fills `buf` from `store`.
///
/// # Errors
/// [`DriveError::Ended`] where the file ends; an error of the store.
pub fn read<S, F>(store: &S, offset: u64, buf: &mut [u8]) -> Result<(), Failed<S, F>>
where
    S: ReadAt + ?Sized,
{
    let (mut offset, mut rest) = (offset, buf);
    while !rest.is_empty() {
        let n = store.read_at(offset, rest).map_err(DriveError::Store)?;
        rest = rest.get_mut(n..).filter(|_| n > 0).ok_or(DriveError::Ended { offset })?;
        offset = offset.saturating_add(usize_to_u64(n));
    }
    Ok(())
}

/// Passes all bytes of `span` to `each`, piece by piece, until `each` returns `false`.
///
/// # Errors
/// [`DriveError::Ended`] if the file is shorter; an error of the store.
pub fn read_pieces<S, F>(
    store: &S,
    span: Span,
    window: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), Failed<S, F>>
where
    S: ReadAt + ?Sized,
{
    read_windows(store, span, WINDOW, window, |_, bytes| Ok(each(bytes)))
}

/// The parts of `span` that are stored, in order; a part may end before the next hole. It ends with
/// an error of the store.
pub fn stored<S: Subject + ?Sized>(
    store: &S,
    span: Span,
) -> impl Iterator<Item = Result<Span, S::Error>> {
    let mut at = span.offset();
    core::iter::from_fn(move || {
        let rest = Span::between(at, span.end()).filter(|rest| !rest.is_empty())?;
        let part = store.first_data(rest).transpose()?;
        at = part.as_ref().map_or(span.end(), |part| part.end().max(at.saturating_add(1)));
        Some(part)
    })
}

/// The bytes that have this span in a file, of which `bytes` are the first ones.
#[cfg(any(feature = "blob", feature = "cdf"))]
pub(crate) fn part_of(bytes: &[u8], span: Span) -> Option<&[u8]> {
    let start = usize::try_from(span.offset()).ok()?;
    bytes.get(start..)?.get(..usize::try_from(span.len()).ok()?)
}

/// The parts of `span` that are stored, in order, each with `around` bytes before and after it that
/// are in `span`, too: what is searched for may begin or end with zeros.
///
/// # Errors
/// An error of the store.
pub fn stored_parts<S: Subject + ?Sized>(
    store: &S,
    span: Span,
    around: u64,
) -> Result<Vec<Span>, S::Error> {
    let mut parts: Vec<Span> = Vec::new();
    for part in stored(store, span) {
        let part = part?;
        let start = part.offset().saturating_sub(around).max(span.offset());
        let end = part.end().saturating_add(around).min(span.end());
        let before = parts.last().copied().filter(|before| start <= before.end());
        let joined = Span::between(before.map_or(start, Span::offset), end);
        if before.is_some() {
            parts.pop();
        }
        parts.extend(joined);
    }
    Ok(parts)
}

/// Passes all bytes of `span` to `each` with their offset, in pieces of `len` bytes and a shorter
/// last one, until `each` returns `Ok(false)`. The memory is that of the longest piece.
///
/// # Errors
/// An error of `each`; [`DriveError::Ended`] if the file is shorter; an error of the store.
pub fn read_windows<S, F>(
    store: &S,
    span: Span,
    len: NonZeroU64,
    window: &mut Vec<u8>,
    mut each: impl FnMut(Span, &[u8]) -> Result<bool, Failed<S, F>>,
) -> Result<(), Failed<S, F>>
where
    S: ReadAt + ?Sized,
{
    for piece in span.pieces(len) {
        let len = usize::try_from(piece.len()).unwrap_or(usize::MAX);
        if window.len() < len {
            *window = vec![0; len]; // of long ones, the system clears the pages
        }
        let bytes = window.get_mut(..len).unwrap_or_default();
        read(store, piece.offset(), bytes)?;
        if !each(piece, bytes)? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use striae_core::store::FixedSize;

    /// A file whose reads return few bytes.
    struct Slow<'a>(&'a [u8]);

    impl ReadAt for Slow<'_> {
        type Error = FixedSize;

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
            let len = buf.len().min(3);
            self.0.read_at(offset, &mut buf[..len])
        }

        fn size(&self) -> Result<u64, FixedSize> {
            self.0.size()
        }
    }

    #[test]
    fn a_read_ends_where_the_file_does() {
        let file = Slow(b"0123456789");
        let mut buf = [0; 8];
        read::<_, ()>(&file, 2, &mut buf).unwrap();
        assert_eq!(&buf, b"23456789");
        let cut = read::<_, ()>(&file, 5, &mut buf);
        assert_eq!(cut, Err(DriveError::Ended { offset: 10 }));
        assert_eq!(read::<_, ()>(&file, 12, &mut buf), Err(DriveError::Ended { offset: 12 }));
    }
}
