//! Spans of one call of the operating system.

use striae_core::span::{Span, Stride};

/// The spans, those that follow one another in the file as one. Their bytes follow one another in
/// the caller's memory, too, so pread(2) is enough, and preadv(2) would gain nothing.
pub(super) fn joined(spans: &[Stride]) -> impl Iterator<Item = Span> {
    let spans = spans.iter().flat_map(|stride| stride.spans()).filter(|span| !span.is_empty());
    let mut spans = spans.peekable();
    std::iter::from_fn(move || {
        let mut span = spans.next()?;
        while let Some(more) = spans.peek().and_then(|&next| span.joined(next)) {
            (span, _) = (more, spans.next());
        }
        Some(span)
    })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test: a panic fails it")]
mod tests {
    use super::joined;
    use crate::posix::PosixFile;
    use striae_core::embedded_io::ReadExactError;
    use striae_core::span::{Span, Stride};
    use striae_core::store::ReadAt;

    fn spans(all: &[(u64, u64)]) -> Vec<Span> {
        all.iter().map(|&(offset, len)| Span::new(offset, len).unwrap()).collect()
    }

    fn strides(all: &[(u64, u64)]) -> Vec<Stride> {
        spans(all).into_iter().map(Stride::one).collect()
    }

    #[test]
    fn spans_that_follow_one_another_are_one_read_and_others_are_not() {
        let reads = |all: &[(u64, u64)]| joined(&strides(all)).collect::<Vec<_>>();
        assert_eq!(reads(&[(4, 4), (8, 8), (16, 1), (17, 3)]), spans(&[(4, 16)]));
        assert_eq!(reads(&[(4, 4), (9, 8), (17, 1), (8, 1)]), spans(&[(4, 4), (9, 9), (8, 1)]));
        assert_eq!(reads(&[(4, 4), (4, 4), (6, 4)]), spans(&[(4, 4), (4, 4), (6, 4)]));
        assert_eq!(reads(&[(9, 0), (4, 4), (20, 0), (8, 4), (3, 0)]), spans(&[(4, 8)]));
        assert_eq!(reads(&[]), []);
        let near = Stride::new(Span::new(10, 8).unwrap(), 8, 1000).unwrap();
        let far = Stride::new(Span::new(8010, 8).unwrap(), 9, 3).unwrap();
        let expected = spans(&[(10, 8008), (8019, 8), (8028, 8)]);
        assert_eq!(joined(&[near, far]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_batch_has_the_bytes_of_its_spans_or_says_that_the_file_ends() {
        let bytes: Vec<u8> = (0..=255).collect();
        let made = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(made.path(), &bytes).unwrap();
        let file = PosixFile::open(made.path()).unwrap();
        let mut read = [0; 9];
        file.read_spans_at(&strides(&[(250, 3), (253, 3), (0, 1), (7, 2)]), &mut read).unwrap();
        assert_eq!(read, [250, 251, 252, 253, 254, 255, 0, 7, 8]);
        let ended = file.read_spans_at(&strides(&[(0, 4), (252, 5)]), &mut read);
        assert!(matches!(ended, Err(ReadExactError::UnexpectedEof)), "{ended:?}");
    }
}
