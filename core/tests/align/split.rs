//! One request: what goes straight to the caller's memory.

use proptest::prelude::*;
use striae_core::align::{Alignment, Error, Rules, Split};
use striae_core::span::Span;

use super::{config, rules, span};

/// Checks a split of `request` that is wanted at `address`; returns the length of its body.
fn check(request: Span, address: u64, rules: &Rules) -> u64 {
    let split = Split::new(request, address, rules).unwrap();
    let is_aligned = |span: Span| {
        span.offset().is_multiple_of(rules.unit())
            && span.len().is_multiple_of(rules.unit())
            && !span.is_empty()
    };
    let mut at = 0;
    let bounce = |at: u64, bounce: Option<striae_core::align::split::Bounce>| {
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

/// Whether any byte could go straight: a unit of the file that lies in the request and comes to an
/// aligned address.
fn could_be_straight(request: Span, address: u64, rules: &Rules) -> bool {
    let mut block = request.offset().next_multiple_of(rules.unit());
    while block + rules.unit() <= request.end() {
        let to = address.wrapping_add(block - request.offset());
        if to.is_multiple_of(rules.memory()) {
            return true;
        }
        block += rules.unit();
    }
    false
}

#[test]
fn all_small_requests() {
    let mut straight = 0;
    for (unit, memory) in [(1, 1), (1, 4), (4, 1), (2, 8), (8, 2), (4, 4)] {
        let alignment = Alignment { offset: unit, length: unit, memory };
        let rules = Rules::new(alignment, 40).unwrap();
        for offset in 0..=40 {
            for len in 0..=40 - offset {
                for address in 0..16 {
                    let request = span(offset, len);
                    let body = check(request, address, &rules);
                    assert_eq!(body > 0, could_be_straight(request, address, &rules));
                    straight += body;
                }
            }
        }
    }
    assert!(straight > 100_000);
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_request(
        powers in (0u32..=16, 0u32..=16),
        file_len in 0u64..=i64::MAX as u64 - 65_535,
        (from, len) in (any::<u64>(), prop_oneof![0u64..=200_000, any::<u64>()]),
        address in any::<u64>(),
    ) {
        let alignment = Alignment { offset: 1 << powers.0, length: 1, memory: 1 << powers.1 };
        let rules = Rules::new(alignment, file_len).unwrap();
        let offset = if file_len == 0 { 0 } else { from % file_len };
        check(span(offset, len.min(file_len - offset)), address, &rules);
    }
}

#[test]
fn a_request_behind_the_end_is_refused() {
    let error = Error::BehindEnd { request: 0, end: 11, file_len: 10 };
    assert_eq!(Split::new(span(1, 10), 0, &rules(8, 10)), Err(error));
}
