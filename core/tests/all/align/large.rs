//! Numbers near the largest that there are.

use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::align::{Alignment, Plan, Rules, Run, Split, Write};
use striae_core::span::Span;

use super::{config, rules, span};
use striae_kit::aligned::check_plan;

const MAX: u64 = i64::MAX as u64;

#[test]
fn the_last_unit_of_the_longest_file_can_be_read() {
    for power in 0..=16 {
        let unit = 1 << power;
        let file_len = MAX - (unit - 1);
        let rules = rules(unit, file_len).with_max_io(4 * unit).unwrap();
        check_plan(&[span(file_len - 1, 1), span(0, 1)], rules);
        check_plan(&[span(file_len - 5 * unit, 5 * unit), span(file_len - 2 * unit, unit)], rules);
    }
}

#[test]
fn one_request_can_be_all_of_the_longest_file() {
    let rules = rules(4096, MAX - 4095);
    let mut memory = [Run::EMPTY];
    let all = span(0, MAX - 4095);
    let plan = Plan::new(&[all], rules, &mut memory).unwrap();
    assert_eq!(plan.len(), (MAX - 4095).div_ceil(0x7FFF_F000));
    let last = plan.read(plan.len() - 1).unwrap();
    assert_eq!(last.span.end(), MAX - 4095);
    let part = plan.parts(span(MAX - 4096, 1)).unwrap().next().unwrap();
    assert_eq!((part.read, part.skip), (last.number, last.span.len() - 1));
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn near_the_end_of_all_offsets_nothing_wraps(
        power in 0u32..=16,
        back in vec((0u64..=2_000_000, 0u64..=300_000), 1..8),
        max_gap in any::<u64>(),
    ) {
        let unit = 1 << power;
        let file_len = MAX - (unit - 1);
        let requests: Vec<Span> = back
            .iter()
            .map(|&(back, len)| span(file_len - back, len.min(back)))
            .collect();
        let io = unit * 8;
        let rules = rules(unit, file_len).with_max_io(io).unwrap().with_max_gap(max_gap);
        let gap = max_gap.min(io); // the bound of the check is a sum
        check_plan(&requests, if max_gap > io { rules.with_max_gap(gap) } else { rules });
        let mut memory = vec![Run::EMPTY; requests.len()];
        prop_assert!(Plan::new(&requests, rules, &mut memory).is_ok());
    }

    #[test]
    fn any_numbers_give_a_plan_or_an_error(
        alignment in any::<(u64, u64, u64)>(),
        powers in (0u32..=31, 0u32..=31, 0u32..=31),
        is_power in any::<bool>(),
        settings in any::<(u64, u64, u64, u64)>(),
        spans in vec(any::<(u64, u64)>(), 0..6),
    ) {
        let (file_len, max_io, max_gap, address) = settings;
        let (offset, length, memory) = if is_power {
            (1 << powers.0, 1 << powers.1, 1 << powers.2)
        } else {
            alignment
        };
        let spans: Vec<Span> =
            spans.iter().filter_map(|&(offset, len)| Span::new(offset, len)).collect();
        for file_len in [file_len, file_len >> 1, file_len >> 2] {
            let rules = Rules::new(Alignment { offset, length, memory }, file_len);
            let Ok(rules) = rules.and_then(|rules| rules.with_max_io(max_io)) else { continue };
            let rules = rules.with_max_gap(max_gap);
            let mut memory = vec![Run::EMPTY; spans.len()];
            if let Ok(plan) = Plan::new(&spans, rules, &mut memory) {
                prop_assert!(plan.read(0).is_some() || plan.is_empty());
                prop_assert!(plan.read(plan.len()).is_none());
                prop_assert!(plan.bytes() <= rules.up(file_len));
            }
            for &span in &spans {
                if let Ok(split) = Split::new(span, address, &rules) {
                    prop_assert!(span.end() <= file_len || span.is_empty(), "{split:?}");
                }
                if let Ok(write) = Write::new(span, &rules) {
                    prop_assert!(write.set_len.is_none_or(|len| len >= file_len.max(span.end())));
                }
            }
        }
    }
}
