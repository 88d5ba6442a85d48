//! Reads by threads and by the caller, as far as Miri can execute them:
//!
//! ```text
//! RUSTFLAGS=--cfg=rustix_use_libc MIRIFLAGS=-Zmiri-disable-isolation \
//!     cargo +nightly miri test -p striae --no-default-features --lib direct::miri
//! ```
//!
//! It knows no `io_uring`, and few flags of open(2).
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use super::file::Shared;
use super::handles::Handles;
use super::standing::Standing;
use super::{DirectFile, OpenOptions, Order, Policy, Rung};
use crate::posix::PosixFile;
use std::fs::File;
use striae_core::align::Alignment;
use striae_core::span::Span;

const LEN: usize = 20_001;

fn content() -> Vec<u8> {
    (0..LEN).map(|at| (at / 251 + at) as u8).collect()
}

/// A file that the standard library opens, read as if its device needed 512 bytes.
fn file(name: &str, threads: usize) -> DirectFile {
    let path = std::env::temp_dir().join(format!("striae-{}-{name}", std::process::id()));
    std::fs::write(&path, content()).unwrap();
    let buffered = PosixFile::of(File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    let options = OpenOptions::new().threads(threads).depth(4).max_io(1024);
    let options = options.memory(1 << 13).threshold(3000);
    let standing = Standing::new(Policy::Off, false, Rung::Buffered);
    let handles = Handles { buffered, direct: None };
    let shared = Shared::new(&path, handles, Alignment::of(512), standing, options);
    DirectFile::new(shared)
}

fn spans() -> Vec<Span> {
    let span = |offset: usize, len: usize| Span::new(offset as u64, len as u64).unwrap();
    vec![span(3, 5000), span(0, 0), span(700, 1), span(LEN - 1, 1), span(4000, 3000), span(9, 99)]
}

fn part(bytes: &[u8], span: Span) -> &[u8] {
    &bytes[span.offset() as usize..span.end() as usize]
}

fn check(file: &DirectFile) {
    let bytes = content();
    let batch = file.read_spans(&spans()).unwrap();
    assert!(batch.iter().eq(spans().into_iter().map(|span| part(&bytes, span))));
    for (order, most) in [(Order::Asked, 99), (Order::Completed, 99), (Order::Completed, 1)] {
        let mut stream = file.stream(spans(), order).unwrap();
        for _ in 0..most {
            let Some(piece) = stream.next_piece().unwrap() else { break };
            assert!(piece.bytes == part(&bytes, piece.span));
        }
    }
    let mut memory = vec![0; 12_000];
    let start = memory.as_ptr().align_offset(512);
    for (offset, skip, len) in
        [(512, 0, 1024), (512, 0, 5000), (700, 0, 5000), (9, 9, 5000), (3, 0, 9)]
    {
        let buf = &mut memory[start + skip..][..len];
        file.read_into(offset as u64, buf).unwrap();
        assert!(*buf == bytes[offset..offset + len]);
    }
}

#[test]
fn the_caller_reads() {
    let file = file("caller", 0);
    check(&file);
    let batch = file.read_spans(&spans()).unwrap();
    drop(file);
    assert_eq!(batch.get(2), Some(&content()[700..701]));
}

#[test]
fn threads_read_for_two_callers() {
    let file = file("threads", 2);
    std::thread::scope(|scope| {
        scope.spawn(|| check(&file));
        check(&file);
    });
    let mut stream = file.stream(spans(), Order::Completed).unwrap();
    assert!(stream.next_piece().unwrap().is_some());
    std::thread::scope(|scope| {
        scope.spawn(move || while stream.next_piece().unwrap().is_some() {});
    });
}
