//! Both layouts, for all small subfiles, against a writer that puts one element after another.

use std::collections::HashMap;
use striae_core::blob::layout::{Content, Share, Width, maps_len};
use striae_core::cdf::layout::{Layout, RecordSize, padded};
use striae_core::span::Span;

/// A variable: its decomposition, if it has one, the bytes of a value, and whether it has records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Var {
    pub(super) decomposition: Option<usize>,
    pub(super) value_len: u64,
    pub(super) is_record: bool,
}

/// The number of values of a variable that is not decomposed.
pub(super) const WHOLE: u64 = 3;

/// An element: variable, record, blob, number in the blob.
type Element = (usize, u64, usize, u64);

/// The shares of all blobs, from numbers of elements and requests.
pub(super) fn shares(counts: &[[(u64, u64); 2]]) -> Vec<[Share; 2]> {
    let mut starts = [0; 2];
    let share = |(count, nreqs): (u64, u64), start: &mut u64| {
        let share = Share { nreqs, start: *start, count };
        *start += count;
        share
    };
    let blob = |counts: &[(u64, u64); 2]| {
        [share(counts[0], &mut starts[0]), share(counts[1], &mut starts[1])]
    };
    counts.iter().map(blob).collect()
}

fn all_variables() -> Vec<Vec<Var>> {
    let mut kinds = Vec::new();
    for decomposition in [None, Some(0), Some(1)] {
        for is_record in [false, true] {
            for value_len in [1, 8] {
                kinds.push(Var { decomposition, value_len, is_record });
            }
        }
    }
    let mut all = vec![vec![]];
    for one in &kinds {
        all.push(vec![*one]);
        for two in &kinds {
            all.extend([vec![*one, *two], vec![*one, kinds[3], *two, kinds[9]]]);
        }
    }
    all
}

fn all_counts() -> Vec<Vec<[(u64, u64); 2]>> {
    let rows = [[(0, 0), (0, 0)], [(2, 1), (0, 0)], [(1, 1), (5, 3)], [(0, 2), (3, 1)]];
    let mut all = Vec::new();
    for one in rows {
        all.push(vec![one]);
        for two in rows {
            all.extend([vec![one, two], vec![one, two, one]]);
        }
    }
    all
}

/// The elements of the blobs as a program without arithmetic would write them, process by process.
fn written_by_process(vars: &[Var], blobs: &[[Share; 2]], numrecs: u64) -> HashMap<Element, u64> {
    let (mut places, mut at) = (HashMap::new(), 0);
    for (p, shares) in blobs.iter().enumerate() {
        for share in shares {
            at += 4 + 8 + 8;
            for _ in 0..share.nreqs {
                at += 4 + 4;
            }
        }
        for (v, var) in vars.iter().enumerate() {
            for record in 0..if var.is_record { numrecs } else { 1 } {
                let count = match var.decomposition {
                    Some(k) => shares[k].count,
                    None if p == 0 => WHOLE,
                    None => 0,
                };
                for k in 0..count {
                    places.insert((v, record, p, k), at);
                    at += var.value_len;
                }
            }
        }
    }
    places.insert((usize::MAX, 0, 0, 0), at); // the end
    places
}

#[test]
fn the_process_centric_layout_is_that_of_a_plain_writer() {
    for vars in all_variables() {
        for counts in all_counts() {
            for numrecs in 0..3 {
                check_process(&vars, &shares(&counts), numrecs);
            }
        }
    }
}

fn check_process(vars: &[Var], blobs: &[[Share; 2]], numrecs: u64) {
    let records = |var: &Var| if var.is_record { numrecs } else { 1 };
    let content = |var: &Var| match var.decomposition {
        None => Content::Whole { len: WHOLE * var.value_len * records(var) },
        Some(decomposition) => {
            Content::Elements { decomposition, len: var.value_len * records(var) }
        }
    };
    let expected = written_by_process(vars, blobs, numrecs);
    let (mut found, mut start) = (HashMap::new(), 0);
    for (p, shares) in blobs.iter().enumerate() {
        let mut memory = [7; 2]; // what was in it does not matter
        let mut before = Width::new(&mut memory);
        let number = u32::try_from(p).unwrap();
        let maps = maps_len(shares).unwrap();
        for (v, var) in vars.iter().enumerate() {
            let mut at = start + maps + before.of_blob(number, shares).unwrap();
            for record in 0..records(var) {
                let count = match var.decomposition {
                    Some(k) => shares[k].count,
                    None if p == 0 => WHOLE,
                    None => 0,
                };
                let span = Span::new(at, count * var.value_len).unwrap();
                for k in 0..count {
                    let place = span.entry(k, var.value_len).unwrap();
                    found.insert((v, record, p, k), place.offset());
                }
                at = span.end();
            }
            before.add(content(var)).unwrap();
        }
        start += maps + before.of_blob(number, shares).unwrap();
    }
    found.insert((usize::MAX, 0, 0, 0), start);
    assert_eq!(found, expected, "{vars:?} {blobs:?} {numrecs}");
}

/// The elements of a CDF-5 file, record by record.
#[test]
fn the_variable_centric_layout_is_that_of_a_plain_writer() {
    let blobs = shares(&[[(2, 1), (0, 0)], [(0, 0), (1, 1)], [(3, 2), (2, 2)]]);
    let begin = 512;
    for vars in all_variables().into_iter().filter(|vars| vars.iter().all(|var| var.is_record)) {
        let values = |var: &Var| match var.decomposition {
            Some(k) => blobs.iter().map(|shares| shares[k].count).sum(),
            None => WHOLE,
        };
        let lens: Vec<u64> = vars.iter().map(|var| values(var) * var.value_len).collect();
        let size = lens.iter().fold(RecordSize::default(), |size, len| size.with(*len).unwrap());
        let mut at = begin;
        for record in 0..3 {
            let mut begin_of = begin;
            for (var, &len) in vars.iter().zip(&lens) {
                let first = Span::new(begin_of, len).unwrap();
                let (recsize, value_len) = (Some(size.get()), var.value_len);
                let layout = Layout { first, recsize, value_len };
                let mut place = at;
                for shares in blobs.iter().filter(|_| var.decomposition.is_some()) {
                    let share = shares[var.decomposition.unwrap()];
                    let span = share.in_variable(layout, record).unwrap();
                    assert_eq!(span, Span::new(place, share.count * value_len).unwrap());
                    place = span.end();
                }
                let padded = if vars.len() == 1 { len } else { padded(len).unwrap() };
                (at, begin_of) = (at + padded, begin_of + padded);
            }
        }
    }
}

#[test]
fn a_blob_outside_its_variable_has_no_place() {
    let first = Span::new(100, 80).unwrap();
    let fixed = Layout { first, recsize: None, value_len: 8 };
    let share = |start, count| Share { nreqs: 1, start, count };
    assert_eq!(share(4, 6).in_variable(fixed, 0), Span::new(132, 48));
    for (share, record) in [
        (share(4, 7), 0),
        (share(11, 0), 0),
        (share(u64::MAX, 1), 0),
        (share(1, u64::MAX), 0),
        (share(0, 1), 1),
    ] {
        assert_eq!(share.in_variable(fixed, record), None, "{share:?}");
    }
    let records = Layout { recsize: Some(200), ..fixed };
    assert_eq!(share(0, 10).in_variable(records, 2), Span::new(500, 80));
    assert_eq!(share(0, 10).in_variable(records, u64::MAX / 100), None);
}

#[test]
fn sums_that_exceed_a_file_are_refused() {
    let huge = Share { nreqs: u64::MAX / 8, start: 0, count: u64::MAX };
    assert_eq!(huge.map_len(), None);
    assert_eq!(huge.requests(0), None);
    assert_eq!(maps_len(&[huge]), None);
    let mut memory = [0; 1];
    let mut width = Width::new(&mut memory);
    assert_eq!(width.add(Content::Elements { decomposition: 1, len: 1 }), None);
    assert_eq!(width.add(Content::Elements { decomposition: 0, len: 2 }), Some(()));
    assert_eq!(width.of_blob(0, &[huge]), None);
    assert_eq!(width.add(Content::Elements { decomposition: 0, len: u64::MAX }), None);
    assert_eq!(width.add(Content::Whole { len: u64::MAX }), Some(()));
    assert_eq!(width.add(Content::Whole { len: 1 }), None);
    assert_eq!(width.add(Content::Stray { len: 1 }), Some(()));
    assert_eq!(width.of_blob(1, &[Share::default()]), Some(1));
    assert_eq!(width.of_blob(0, &[Share::default()]), None);
}

/// `spec/blob.md#process-centric`: one int32, two int64, then two int32 for each request.
#[test]
fn the_parts_of_a_map_follow_each_other_to_the_end_of_the_longest_file() {
    let share = Share { nreqs: 3, start: 7, count: 9 };
    let span = |offset, len| Span::new(offset, len).unwrap();
    for at in [0, 1000, u64::MAX - 44] {
        let [offsets, lengths] = [span(at + 20, 12), span(at + 32, 12)];
        assert_eq!(share.requests(at), Some([offsets, lengths]));
        let head = [span(at, 4), span(at + 4, 8), span(at + 12, 8)];
        assert_eq!(share.parts(at), Some([head[0], head[1], head[2], offsets, lengths]));
    }
    assert_eq!((share.requests(u64::MAX - 43), share.parts(u64::MAX - 43)), (None, None));
}
