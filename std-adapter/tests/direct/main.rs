//! Direct reading gives what ordinary reading does.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use proptest::prelude::*;
use std::io;
use std::path::Path;
use striae::direct::{DirectFile, OpenOptions, Policy, Rung};
use striae::error::ErrorKind;
use striae_core::align::Alignment;
use striae_core::span::Span;

fn span(offset: u64, len: u64) -> Span {
    Span::new(offset, len).unwrap()
}

/// Bytes that tell their offset.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 251 + at) as u8).collect()
}

/// A file in the folder of the build, which is on a disk, and not in `/tmp`, which may be memory.
fn made(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

fn check(file: &DirectFile, bytes: &[u8], spans: &[Span]) {
    let batch = file.read_spans(spans).unwrap();
    assert_eq!(batch.len(), spans.len());
    for (span, read) in spans.iter().zip(batch.iter()) {
        let (start, end) = (span.offset() as usize, span.end() as usize);
        assert!(read == bytes.get(start..end).unwrap_or_default(), "{span:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_span_is_what_the_file_has(
        len in prop_oneof![0usize..=3, 1usize..=20_000, 500_000usize..=600_000],
        places in proptest::collection::vec((any::<u64>(), prop_oneof![0u64..=9, 0u64..=90_000]), 0..20),
        policy in prop_oneof![Just(Policy::Preferred), Just(Policy::Off)],
        threads in 1usize..=4,
        max_io in prop_oneof![Just(1u64), 1u64..=100_000],
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
fn what_cannot_be_read_directly_is_read_all_the_same_or_refused() {
    // procfs refuses O_DIRECT when a file is opened.
    let path = Path::new("/proc/self/status");
    let file = DirectFile::open(path).unwrap();
    assert_eq!((file.rung(), file.alignment()), (Rung::Buffered, Alignment::NONE));
    assert_eq!(file.steps().len(), 3);
    let refused = OpenOptions::new().policy(Policy::Required).open(path).unwrap_err();
    let ErrorKind::Io(error) = refused.kind() else { panic!("{refused}") };
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
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

#[test]
fn many_threads_read_one_file() {
    let bytes = content(400_000);
    let made = made(&bytes);
    let file = OpenOptions::new().max_io(4096).open(made.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (file, bytes) = (&file, &bytes);
            scope.spawn(move || {
                for turn in 0..50 {
                    let offset = (thread * 97_003 + turn * 7_919) % 390_000;
                    check(file, bytes, &[span(offset, 10_000), span(offset / 2, 5000)]);
                }
            });
        }
    });
}
