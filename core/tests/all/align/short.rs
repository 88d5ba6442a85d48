//! What is asked again when a device returns less than it was asked for.

use proptest::prelude::*;
use striae_core::align::{Alignment, Plan, Read, Rest, Rules, Run};

use super::{config, span};

fn whole(rules: Rules) -> Read {
    let mut memory = [Run::EMPTY];
    let all = span(0, rules.file_len());
    Plan::new(&[all], rules, &mut memory).unwrap().read(0).unwrap()
}

proptest! {
    #![proptest_config(config(2000))]

    /// Wherever a device stops after a granule, also within a unit, all bytes come, each one to its
    /// place.
    #[test]
    fn short_reads_are_ended(
        unit in 0u32..=12,
        memory in 0u32..=13,
        file_len in 1u64..=200_000,
        stops in proptest::collection::vec((1u64..=40, 0u64..8192), 1..12),
    ) {
        let alignment = Alignment { offset: 1 << unit, length: 1 << unit, memory: 1 << memory };
        let rules = Rules::new(alignment, file_len).unwrap();
        let (mut read, mut place) = (whole(rules), 0);
        let mut there = vec![false; usize::try_from(file_len).unwrap()];
        for turn in 0.. {
            prop_assert_eq!(read.span.offset() % rules.unit(), 0);
            prop_assert_eq!(place % rules.memory(), 0);
            // The whole file, from the start of the buffer.
            prop_assert_eq!(read.span.offset(), place);
            let (granules, bytes) = stops[turn % stops.len()];
            let stop = granules * rules.granule() + bytes % rules.granule();
            let got = if turn < 500 { stop.min(read.valid) } else { read.valid };
            let from = usize::try_from(read.span.offset()).unwrap();
            there[from..from + usize::try_from(got).unwrap()].fill(true);
            match read.rest(got, &rules) {
                Rest::Done => break,
                Rest::Again { skip, read: again } => {
                    prop_assert!(skip > 0 && skip <= got);
                    prop_assert_eq!(again.span.end(), read.span.end());
                    prop_assert_eq!(again.number, read.number);
                    (read, place) = (again, place + skip);
                }
                Rest::Ended { offset } => prop_assert!(false, "ended at {}", offset),
            }
        }
        prop_assert!(there.iter().all(|&is| is));
    }
}

#[test]
fn a_file_that_has_become_shorter_is_told() {
    let rules = Rules::new(Alignment::of(512), 5000).unwrap();
    let read = whole(rules);
    assert_eq!((read.span.len(), read.valid), (5120, 5000));
    assert_eq!(read.rest(5000, &rules), Rest::Done);
    assert_eq!(read.rest(5120, &rules), Rest::Done); // longer by now
    assert_eq!(read.rest(511, &rules), Rest::Ended { offset: 511 });
    assert_eq!(read.rest(0, &rules), Rest::Ended { offset: 0 });
    let Rest::Again { skip: 4608, read } = read.rest(4608, &rules) else { panic!() };
    assert_eq!((read.span.offset(), read.span.len(), read.valid), (4608, 512, 392));
    assert_eq!(read.rest(391, &rules), Rest::Ended { offset: 4999 });
}

/// FUSE with FOPEN_DIRECT_IO returns what the server of the file system does.
#[test]
fn a_read_that_stops_within_a_unit_is_gone_on_with_where_the_unit_begins() {
    let rules = Rules::new(Alignment::of(512), 5000).unwrap();
    let Rest::Again { skip: 4608, read } = whole(rules).rest(4999, &rules) else { panic!() };
    assert_eq!((read.span.offset(), read.span.len(), read.valid), (4608, 512, 392));
    assert_eq!(read.rest(392, &rules), Rest::Done);
    assert_eq!(read.rest(391, &rules), Rest::Ended { offset: 4999 }); // it is the end
    // Less than a granule, from which memory would not be aligned: the same read could return the
    // same for ever.
    let alignment = Alignment { offset: 512, length: 512, memory: 4096 };
    let rules = Rules::new(alignment, 100_000).unwrap();
    assert_eq!(whole(rules).rest(700, &rules), Rest::Ended { offset: 700 });
    let Rest::Again { skip: 8192, .. } = whole(rules).rest(8900, &rules) else { panic!() };
}

#[test]
fn what_would_leave_memory_unaligned_is_asked_for_once_more() {
    let alignment = Alignment { offset: 512, length: 512, memory: 4096 };
    let rules = Rules::new(alignment, 100_000).unwrap();
    let read = whole(rules);
    let again = |got| match read.rest(got, &rules) {
        Rest::Again { skip, .. } => skip,
        other => panic!("{other:?}"),
    };
    assert_eq!((again(512), again(4096), again(8704)), (0, 4096, 8192));
}
