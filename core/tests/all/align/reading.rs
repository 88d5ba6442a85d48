//! Plans for random requests; what they must be is in `striae_kit::aligned`.

use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::align::{Error, Plan, Rules, Run};
use striae_core::span::Span;
use striae_kit::aligned::check_plan;

use super::{config, rules, span};

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
        check_plan(&requests, rules);
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
    assert_eq!(
        (plan.room(), plan.place(span(5, 0)), plan.place(span(u64::MAX, 0))),
        (0, Some(0), Some(0))
    );
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
