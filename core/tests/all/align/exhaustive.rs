//! All small cases: three requests in files of up to 24 bytes, alignments 1, 2, 4 and 8.
//!
//! Sets of bytes are bits of a word, so that millions of cases take seconds.

use striae_core::align::{Alignment, Plan, Rules, Run};
use striae_core::span::Span;
use striae_kit::hosts::stride;

use super::span;

const FILE_LEN: u64 = 24;

/// Bytes `start..end` as bits.
fn bits(start: u64, end: u64) -> u64 {
    (1 << end) - (1 << start)
}

fn all_spans() -> Vec<Span> {
    let offsets = 0..=FILE_LEN;
    offsets.flat_map(|offset| (0..=FILE_LEN - offset).map(move |len| span(offset, len))).collect()
}

/// Checks the plan for three requests; returns its reads.
fn check(requests: &[Span; 3], rules: Rules) -> u64 {
    let mut memory = [Run::EMPTY; 3];
    let plan = Plan::new(requests, rules, &mut memory).unwrap();
    let (unit, mut read_bits, mut behind, mut reads) = (rules.unit(), 0, 0, [(0, 0, 0); 24]);
    for (place, read) in reads.iter_mut().zip(plan.reads()) {
        let (start, end) = (read.span.offset(), read.span.end());
        assert!(start >= behind && end > start && end - start <= rules.max_io());
        assert!(start % unit == 0 && end % unit == 0 && end < rules.file_len() + unit);
        assert_eq!(read.valid, end.min(rules.file_len()) - start);
        *place = (start, end, read.valid);
        read_bits |= bits(start, end);
        behind = end;
    }
    let mut needed = 0;
    for &request in requests {
        let mut at = 0;
        for part in plan.parts(request).unwrap() {
            let (start, _, valid) = reads[usize::try_from(part.read).unwrap()];
            assert!(part.at == at && part.len > 0 && part.skip + part.len <= valid);
            assert_eq!(start + part.skip, request.offset() + at);
            at += part.len;
        }
        assert_eq!(at, request.len());
        if !request.is_empty() {
            let (start, end) = (request.offset(), request.end());
            needed |= bits(start - start % unit, end.next_multiple_of(unit));
        }
    }
    // What is read and not needed are gaps between what is needed, none too long.
    assert_eq!(read_bits & needed, needed);
    let mut through = read_bits & !needed;
    while through != 0 {
        let start = through.trailing_zeros();
        let len = (through >> start).trailing_ones();
        assert!(u64::from(len) <= rules.max_gap());
        assert!(start > 0 && needed >> (start - 1) & 1 == 1 && needed >> (start + len) & 1 == 1);
        through &= !(((1 << len) - 1) << start);
    }
    plan.len()
}

/// All cases of an alignment, with each of the other settings in turn.
fn check_all(align: u64) {
    let spans = all_spans();
    let settings: Vec<Rules> = [(1, 0), (2, 0), (16, 0), (2, 1), (16, 1), (16, 3)]
        .into_iter()
        .map(|(max_io, max_gap)| {
            let rules = Rules::new(Alignment::of(align), FILE_LEN).unwrap();
            rules.with_max_io(max_io * align).unwrap().with_max_gap(max_gap * align)
        })
        .collect();
    let mut turn = settings.iter().cycle();
    // On a slow host a sample, since plans know no bytes: of all turns, since 17 shares no factor
    // with their lengths.
    let stride = stride(17) as u64;
    let (mut cases, mut reads) = (0_u64, 0);
    for (number, &first) in spans.iter().enumerate() {
        for (other, &second) in spans.iter().enumerate().skip(number) {
            for &third in &spans[other..] {
                let (case, rules) = (cases, turn.next().unwrap());
                cases += 1;
                if !case.is_multiple_of(stride) {
                    continue;
                }
                // In all orders, one after another.
                let requests = match case % 3 {
                    0 => [first, second, third],
                    1 => [third, first, second],
                    _ => [second, third, first],
                };
                let end = first.end().max(second.end()).max(third.end());
                let file_len = if case.is_multiple_of(2) { FILE_LEN } else { end };
                let rules = Rules::new(Alignment::of(align), file_len)
                    .and_then(|same| same.with_max_io(rules.max_io()))
                    .unwrap()
                    .with_max_gap(rules.max_gap());
                reads += check(&requests, rules);
            }
        }
    }
    let count = spans.len() as u64;
    assert_eq!(cases, count * (count + 1) * (count + 2) / 6);
    assert!(reads > cases / stride);
}

#[test]
fn all_small_cases_without_alignment() {
    check_all(1);
}

#[test]
fn all_small_cases_of_alignment_2() {
    check_all(2);
}

#[test]
fn all_small_cases_of_alignment_4() {
    check_all(4);
}

#[test]
fn all_small_cases_of_alignment_8() {
    check_all(8);
}
