//! Direct reading gives what ordinary reading does.
//!
//! A program of its own: the job `asan` builds it alone, under the address sanitizer.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

mod changing;
mod denied;
mod devices;
mod forked;
mod rungs;
mod tables;
mod threads;

use proptest::prelude::*;
use std::io;
use std::path::Path;
use striae::direct::{DirectFile, OpenOptions, Order, Policy, Rung};
use striae::error::ErrorKind;
use striae_core::align::Alignment;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_kit::adapter::{Random, argument, child, run};

fn span(offset: u64, len: u64) -> Span {
    Span::new(offset, len).unwrap()
}

/// Bytes that tell their offset.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 251 + at) as u8).collect()
}

/// A file in the folder of the build, which is on a disk, and not in `/tmp`, which may be memory.
fn made(bytes: &[u8]) -> tempfile::NamedTempFile {
    made_in(Path::new(env!("CARGO_TARGET_TMPDIR")), bytes)
}

fn made_in(folder: &Path, bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

/// What `span` has of `bytes`.
fn part(bytes: &[u8], span: Span) -> &[u8] {
    &bytes[span.offset() as usize..span.end() as usize]
}

fn check(file: &DirectFile, bytes: &[u8], spans: &[Span]) {
    let batch = file.read_spans(spans).unwrap();
    assert_eq!(batch.len(), spans.len());
    for (&span, read) in spans.iter().zip(batch.iter()) {
        assert!(read == part(bytes, span), "{span:?}");
    }
    assert!((0..spans.len()).all(|at| batch.get(at).is_some()));
}

/// Spans of all sorts in a file of so many bytes: overlapping, empty, the same, all of it.
fn spans(len: usize, random: &mut Random) -> Vec<Span> {
    let len = len as u64;
    let mut spans = vec![span(0, 0), span(len, 0), span(0, len), span(len - 1, 1)];
    for _ in 0..20 {
        let offset = random.below(len);
        let most = [9, 5000, 70_000][random.index(3)];
        spans.push(span(offset, random.below(most + 1).min(len - offset)));
    }
    spans.push(spans[7]);
    spans
}

/// Reads a stream to its end, and puts the pieces together.
fn streamed(file: &DirectFile, spans: &[Span], order: Order) -> Vec<Vec<u8>> {
    let mut read: Vec<Vec<u8>> = spans.iter().map(|span| vec![0xFF; span.len() as usize]).collect();
    let mut found: Vec<u64> = vec![0; spans.len()];
    let mut stream = file.stream(spans.iter().copied(), order).unwrap();
    let mut last = (0, 0);
    while let Some(piece) = stream.next_piece().unwrap() {
        let whole = spans[piece.request as usize];
        assert_eq!(piece.span, whole.part(piece.at, piece.bytes.len() as u64).unwrap());
        let at = piece.at as usize;
        read[piece.request as usize][at..at + piece.bytes.len()].copy_from_slice(piece.bytes);
        found[piece.request as usize] += piece.bytes.len() as u64;
        assert!(order != Order::Asked || last <= (piece.request, piece.at));
        last = (piece.request, piece.at);
    }
    assert!(stream.next_piece().unwrap().is_none());
    assert!(found.iter().zip(spans).all(|(&found, span)| found == span.len()));
    read
}

/// That all ways to read a file give its bytes. Spans of 50000 bytes and more are long ones.
fn check_all(file: &DirectFile, bytes: &[u8], random: &mut Random) {
    let spans = spans(bytes.len(), random);
    check(file, bytes, &spans);
    for order in [Order::Asked, Order::Completed] {
        let read = streamed(file, &spans, order);
        assert!(
            read.iter().zip(&spans).all(|(read, &span)| read == part(bytes, span)),
            "{order:?}"
        );
        let mut dropped = file.stream(spans.iter().copied(), order).unwrap();
        for _ in 0..random.below(9) {
            let piece = dropped.next_piece().unwrap().unwrap();
            assert!(piece.bytes == part(bytes, piece.span));
        }
    }
    // Memory that is aligned when the file is, and memory that never is.
    let mut memory = vec![0_u8; bytes.len() + 2 * 4096];
    let start = memory.as_ptr().align_offset(4096);
    for (offset, skip) in [(0, 0), (4096, 0), (4096, 1), (8192 + 512, 512), (700, 700), (701, 9)] {
        for len in
            [1, 511, 512, 4096, 12_288, 20_000, 65_536, 131_072, 140_001, bytes.len() - offset]
        {
            let buf = &mut memory[start + skip % 4096..][..len];
            buf.fill(0xFF);
            file.read_into(offset as u64, buf).unwrap();
            assert!(*buf == bytes[offset..offset + len], "{len} bytes at {offset}, {skip} off");
        }
    }
    check_store(file, bytes);
}

/// The file as a store: reads behind the end are short, and no errors.
fn check_store(file: &DirectFile, bytes: &[u8]) {
    let len = bytes.len();
    assert_eq!(ReadAt::size(file).unwrap(), len as u64);
    let mut buf = vec![0xFF; 80_000];
    for (offset, wanted) in [(0, 80_000), (len - 79_999, 79_999), (len - 5, 5), (len, 0)] {
        assert_eq!(file.read_at(offset as u64, &mut buf).unwrap(), wanted);
        assert!(buf[..wanted] == bytes[offset..offset + wanted]);
    }
    for offset in [len as u64 + 1, i64::MAX as u64] {
        assert_eq!(file.read_at(offset, &mut buf).unwrap(), 0, "at {offset}");
        assert_eq!(file.read_at(offset, &mut []).unwrap(), 0, "at {offset}");
    }
}

/// Whether a file in the folder of the build can be read by all rungs; a child, for whom that
/// changes, asks before.
fn has_all_rungs() -> bool {
    let made = made(&content(10_000));
    let open = |top| OpenOptions::new().top(top).open(made.path()).unwrap();
    let steps = [open(Rung::Registered).steps(), open(Rung::Aio).steps()].concat();
    if !steps.is_empty() {
        println!("skipped: a file on this disk is not read by all rungs: {}", steps[0]);
    }
    steps.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_span_is_what_the_file_has(
        len in prop_oneof![0usize..=3, 1usize..=20_000, 500_000usize..=600_000],
        places in proptest::collection::vec(
            (any::<u64>(), prop_oneof![0u64..=9, 0u64..=90_000]), 0..20
        ),
        policy in prop_oneof![Just(Policy::Preferred), Just(Policy::Off)],
        threads in 1usize..=4,
        max_io in prop_oneof![2 => Just(8192u64), 6 => 1u64..=100_000],
        max_gap in prop_oneof![Just(0u64), 0u64..=50_000],
    ) {
        let bytes = content(len);
        let made = made(&bytes);
        let options = OpenOptions::new().policy(policy).threads(threads);
        let file = options.max_io(max_io).max_gap(max_gap).open(made.path()).unwrap();
        let size = len as u64;
        let spans: Vec<Span> = places
            .iter()
            .map(|&(from, len)| {
                let offset = from % (size + 1);
                span(offset, len.min(size - offset))
            })
            .collect();
        check(&file, &bytes, &spans);
    }
}

#[test]
fn a_file_on_a_disk_is_read_directly() {
    let bytes = content(100_000);
    let made = made(&bytes);
    let file = DirectFile::open(made.path()).unwrap();
    check(&file, &bytes, &[span(1, 99_999), span(0, 1), span(50_000, 0)]);
    // Not every file system can; one that cannot says why.
    assert_eq!(file.rung() == Rung::Registered, file.steps().is_empty());
    if file.rung().is_direct() {
        let alignment = file.alignment();
        assert!(alignment.offset >= 512 && alignment.memory >= 1 && alignment != Alignment::NONE);
    }
}

#[test]
fn a_stream_yields_all_in_front_of_a_span_behind_the_end() {
    let bytes = content(100_000);
    let made = made(&bytes);
    for policy in [Policy::Preferred, Policy::Off] {
        let file = OpenOptions::new().policy(policy).open(made.path()).unwrap();
        for order in [Order::Asked, Order::Completed] {
            let spans =
                [span(7, 1000), span(0, 0), span(99_000, 1000), span(99_999, 2), span(0, 5)];
            let mut stream = file.stream(spans, order).unwrap();
            let mut seen = 0;
            let error = loop {
                match stream.next_piece() {
                    Ok(piece) => seen += piece.unwrap().bytes.len(),
                    Err(error) => break error,
                }
            };
            assert!(matches!(error.kind(), ErrorKind::Ended { offset: 100_000 }), "{error}");
            assert_eq!(seen, 2000);
            assert!(stream.next_piece().unwrap().is_none());
        }
    }
}

#[test]
fn a_read_of_a_stream_has_a_quarter_of_its_memory_at_most() {
    let bytes = content(1_000_000);
    let made = made(&bytes);
    for (memory, most) in [(800_000, 200_000), (1, 1 << 16)] {
        for policy in [Policy::Preferred, Policy::Off] {
            let options = OpenOptions::new().policy(policy).max_io(u64::MAX).memory(memory);
            let file = options.open(made.path()).unwrap();
            let mut stream = file.stream([span(1, 999_999)], Order::Asked).unwrap();
            let mut end = 1;
            while let Some(piece) = stream.next_piece().unwrap() {
                assert!(piece.bytes.len() <= most, "{policy:?}: {:?}", piece.span);
                assert_eq!(piece.span.offset(), end);
                end = piece.span.end();
            }
            assert_eq!(end, 1_000_000);
        }
    }
}

#[test]
fn a_span_behind_the_end_is_told() {
    let made = made(&content(1000));
    for policy in [Policy::Preferred, Policy::Off] {
        let file = OpenOptions::new().policy(policy).open(made.path()).unwrap();
        let error = file.read_spans(&[span(0, 1), span(999, 2)]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Ended { offset: 1000 }), "{error}");
        assert!(error.to_string().contains("ended at offset 1000"), "{error}");
    }
}
