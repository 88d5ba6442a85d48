//! Reads that come back short, or not at all: what no real device does on demand.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use super::aio::Pace;
use super::engine::Completion;
use super::lane::Fault;
use super::memory::Pool;
use super::{DirectFile, OpenOptions, Order, Policy, Rung, Step};
use crate::error::ErrorKind;
use crate::posix::PosixFile;
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use striae_core::embedded_io::ReadExactError;
use striae_core::span::{Span, Stride};
use striae_core::store::ReadAt;
use striae_kit::adapter::denying::deny;

const LEN: usize = 300_000;

fn content() -> Vec<u8> {
    (0..LEN).map(|at| (at / 251 + at) as u8).collect()
}

/// A file on a disk, all reads of which, on a rung, bring what the fault makes of it.
fn file(rung: Rung, fault: Fault) -> (tempfile::NamedTempFile, DirectFile) {
    let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(made.path(), content()).unwrap();
    let options = OpenOptions::new().top(rung).max_io(16_384).depth(8);
    let file = options.open(made.path()).unwrap();
    file.take().fault = Some(fault);
    (made, file)
}

fn spans() -> Vec<Span> {
    let span = |offset: usize, len: usize| Span::new(offset as u64, len as u64).unwrap();
    (0..40).map(|at| span(at * 7001, 9000)).chain([span(LEN - 1, 1), span(0, LEN)]).collect()
}

/// All that was asked for, by a batch and by a stream in either order, and how often a read came
/// back.
fn check(file: &DirectFile) {
    let (content, spans) = (content(), spans());
    let bytes = |span: &Span| &content[span.offset() as usize..span.end() as usize];
    let batch = file.read_spans(&spans).unwrap();
    assert!(batch.iter().eq(spans.iter().map(bytes)));
    for order in [Order::Asked, Order::Completed] {
        let mut read: Vec<Vec<u8>> = spans.iter().map(|_| Vec::new()).collect();
        let mut stream = file.stream(spans.iter().copied(), order).unwrap();
        while let Some(piece) = stream.next_piece().unwrap() {
            let to = &mut read[piece.request as usize];
            let end = piece.at as usize + piece.bytes.len();
            to.resize(end.max(to.len()), 0);
            to[piece.at as usize..end].copy_from_slice(piece.bytes);
        }
        assert!(read.iter().map(Vec::as_slice).eq(spans.iter().map(bytes)), "{order:?}");
    }
    let mut whole = vec![0; LEN - 700];
    file.read_into(700, &mut whole).unwrap();
    assert!(whole == content[700..]);
}

/// On every rung, those that the machine refuses left out by stepping down.
fn on_all_rungs(fault: Fault) {
    for rung in Rung::ALL {
        let (_made, file) = file(rung, fault);
        check(&file);
    }
}

#[test]
fn a_short_read_is_gone_on_with() {
    on_all_rungs(|turn, done| {
        if let (Ok(got), true) = (&mut done.result, turn.is_multiple_of(2)) {
            *got = (*got / 2).next_multiple_of(512).min(*got); // 0 is the end of the file
        }
    });
}

/// As from FUSE with FOPEN_DIRECT_IO.
#[test]
fn a_read_that_stops_within_a_block_is_gone_on_with() {
    on_all_rungs(|_, done| {
        if let Ok(got) = &mut done.result {
            *got = (*got / 2 + 1).max(4096).min(*got);
        }
    });
}

/// As from FUSE with FOPEN_DIRECT_IO, if its server returns little at a time.
#[test]
fn a_read_that_stops_within_its_first_block_is_made_through_the_page_cache() {
    const STOP: Fault = |_, done| {
        if let Ok(got) = &mut done.result {
            *got = (*got).min(100);
        }
    };
    for rung in Rung::ALL {
        let (made, file) = file(rung, STOP);
        let is_direct = file.rung().is_direct();
        check(&file);
        assert!(!file.rung().is_direct());
        let why = |step: &Step| step.why.contains("a read stopped at offset ");
        assert!(!is_direct || file.steps().iter().any(why), "{:?}", file.steps());
        let options = OpenOptions::new().top(rung).policy(Policy::Required);
        let Ok(file) = options.open(made.path()) else { continue };
        file.take().fault = Some(STOP);
        let error = file.read_spans(&spans()).unwrap_err();
        let ErrorKind::Io(error) = error.kind() else { panic!("{error}") };
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
    }
}

/// As when the file is cut, and written again before its length is looked at.
#[test]
fn a_read_that_stops_within_its_first_block_once_is_made_again() {
    for rung in Rung::ALL {
        let (_made, file) = file(rung, |turn, done| {
            if let (Ok(got), true) = (&mut done.result, turn.is_multiple_of(9)) {
                *got = (*got).min(100);
            }
        });
        check(&file);
        assert!(
            file.steps().iter().all(|step| !step.why.contains("stopped")),
            "{:?}",
            file.steps()
        );
    }
}

#[test]
fn an_interrupted_read_is_made_again() {
    on_all_rungs(|turn, done| {
        let errno = [Errno::INTR, Errno::AGAIN, Errno::CANCELED][turn as usize % 3];
        if !turn.is_multiple_of(4) {
            *done = Completion::new(done.token, Err(errno));
        }
    });
}

/// btrfs answers no question, and reads through the page cache what is not aligned to 4096 bytes.
#[test]
fn a_kernel_that_states_no_alignment_is_asked_for_whole_pages() {
    let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(made.path(), content()).unwrap();
    let silent = || {
        deny(libc::SYS_statx, Errno::NOSYS);
        DirectFile::open(made.path()).unwrap()
    };
    let file = std::thread::scope(|scope| scope.spawn(silent).join().unwrap());
    assert!(!file.rung().is_direct() || file.alignment().offset >= 4096, "{:?}", file.alignment());
    check(&file);
}

#[test]
fn a_file_for_which_no_descriptor_is_left_is_read_by_the_one_that_there_is() {
    let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(made.path(), content()).unwrap();
    let posix = PosixFile::open(made.path()).unwrap();
    let none_left = || {
        deny(libc::SYS_openat, Errno::MFILE);
        deny(libc::SYS_fcntl, Errno::MFILE); // F_DUPFD
        OpenOptions::new().open_again(&posix).unwrap()
    };
    let file = std::thread::scope(|scope| scope.spawn(none_left).join().unwrap());
    assert_eq!(file.rung(), Rung::Buffered);
    assert!(file.steps()[0].why.contains("Too many open files"), "{:?}", file.steps());
    check(&file);
    drop(posix);
    check(&file);
}

#[test]
fn a_read_that_never_comes_is_an_error_in_the_end() {
    let (_made, file) = file(Rung::Registered, |_, done| {
        *done = Completion::new(done.token, Err(Errno::AGAIN));
    });
    let error = file.read_spans(&spans()).unwrap_err();
    let ErrorKind::Io(error) = error.kind() else { panic!("{error}") };
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
}

/// The reads for such a batch, and the most of them that were under way at once.
fn reads(file: &DirectFile, spans: &[Stride]) -> (usize, usize) {
    file.take().reads = (0, 0);
    let mut read = vec![0; spans.iter().map(|spans| spans.len() as usize).sum()];
    file.read_spans_at(spans, &mut read).unwrap();
    let (content, all) = (content(), spans.iter().flat_map(|stride| stride.spans()));
    let all = all.flat_map(|span| &content[span.offset() as usize..span.end() as usize]);
    assert!(read.iter().eq(all));
    file.take().reads
}

#[test]
fn spans_of_a_batch_are_read_at_once_and_those_of_one_block_together() {
    let stride = |offset, len, step, count| {
        Stride::new(Span::new(offset, len).unwrap(), step, count).unwrap()
    };
    for rung in Rung::ALL {
        let (_made, file) = file(rung, |_, _| {});
        file.read_into(0, &mut [0; LEN]).unwrap(); // what is refused is refused now
        let rung = file.rung();
        assert_eq!(reads(&file, &[stride(100, 8, 32_768, 8)]), (8, 8), "{rung}");
        assert_eq!(reads(&file, &[stride(100, 8, 16_384, 18)]), (18, 8), "{rung}");
        let near = [stride(4096, 8, 40, 100), stride(5000, 9, 0, 1), stride(4096, 4096, 0, 1)];
        assert_eq!(reads(&file, &near), (1, 1), "{rung}");
        assert_eq!(reads(&file, &[Stride::NONE, stride(7, 0, 0, 1)]), (0, 0), "{rung}");
        assert_eq!(file.rung(), rung);
        let behind = [stride(0, 8, 0, 1), stride(LEN as u64 - 3, 4, 0, 1)];
        let ended = file.read_spans_at(&behind, &mut [0; 12]);
        assert!(matches!(ended, Err(ReadExactError::UnexpectedEof)), "{ended:?}");
    }
}

#[test]
fn reads_that_are_always_done_when_they_are_submitted_are_told() {
    let (short, long) = (Duration::from_micros(2), Duration::from_micros(50));
    let is_blocking = |turns: &[(Duration, Duration, usize, usize)]| {
        let mut pace = Pace::default();
        for &(submitting, waiting, under_way, done) in turns {
            pace.submitted(submitting);
            pace.waited(waiting, under_way, done);
        }
        pace.is_blocking()
    };
    let made = (long, short, 32, 32);
    assert!(is_blocking(&[made; 8]));
    assert!(is_blocking(&[&[(short, long, 32, 1); 99][..], &[made; 8]].concat()));
    assert!(!is_blocking(&[made; 7])); // by chance
    assert!(!is_blocking(&[(short, long, 32, 32); 99])); // they were waited for
    assert!(!is_blocking(&[(long, short, 32, 31); 99])); // a fast device
    assert!(!is_blocking(&[(long, short, 1, 1); 99])); // nothing else was under way
    assert!(!is_blocking(&[[made; 7].as_slice(), &[(long, short, 32, 31)]].concat().repeat(9)));
}

#[test]
fn a_panic_waits_for_what_is_under_way() {
    for rung in Rung::ALL {
        let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(made.path(), content()).unwrap();
        let options = OpenOptions::new().top(rung).max_io(16_384).threshold(1);
        let file = options.open(made.path()).unwrap();
        file.take().fault = Some(|turn, _| assert!(turn != 3, "as a logger may"));
        let mut memory = vec![0; LEN + 4096];
        let start = memory.as_ptr().align_offset(4096); // not through the pool
        let mut read = || file.read_into(0, &mut memory[start..start + 290_000]);
        let read = std::panic::AssertUnwindSafe(&mut read);
        let caught = std::panic::catch_unwind(read);
        assert!(caught.is_err());
        assert_eq!(file.lanes(), 0, "reads may be under way into memory that is not lent any more");
        check(&file);
    }
}

#[test]
fn a_bad_sector_is_an_error_that_says_where_and_only_of_those_who_asked_for_it() {
    for rung in Rung::ALL {
        let (_made, file) = file(rung, |turn, done| {
            if turn == 3 {
                *done = Completion::new(done.token, Err(Errno::IO));
            }
        });
        let error = file.read_spans(&spans()).unwrap_err();
        assert!(error.to_string().contains("bytes at offset "), "{error}");
        let ErrorKind::Io(error) = error.kind() else { panic!("{error}") };
        assert_eq!(error.raw_os_error(), None);
        check(&file); // nothing of the failed batch is left over
    }
}

#[test]
fn a_refusal_of_the_first_read_steps_down_rung_by_rung() {
    for errno in [Errno::NOSYS, Errno::PERM, Errno::INVAL, Errno::OPNOTSUPP] {
        let fault: Fault = match errno {
            Errno::NOSYS => |_, done| refuse(done, Errno::NOSYS),
            Errno::PERM => |_, done| refuse(done, Errno::PERM),
            Errno::INVAL => |_, done| refuse(done, Errno::INVAL),
            _ => |_, done| refuse(done, Errno::OPNOTSUPP),
        };
        let (_made, file) = file(Rung::Registered, fault);
        let top = file.rung();
        assert!(top.is_direct());
        let error = file.read_spans(&spans()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
        assert_eq!(file.rung(), Rung::Buffered);
        let left: Vec<_> = file.steps().iter().map(|step| step.from).collect();
        assert_eq!(left, [Rung::Registered, Rung::Ring, Rung::Aio, Rung::Threads]);
        file.take().fault = None;
        check(&file);
    }
}

fn refuse(done: &mut Completion, errno: Errno) {
    *done = Completion::new(done.token, Err(errno));
}

#[test]
fn a_file_that_must_be_read_directly_is_not_read_otherwise() {
    let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(made.path(), content()).unwrap();
    let file = OpenOptions::new().policy(Policy::Required).open(made.path()).unwrap();
    file.take().fault = Some(|_, done| refuse(done, Errno::INVAL));
    let error = file.read_spans(&spans()).unwrap_err();
    let ErrorKind::Io(error) = error.kind() else { panic!("{error}") };
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(file.rung(), Rung::Threads);
    file.take().fault = None;
    check(&file);
}

#[test]
fn ten_thousand_left_streams_leave_nothing_behind() {
    let (made, file) = file(Rung::Registered, |_, _| {});
    // Of this file: other tests of this process have others. A ring has one, and there is one a
    // lane.
    let open = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
        links.filter(|link| link == made.path()).count()
    };
    drop(file.read_spans(&spans()).unwrap());
    let before = open();
    for turn in 0..10_000_u64 {
        let spans = spans().into_iter().cycle().skip(turn as usize % 40).take(6);
        let mut stream = file.stream(spans, Order::Completed).unwrap();
        if !turn.is_multiple_of(3) {
            assert!(stream.next_piece().unwrap().is_some());
        }
    }
    assert_eq!(file.lanes(), 1);
    let lane = file.take();
    // What is under way at most.
    assert!(lane.flights() <= 8, "{} flights are kept", lane.flights());
    drop(lane);
    assert_eq!(open(), before);
    check(&file);
    assert_eq!(file.take().flights(), 0);
}

#[test]
fn memory_that_can_have_huge_pages_begins_at_one() {
    const HUGE: usize = 2 << 20;
    let pool = Pool::new(512);
    for (len, multiple) in [(1, 512), (HUGE - 1, HUGE), (HUGE, HUGE), (2 * HUGE, HUGE)] {
        let mut memory = pool.take(len).unwrap();
        assert!(memory.len() >= len);
        let bytes = memory.bytes_mut();
        assert!(bytes.as_ptr().addr().is_multiple_of(multiple), "{len} bytes");
        bytes.fill(1); // all of it can be written
        pool.give_back(memory);
    }
}

#[test]
fn memory_that_is_too_long_to_be_kept_pushes_nothing_out() {
    let pool = Pool::new(512);
    let mut memory = pool.take(5000).unwrap();
    memory.bytes_mut().fill(1);
    pool.give_back(memory);
    let long = pool.take(Pool::KEPT + 1).unwrap();
    pool.give_back(long);
    // New memory is zeros.
    assert!(pool.take(5000).unwrap().bytes_mut().iter().all(|&byte| byte == 1));
}
