//! What a plan must be, on random requests.

use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::align::{Error, Part, Plan, Read, Rules, Run};
use striae_core::span::Span;

use super::{config, rules, span};

/// Checks a plan for `requests` in all that can be said of it.
pub(crate) fn check(requests: &[Span], rules: Rules) {
    let mut memory = vec![Run::EMPTY; requests.len()];
    let plan = Plan::new(requests, rules, &mut memory).unwrap();
    let reads: Vec<Read> = plan.reads().collect();
    check_reads(&reads, &rules);
    assert_eq!(plan.len(), reads.len() as u64);
    assert_eq!(plan.is_empty(), reads.is_empty());
    assert_eq!(plan.bytes(), reads.iter().map(|read| read.span.len()).sum::<u64>());
    for read in &reads {
        assert_eq!(plan.read(read.number), Some(*read));
    }
    assert_eq!(plan.read(plan.len()), None);
    for &request in requests {
        let parts: Vec<Part> = plan.parts(request).unwrap().collect();
        check_parts(request, &parts, &reads);
    }
    check_bound(requests, &reads, &rules);
}

fn check_reads(reads: &[Read], rules: &Rules) {
    let mut end = 0;
    for (number, read) in reads.iter().enumerate() {
        assert_eq!(read.number, number as u64);
        let span = read.span;
        assert!(!span.is_empty() && span.len() <= rules.max_io());
        assert_eq!((span.offset() % rules.unit(), span.len() % rules.unit()), (0, 0));
        assert!(span.offset() >= end, "{reads:?}");
        assert_eq!(read.valid, span.end().min(rules.file_len()) - span.offset());
        assert!(read.valid > span.len() - rules.unit(), "a unit behind the end of the file");
        let touches = number > 0 && span.offset() == end;
        assert!(!touches || reads[number - 1].span.len() == rules.max_io(), "two reads for one");
        end = span.end();
    }
}

/// Every byte of the request once, in order, out of what its read returns.
fn check_parts(request: Span, parts: &[Part], reads: &[Read]) {
    let mut at = 0;
    for part in parts {
        let read = reads[usize::try_from(part.read).unwrap()];
        assert!(part.len > 0 && part.at == at);
        assert_eq!(read.span.offset() + part.skip, request.offset() + at);
        assert!(part.skip + part.len <= read.valid);
        at += part.len;
    }
    assert_eq!(at, request.len());
}

/// What is read and was not asked for: rounding, and gaps that are short enough.
fn check_bound(requests: &[Span], reads: &[Read], rules: &Rules) {
    let unit = rules.unit();
    let mut wanted: Vec<(u64, u64)> = requests
        .iter()
        .filter(|request| !request.is_empty())
        .map(|request| (request.offset() / unit * unit, request.end().div_ceil(unit) * unit))
        .collect();
    wanted.sort_unstable();
    let mut union: Vec<(u64, u64)> = Vec::new();
    for (start, end) in wanted {
        match union.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => union.push((start, end)),
        }
    }
    let needed: u64 = union.iter().map(|(start, end)| end - start).sum();
    let read: u64 = reads.iter().map(|read| read.span.len()).sum();
    let is_inside = |offset: u64| {
        reads.iter().any(|read| (read.span.offset()..read.span.end()).contains(&offset))
    };
    let through: u64 = union
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].1)
        .zip(union.windows(2))
        .filter(|(_, pair)| is_inside(pair[0].1))
        .map(|(gap, pair)| {
            assert!(gap <= rules.max_gap());
            let one = reads.iter().any(|read| {
                read.span.offset() < pair[0].1 && pair[1].1 <= read.span.end()
                    || read.span.offset() < pair[0].1 && pair[1].0 < read.span.end()
            });
            assert!(one, "a gap was read, and saved no read");
            gap
        })
        .sum();
    assert_eq!(read, needed + through);
    let asked: u64 = requests.iter().map(|request| request.len()).sum();
    let count = requests.len() as u64;
    let bound = asked + count * 2 * (unit - 1) + count.saturating_sub(1) * rules.max_gap();
    assert!(read <= bound, "{read} bytes read, at most {bound}");
}

prop_compose! {
    fn settings()(
        power in 0u32..=16,
        max_io in 1u64..=6,
        max_gap in prop_oneof![Just(0), 1u64..=4, 1u64..=100_000],
        len in prop_oneof![0u64..=64, 0u64..=300_000],
    ) -> Rules {
        let align = 1 << power;
        rules(align, len).with_max_io(max_io * align).unwrap().with_max_gap(max_gap * align)
    }
}

fn requests(file_len: u64) -> impl Strategy<Value = Vec<Span>> {
    let any = (0..=file_len, 0..=file_len).prop_map(|(a, b)| span(a.min(b), a.abs_diff(b)));
    let short = (0..=file_len, 0u64..=600).prop_map(move |(a, len)| span(a, len.min(file_len - a)));
    vec(prop_oneof![any, short], 0..24)
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn every_byte_of_every_request_comes_once((rules, requests) in settings().prop_flat_map(
        |rules| (Just(rules), requests(rules.file_len()))
    )) {
        check(&requests, rules);
    }

    #[test]
    fn the_order_of_requests_does_not_matter((rules, mut requests) in settings().prop_flat_map(
        |rules| (Just(rules), requests(rules.file_len()))
    )) {
        let reads = |requests: &[Span]| {
            let mut memory = vec![Run::EMPTY; requests.len()];
            Plan::new(requests, rules, &mut memory).unwrap().reads().collect::<Vec<_>>()
        };
        let before = reads(&requests);
        requests.reverse();
        prop_assert_eq!(before, reads(&requests));
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_number() {
    let rules = rules(512, 1000);
    let mut memory = [Run::EMPTY; 3];
    let requests = [span(0, 10), span(2000, 0), span(990, 11)];
    let error = Error::BehindEnd { request: 2, end: 1001, file_len: 1000 };
    assert_eq!(Plan::new(&requests, rules, &mut memory).unwrap_err(), error);
    assert_eq!(error.to_string(), "request 2 ends at offset 1001, the file at 1000");
    let error = Error::Memory { need: 3, have: 2 };
    assert_eq!(Plan::new(&requests, rules, &mut memory[..2]).unwrap_err(), error);
}

#[test]
fn nothing_is_read_for_requests_of_nothing() {
    let mut memory = [Run::EMPTY; 2];
    let plan = Plan::new(&[span(5, 0), span(u64::MAX, 0)], rules(512, 10), &mut memory).unwrap();
    assert!(plan.is_empty());
    assert_eq!((plan.len(), plan.bytes(), plan.reads().count()), (0, 0, 0));
    assert_eq!(plan.parts(span(5, 0)).unwrap().count(), 0);
}

#[test]
fn a_plan_says_nothing_of_what_it_does_not_read() {
    let mut memory = [Run::EMPTY; 2];
    let requests = [span(0, 10), span(2000, 100)];
    let plan = Plan::new(&requests, rules(512, 5000), &mut memory).unwrap();
    assert!(plan.parts(span(500, 12)).is_some()); // it was read, too
    assert!(plan.parts(span(500, 13)).is_none());
    assert!(plan.parts(span(1000, 10)).is_none());
    assert!(plan.parts(span(4000, 10)).is_none());
}
