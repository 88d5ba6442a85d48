//! Files that others shorten, lengthen and fill while they are read.

use crate::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of the file that are `OTHER`; nothing behind them is.
const HEAD: usize = 400_000;
const OTHER: u8 = 0xEE;
const LEN: usize = 1_000_000;

fn bytes() -> Vec<u8> {
    let tail = (HEAD..LEN).map(|at| match (at / 251 + at) as u8 {
        OTHER | 0 => 1,
        byte => byte,
    });
    std::iter::repeat_n(OTHER, HEAD).chain(tail).collect()
}

fn opened(top: Rung, path: &Path) -> DirectFile {
    let options = OpenOptions::new().top(top).max_io(16_384).depth(8).threads(2);
    options.memory(1 << 18).threshold(50_000).open(path).unwrap()
}

/// Fills all memory that is used again with bytes that must not be seen.
fn fill_memory(file: &DirectFile) {
    let head = span(0, HEAD as u64);
    let batches = [head, span(1, 60_000), span(1, 120_000)].map(|span| file.read_spans(&[span]));
    drop(batches);
    let read = streamed(file, &[head], Order::Asked);
    assert!(read[0].iter().all(|&byte| byte == OTHER));
}

/// Spans behind the head.
fn behind() -> Vec<Span> {
    (0..11).map(|at| span(HEAD as u64 + 7 + at * 50_001, 49_000)).collect()
}

#[test]
fn a_file_that_became_shorter_ends_there() {
    let bytes = bytes();
    for top in Rung::ALL {
        let made = made(&bytes);
        let file = opened(top, made.path());
        for len in [900_001, 800_000, 512_000, 400_001, 512, 1, 0] {
            if len > HEAD as u64 {
                fill_memory(&file);
            }
            let mut early = file.stream(behind(), Order::Asked).unwrap();
            File::options().write(true).open(made.path()).unwrap().set_len(len).unwrap();
            let ended = |error: striae::Error| match *error.kind() {
                ErrorKind::Ended { offset } => assert!(offset >= len, "{top}: {offset}, of {len}"),
                ref kind => panic!("{top}, {len} bytes: {kind:?}"),
            };
            // It was asked for before; what was read before may be there.
            let error = loop {
                match early.next_piece() {
                    Ok(Some(piece)) => {
                        assert!(piece.span.end() <= len && piece.bytes == part(&bytes, piece.span));
                    }
                    Ok(None) => panic!("{top}: no end at {len}"),
                    Err(error) => break error,
                }
            };
            ended(error);
            assert!(early.next_piece().unwrap().is_none());
            drop(early);
            ended(file.read_spans(&behind()).unwrap_err());
            ended(file.read_into(len, &mut [0]).unwrap_err());
            ended(file.read_into(len / 2, &mut vec![0; 600_000]).unwrap_err());
            let mut buf = vec![0; LEN];
            assert_eq!(file.read_at(0, &mut buf).unwrap(), len as usize);
            assert!(buf[..len as usize] == bytes[..len as usize]);
        }
        assert_eq!(file.rung() == top, file.steps().is_empty());
        std::fs::write(made.path(), &bytes).unwrap();
        check(&file, &bytes, &behind()); // longer again
    }
}

/// What may be read of a file that is written at the same time: its bytes, or zeros that will be.
fn check_piece(bytes: &[u8], span: Span, read: &[u8]) {
    let wanted = part(bytes, span);
    let is_right = |(&read, &wanted): (&u8, &u8)| read == wanted || read == 0;
    assert!(wanted.len() == read.len() && read.iter().zip(wanted).all(is_right), "{span:?}");
}

/// Whether it could be read.
fn is_there<T>(done: Result<T, striae::Error>, file: &DirectFile) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(error) => {
            let is_ended = matches!(error.kind(), ErrorKind::Ended { .. });
            assert!(is_ended, "{}: {error}, {:?}", file.rung(), file.steps());
            None
        }
    }
}

/// Reads in all ways; returns how often something was there.
fn read_once(file: &DirectFile, bytes: &[u8]) -> usize {
    let mut found = 0;
    let batch = is_there(file.read_spans(&behind()), file);
    for (span, read) in behind().into_iter().zip(batch.iter().flat_map(striae::direct::Batch::iter))
    {
        check_piece(bytes, span, read);
        found += 1;
    }
    for order in [Order::Asked, Order::Completed] {
        let mut stream = file.stream(behind(), order).unwrap();
        while let Some(Some(piece)) = is_there(stream.next_piece(), file) {
            check_piece(bytes, piece.span, piece.bytes);
            found += 1;
        }
    }
    for wanted in [span(500_000, 300_000), span(500_001, 9000)] {
        let mut buf = vec![0; wanted.len() as usize];
        if is_there(file.read_into(wanted.offset(), &mut buf), file).is_some() {
            check_piece(bytes, wanted, &buf);
            found += 1;
        }
    }
    found
}

#[test]
fn bytes_of_another_read_are_never_seen() {
    let bytes = bytes();
    for top in Rung::ALL {
        let made = made(&bytes);
        let file = opened(top, made.path());
        let is_done = AtomicBool::new(false);
        let read = || {
            let mut found = 0;
            for _ in 0..2000 {
                found += read_once(&file, &bytes);
                if found > 300 {
                    break;
                }
                // The head is there, unless it is just being written.
                let _ = file.read_spans(&[span(0, HEAD as u64), span(0, 60_000)]);
            }
            is_done.store(true, Relaxed);
            found
        };
        let found = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            let writer = File::options().write(true).open(made.path()).unwrap();
            let mut random = Random(11);
            while !is_done.load(Relaxed) && !reader.is_finished() {
                let start = [0, HEAD as u64, 900_000][random.index(3)];
                writer.set_len(start + random.below(LEN as u64 + 1 - start)).unwrap();
                writer.write_all_at(&bytes[start as usize..], start).unwrap();
            }
            reader.join().unwrap()
        });
        println!("{top}: {found} pieces of a file that changed");
        assert!(read_once(&file, &bytes) > 0);
    }
}
