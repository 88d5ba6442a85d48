//! Many threads, and callers that go away.

use crate::*;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[test]
fn many_threads_read_one_file() {
    let bytes = content(400_000);
    let made = made(&bytes);
    for top in Rung::ALL {
        let options = OpenOptions::new().top(top).max_io(4096).depth(8).memory(1 << 18);
        let file = options.open(made.path()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (file, bytes) = (&file, &bytes);
                scope.spawn(move || {
                    for turn in 0..10 {
                        let offset = (thread * 97_003 + turn * 7_919) % 390_000;
                        let spans = [span(offset, 10_000), span(offset / 2, 5000)];
                        check(file, bytes, &spans);
                        let endless = spans.into_iter().cycle().take(100);
                        let mut stream = file.stream(endless, Order::Completed).unwrap();
                        for _ in 0..turn {
                            let piece = stream.next_piece().unwrap().unwrap();
                            assert!(piece.bytes == part(bytes, piece.span));
                        }
                    }
                });
            }
        });
    }
}

/// Begins a stream on a thread that ends, and reads on; what it read.
fn handed_over(file: &DirectFile, bytes: &[u8], order: Order) -> usize {
    let spans = (0..8).map(|at| span(at * 1_000_000 + at, 999_000));
    let begin = || {
        let mut stream = file.stream(spans, order).unwrap();
        let first = stream.next_piece().unwrap().unwrap();
        assert!(first.bytes == part(bytes, first.span));
        let len = first.bytes.len();
        (stream, len)
    };
    let begin = std::thread::scope(|scope| scope.spawn(begin).join().unwrap());
    let (mut stream, mut len) = begin;
    while let Some(piece) = stream.next_piece().unwrap() {
        assert!(piece.bytes == part(bytes, piece.span), "{:?}", piece.span);
        len += piece.bytes.len();
    }
    len
}

#[test]
fn a_stream_outlives_the_thread_that_began_it() {
    let bytes = content(9_000_000);
    let made = made(&bytes);
    for top in Rung::ALL {
        let options = OpenOptions::new().top(top).max_io(65_536).depth(64);
        let file = options.open(made.path()).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // The file is locked by a writer now and then: reads have to wait in the kernel, on
            // behalf of the thread that began them.
            scope.spawn(|| {
                let writer = std::fs::File::options().write(true).open(made.path()).unwrap();
                while !is_done.load(Relaxed) {
                    writer.write_all_at(&bytes[8_500_000..], 8_500_000).unwrap();
                }
            });
            let read = || {
                let turns = [Order::Asked, Order::Completed].repeat(20);
                turns.into_iter().all(|order| handed_over(&file, &bytes, order) == 8 * 999_000)
            };
            let read = scope.spawn(read).join();
            is_done.store(true, Relaxed);
            assert!(read.unwrap(), "{top}");
        });
        assert_eq!(file.rung() == top, file.steps().is_empty(), "{:?}", file.steps());
    }
}

/// What is forgotten is leaked: the kernel and the threads write to nothing else.
#[test]
fn what_is_forgotten_keeps_its_memory() {
    let bytes = content(3_000_000);
    let made = made(&bytes);
    for top in Rung::ALL {
        let options = OpenOptions::new().top(top).max_io(65_536).threads(2);
        let file = options.open(made.path()).unwrap();
        let first = file.read_spans(&[span(0, 90_000)]).unwrap();
        for turn in 0..8 {
            let spans = (0..40).map(|at| span(at * 70_001 + turn, 70_000));
            let mut stream = file.stream(spans, Order::Completed).unwrap();
            assert!(stream.next_piece().unwrap().is_some());
            std::mem::forget(stream);
            std::mem::forget(file.read_spans(&[span(turn, 500_000)]).unwrap());
        }
        drop(file);
        let mine: Vec<Vec<u8>> = (0..64).map(|at| vec![0xAA; 65_536 << (at % 4)]).collect();
        let file = options.open(made.path()).unwrap();
        check_all(&file, &bytes, &mut Random(1));
        assert!(mine.iter().flatten().all(|&byte| byte == 0xAA), "{top}");
        assert!(first.get(0) == Some(&bytes[..90_000])); // it outlives its file
    }
}
