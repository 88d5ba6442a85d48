//! What plans and splits of `striae_core::align` must be, whatever was asked for.

use striae_core::align::split::Bounce;
use striae_core::align::{Part, Plan, Read, Rules, Run, Split};
use striae_core::span::Span;

/// Checks a plan for `requests` in all that can be said of it.
///
/// # Panics
/// It is not as it must be.
pub fn check_plan(requests: &[Span], rules: Rules) {
    let mut memory = vec![Run::EMPTY; requests.len()];
    let plan = Plan::new(requests, rules, &mut memory).unwrap();
    let reads: Vec<Read> = plan.reads().collect();
    check_reads(&reads, &rules);
    assert_eq!(plan.len(), reads.len() as u64);
    assert_eq!(plan.is_empty(), reads.is_empty());
    assert_eq!(plan.room(), reads.last().map_or(0, |read| read.place + read.span.len()));
    assert_eq!(plan.bytes(), reads.iter().map(|read| read.span.len()).sum::<u64>());
    for read in &reads {
        assert_eq!(plan.read(read.number), Some(*read));
    }
    assert_eq!(plan.read(plan.len()), None);
    for &request in requests {
        let parts: Vec<Part> = plan.parts(request).unwrap().collect();
        check_parts(request, &parts, &reads);
        let place = plan.place(request).unwrap();
        for part in parts {
            let read = &reads[usize::try_from(part.read).unwrap()];
            assert_eq!(read.place + part.skip, place + part.at, "not in one piece");
        }
    }
    check_bound(requests, &reads, &rules);
}

fn check_reads(reads: &[Read], rules: &Rules) {
    let (mut end, mut taken) = (0, 0);
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
        assert!(read.place % rules.granule() == 0 && read.place >= taken);
        assert!(!touches || read.place == taken, "a request would be in pieces");
        (end, taken) = (span.end(), read.place + span.len());
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

/// Checks a split of `request` that is wanted at `address`; returns the length of its body.
///
/// # Panics
/// It is not as it must be.
pub fn check_split(request: Span, address: u64, rules: &Rules) -> u64 {
    let split = Split::new(request, address, rules).unwrap();
    let is_aligned = |span: Span| {
        span.offset().is_multiple_of(rules.unit())
            && span.len().is_multiple_of(rules.unit())
            && !span.is_empty()
    };
    let mut at = 0;
    let bounce = |at: u64, bounce: Option<Bounce>| {
        let Some(bounce) = bounce else { return at };
        assert!(is_aligned(bounce.read) && bounce.len > 0, "{bounce:?}");
        assert_eq!(bounce.at, at);
        assert_eq!(bounce.read.offset() + bounce.skip, request.offset() + at);
        assert!(bounce.skip < rules.unit() && bounce.skip + bounce.len <= bounce.read.len());
        assert!(bounce.read.len() - bounce.skip - bounce.len < rules.unit());
        if split.body.is_some() {
            assert!(bounce.len < rules.granule());
        }
        at + bounce.len
    };
    at = bounce(at, split.head);
    let mut body_len = 0;
    if let Some(body) = split.body {
        assert!(is_aligned(body));
        assert_eq!(body.offset(), request.offset() + at);
        assert_eq!(address.wrapping_add(at) % rules.memory(), 0);
        body_len = body.len();
        at += body_len;
    }
    at = bounce(at, split.tail);
    assert_eq!(at, request.len());
    body_len
}
