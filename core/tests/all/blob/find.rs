//! Elements are found where a table of all elements has them.

use core::cell::Cell;
use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::blob::find::{Gather, Place, Run, Runs, Take, overlap, resolve, sort};
use striae_core::cdf::Region;
use striae_core::span::Span;

/// The requests of some blobs in an array of `total` elements.
fn requests(total: u64) -> impl Strategy<Value = Vec<Run>> {
    let request = (0..total, 0_u64..6);
    vec(vec(request, 0..8), 0..7).prop_map(move |blobs| {
        let mut runs = Vec::new();
        for (number, blob) in (0..).zip(blobs) {
            let mut position = 0;
            for (offset, len) in blob {
                let place = Place { subfile: number / 3, blob: number % 3, position };
                runs.extend(Run { offset, len, place }.clipped(total));
                position += len;
            }
        }
        runs
    })
}

/// The place of each element, by trying all runs.
fn table(requests: &[Run], total: u64) -> Vec<Option<Place>> {
    let place = |element| {
        let has = requests.iter().filter(|run| (run.offset..run.end()).contains(&element));
        let at =
            |run: &Run| Place { position: run.place.position + element - run.offset, ..run.place };
        has.min_by_key(|run| run.place).map(at)
    };
    (0..total).map(place).collect()
}

fn runs(mut requests: Vec<Run>) -> Runs<Vec<Run>> {
    sort(&mut requests);
    let mut spare = vec![Run::default(); requests.len() * 3];
    Runs::new(resolve(&mut requests, &mut spare).unwrap().to_vec()).unwrap()
}

const TOTAL: u64 = 24;

proptest! {
    #![proptest_config(crate::config(1000))]

    #[test]
    fn each_element_is_that_of_the_lowest_rank(requests in requests(TOTAL)) {
        let (table, runs) = (table(&requests, TOTAL), runs(requests.clone()));
        for (element, place) in (0..).zip(&table) {
            prop_assert_eq!(runs.find(element).map(|run| run.place), *place);
        }
        prop_assert_eq!(runs.find(TOTAL), None);
        prop_assert_eq!(runs.covered(), table.iter().flatten().count() as u64);
        prop_assert!(runs.as_slice().len() <= 2 * requests.len());
    }

    #[test]
    fn pieces_are_the_span(requests in requests(TOTAL), at in 0..TOTAL, len in 0..TOTAL) {
        let len = len.min(TOTAL - at);
        let (table, runs) = (table(&requests, TOTAL), runs(requests));
        let mut element = at;
        for piece in runs.pieces(Span::new(at, len).unwrap()) {
            prop_assert!(piece.offset == element && piece.len > 0);
            for k in 0..piece.len {
                let after = |place: Place| Place { position: place.position + k, ..place };
                prop_assert_eq!(piece.place.map(after), table[element as usize]);
                element += 1;
            }
        }
        prop_assert_eq!(element, at + len);
    }

    #[test]
    fn a_region_is_gathered_in_the_order_of_the_subfiles(
        requests in requests(TOTAL),
        start in [0_u64..2, 0_u64..3, 0_u64..4],
        count in [0_u64..=2, 0_u64..=3, 0_u64..=4],
        stride in [1_u64..3, 1_u64..3, 1_u64..4],
        room in 1_usize..9,
    ) {
        const SHAPE: [u64; 3] = [2, 3, 4];
        let fit = |dim: usize| count[dim].min((SHAPE[dim] - start[dim]).div_ceil(stride[dim]));
        let count = [fit(0), fit(1), fit(2)];
        let (table, runs) = (table(&requests, TOTAL), runs(requests));
        let mut expected = Vec::new();
        for i in 0..count[0] {
            for j in 0..count[1] {
                for k in 0..count[2] {
                    let at = |dim: usize, n: u64| start[dim] + n * stride[dim];
                    expected.push(table[((at(0, i) * 3 + at(1, j)) * 4 + at(2, k)) as usize]);
                }
            }
        }
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let mut gather = Gather::new(&runs, &SHAPE, region).unwrap();
        prop_assert_eq!(gather.len(), expected.len() as u64);
        let (mut found, mut memory) = (vec![None; expected.len()], vec![Take::default(); room]);
        loop {
            let takes = gather.fill(&mut memory);
            if takes.is_empty() {
                break;
            }
            prop_assert!(takes.is_sorted_by_key(|take| take.place));
            for take in takes {
                for k in 0..take.len {
                    let position = take.place.position + k;
                    let found = &mut found[(take.to + k) as usize];
                    let place = found.replace(Place { position, ..take.place });
                    prop_assert_eq!(place, None); // nothing is taken twice
                }
            }
        }
        prop_assert_eq!(found, expected);
    }
}

/// Many runs over each other take no more than n log n steps; this ends at once.
#[test]
fn a_hundred_thousand_runs_over_each_other_are_resolved() {
    let n = 100_000_u32;
    let run = |number: u32| {
        let place = Place { subfile: n - number, blob: 0, position: 0 };
        Run { offset: number.into(), len: u64::from(n) * 2, place }
    };
    let mut requests: Vec<_> = (0..n).map(run).collect();
    sort(&mut requests);
    assert!(overlap(&requests));
    let mut short = vec![Run::default(); requests.len() * 3 - 1];
    assert!(resolve(&mut requests, &mut short).is_err());
    let mut spare = vec![Run::default(); requests.len() * 3];
    let runs = Runs::new(resolve(&mut requests, &mut spare).unwrap()).unwrap();
    assert_eq!(runs.covered(), u64::from(n) * 3 - 1);
    assert_eq!(runs.find(7).unwrap().place.subfile, n - 7);
}

#[test]
fn runs_that_are_not_in_order_are_refused() {
    let run = |offset, len| Run { offset, len, place: Place::default() };
    assert!(Runs::new([run(0, 2), run(2, 1)]).is_some());
    assert!(Runs::new([run(0, 3), run(2, 1)]).is_none());
    assert!(Runs::new([run(2, 1), run(0, 1)]).is_none());
}

/// Runs that fail when they are looked at very often.
struct Seldom<'r> {
    runs: &'r [Run],
    looks: Cell<u32>,
}

impl AsRef<[Run]> for Seldom<'_> {
    fn as_ref(&self) -> &[Run] {
        self.looks.set(self.looks.get() + 1);
        assert!(self.looks.get() < 100, "the steps are in proportion to the rows");
        self.runs
    }
}

#[test]
fn the_steps_through_a_region_do_not_depend_on_the_length_of_its_holes() {
    const ROWS: u64 = 1 << 40;
    let gather = |runs: &[Run]| {
        let runs = Runs::new(Seldom { runs, looks: Cell::new(0) }).unwrap();
        // of each row the first of two elements
        let region = Region { start: &[0, 0], count: &[ROWS, 1], stride: None };
        let mut gather = Gather::new(&runs, &[ROWS, 2], region).unwrap();
        let mut memory = [Take::default(); 2];
        let (mut found, mut takes) = (Vec::new(), gather.fill(&mut memory));
        while !takes.is_empty() {
            found.extend(takes.iter().map(|take| (take.place.position, take.len, take.to)));
            takes = gather.fill(&mut memory);
        }
        found
    };
    let run =
        |offset, len, position| Run { offset, len, place: Place { position, ..Place::default() } };
    assert_eq!(gather(&[]), []);
    let last = 2 * ROWS - 2;
    let runs = [run(1 << 20, 4, 0), run(1 << 30 | 1, 1, 4), run(last - 1, 3, 5)];
    let found = [(0, 1, 1 << 19), (2, 1, (1 << 19) + 1), (6, 1, ROWS - 1)];
    assert_eq!(gather(&runs), found);
    assert_eq!(gather(&[run(2 * ROWS, 7, 0)]), []); // after the array
}
