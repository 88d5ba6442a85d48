//! One request: what goes straight to the caller's memory.

use proptest::prelude::*;
use striae_core::align::{Alignment, Error, Rules, Split};
use striae_core::span::Span;
use striae_kit::aligned::check_split;

use super::{config, rules, span};

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
                    let body = check_split(request, address, &rules);
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
        check_split(span(offset, len.min(file_len - offset)), address, &rules);
    }
}

#[test]
fn a_request_behind_the_end_is_refused() {
    let error = Error::BehindEnd { request: 0, end: 11, file_len: 10 };
    assert_eq!(Split::new(span(1, 10), 0, &rules(8, 10)), Err(error));
}
