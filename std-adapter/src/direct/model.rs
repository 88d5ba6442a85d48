//! Any programs of reads, against the bytes of the file, while reads fail in any way.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use super::engine::Completion;
use super::lane::{Fault, Lane};
use super::{DirectFile, OpenOptions, Order, Policy, Rung};
use crate::error::{Error, ErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;
use rustix::io::Errno;
use striae_core::span::Span;

/// What reads bring, and whether a program may fail of that.
const FAULTS: [(Fault, bool); 6] = [
    (|_, _| {}, false),
    (shorten, false),
    (interrupt, false),
    (|turn, done| fail(turn % 23 == 7, done, Errno::INVAL), true),
    (|turn, done| fail(turn % 11 == 4, done, Errno::IO), true),
    (
        |turn, done| {
            shorten(turn, done);
            interrupt(turn, done);
            fail(turn % 40 == 30, done, Errno::NOSYS);
        },
        true,
    ),
];

fn shorten(turn: u64, done: &mut Completion) {
    if let (Ok(got), true) = (&mut done.result, turn.is_multiple_of(3)) {
        *got = (*got / 3).max(1).next_multiple_of(512).min(*got); // 0 is the end of the file
    }
}

fn interrupt(turn: u64, done: &mut Completion) {
    let errno = [Errno::INTR, Errno::AGAIN, Errno::CANCELED][turn as usize % 3];
    fail(turn % 5 > 2, done, errno);
}

fn fail(is_now: bool, done: &mut Completion, errno: Errno) {
    if is_now {
        *done = Completion::new(done.token, Err(errno));
    }
}

/// What a program does; places are taken modulo the length of the file.
#[derive(Debug, Clone)]
enum Operation {
    Batch(Vec<(u64, u64)>),
    /// Reads some pieces, and then lets the stream be: at once, or when all is done.
    Stream {
        spans: Vec<(u64, u64)>,
        order: Order,
        pieces: usize,
        is_kept: bool,
    },
    /// Reads into memory that is so far from an aligned one.
    Into {
        place: (u64, u64),
        skip: usize,
    },
}

fn places() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((any::<u64>(), prop_oneof![Just(0u64), 1u64..=9, 1u64..=60_000]), 0..12)
}

fn operation() -> impl Strategy<Value = Operation> {
    let order = prop_oneof![Just(Order::Asked), Just(Order::Completed)];
    let pieces = prop_oneof![0usize..=9, Just(usize::MAX)];
    let stream = (places(), order, pieces, any::<bool>());
    let place = (prop_oneof![any::<u64>(), (0u64..=99).prop_map(|at| at * 4096)], 0u64..=200_000);
    prop_oneof![
        places().prop_map(Operation::Batch),
        stream.prop_map(|(spans, order, pieces, is_kept)| {
            Operation::Stream { spans, order, pieces, is_kept }
        }),
        (place, prop_oneof![Just(0), 0usize..=4095])
            .prop_map(|(place, skip)| Operation::Into { place, skip }),
    ]
}

prop_compose! {
    fn options()(
        top in prop::sample::select(&Rung::ALL[..]),
        (dontcache, policy) in prop_oneof![
            4 => (any::<bool>(), Just(Policy::Preferred)),
            1 => (any::<bool>(), Just(Policy::Off)),
        ],
        depth in prop_oneof![1u32..=3, 1u32..=64],
        threads in 0usize..=3,
        max_io in prop_oneof![600u64..=20_000, Just(1 << 20), Just(u64::MAX)],
        max_gap in prop_oneof![Just(0u64), 0u64..=50_000],
        threshold in prop_oneof![Just(0u64), 0u64..=100_000, Just(u64::MAX)],
        memory in prop_oneof![0u64..=100_000, Just(16 << 20)],
    ) -> OpenOptions {
        let options = OpenOptions::new().top(top).policy(policy).dontcache(dontcache);
        let options = options.depth(depth).threads(threads).max_io(max_io).max_gap(max_gap);
        options.threshold(threshold).memory(memory)
    }
}

fn span(bytes: &[u8], (place, len): (u64, u64)) -> Span {
    let offset = place % (bytes.len() as u64 + 1);
    Span::new(offset, len.min(bytes.len() as u64 - offset)).unwrap()
}

fn part(bytes: &[u8], span: Span) -> &[u8] {
    &bytes[span.offset() as usize..span.end() as usize]
}

/// What was read; if there was an error, it is one of the system's, and that may be.
fn allowed<T>(done: Result<T, Error>, may_fail: bool) -> Option<T> {
    let error = match done {
        Ok(done) => return Some(done),
        Err(error) => error,
    };
    assert!(may_fail && matches!(error.kind(), ErrorKind::Io(_)), "{error}");
    None
}

fn run(file: &DirectFile, bytes: &[u8], program: &[Operation], may_fail: bool) {
    let mut kept = Vec::new();
    for operation in program {
        match operation {
            Operation::Batch(places) => {
                let spans: Vec<Span> = places.iter().map(|&place| span(bytes, place)).collect();
                let Some(batch) = allowed(file.read_spans(&spans), may_fail) else { continue };
                let wanted = spans.iter().map(|&span| part(bytes, span));
                assert!(batch.iter().eq(wanted));
            }
            Operation::Stream { spans, order, pieces, is_kept } => {
                let spans: Vec<Span> = spans.iter().map(|&place| span(bytes, place)).collect();
                let asked: u64 = spans.iter().map(|span| span.len()).sum();
                let mut stream = file.stream(spans.clone(), *order).unwrap();
                let (mut found, mut left) = (0, *pieces);
                while left > 0 {
                    left -= 1;
                    let Some(piece) = allowed(stream.next_piece(), may_fail) else { break };
                    let Some(piece) = piece else {
                        assert_eq!(found, asked);
                        break;
                    };
                    let whole = spans[piece.request as usize];
                    assert_eq!(whole.part(piece.at, piece.span.len()), Some(piece.span));
                    assert!(piece.bytes == part(bytes, piece.span), "{:?}", piece.span);
                    found += piece.span.len();
                }
                kept.extend(is_kept.then_some(stream));
            }
            Operation::Into { place, skip } => {
                let wanted = span(bytes, *place);
                let mut memory = vec![0xFF; wanted.len() as usize + 3 * 4096];
                let start = memory.as_ptr().align_offset(4096) + skip;
                let memory = &mut memory[start..][..wanted.len() as usize + 1];
                let (buf, behind) = memory.split_at_mut(wanted.len() as usize);
                let done = file.read_into(wanted.offset(), buf);
                assert!(allowed(done, may_fail).is_none() || *buf == *part(bytes, wanted));
                assert_eq!(behind, [0xFF]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_program_reads_what_the_file_has_or_fails(
        len in prop_oneof![0usize..=3, 1usize..=20_000, 200_000usize..=300_000],
        options in options(),
        fault in prop::sample::select(&FAULTS[..]),
        program in vec(operation(), 1..9),
    ) {
        let (fault, may_fail) = fault;
        let bytes: Vec<u8> = (0..len).map(|at| (at / 251 + at) as u8).collect();
        let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(made.path(), &bytes).unwrap();
        let file = options.open(made.path()).unwrap();
        file.take().fault = Some(fault);
        run(&file, &bytes, &program, may_fail);
        // Whatever has failed, nothing of it is left.
        all_lanes(&file, |lane| lane.fault = None);
        run(&file, &bytes, &program, false);
        all_lanes(&file, |lane| {
            while lane.reap().is_some() {}
            assert_eq!(lane.flights(), 0);
        });
    }
}

fn all_lanes(file: &DirectFile, each: impl FnMut(&mut Lane)) {
    let mut lanes: Vec<_> = (0..file.lanes()).map(|_| file.take()).collect();
    lanes.iter_mut().map(|lane| &mut **lane).for_each(each);
}
