//! Many threads, and callers that go away.

use crate::*;

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

#[test]
fn a_stream_outlives_the_thread_that_began_it() {
    let bytes = content(8_000_000);
    let made = made(&bytes);
    let file = std::fs::File::open(made.path()).unwrap();
    file.sync_all().unwrap();
    for top in Rung::ALL {
        let file = OpenOptions::new().top(top).max_io(65_536).depth(64).open(made.path()).unwrap();
        for order in [Order::Asked, Order::Completed].repeat(20) {
            let spans = (0..8).map(|at| span(at * 1_000_000 + at, 999_000));
            let begin = || {
                let mut stream = file.stream(spans, order).unwrap();
                let first = stream.next_piece().unwrap().unwrap();
                assert!(first.bytes == part(&bytes, first.span));
                let len = first.bytes.len();
                (stream, len)
            };
            let begin = std::thread::scope(|scope| scope.spawn(begin).join().unwrap());
            let (mut stream, mut len) = begin;
            while let Some(piece) = stream.next_piece().unwrap() {
                assert!(piece.bytes == part(&bytes, piece.span), "{:?}", piece.span);
                len += piece.bytes.len();
            }
            assert_eq!(len, 8 * 999_000, "{top}");
        }
        assert_eq!(file.rung(), top, "{:?}", file.steps());
    }
}
