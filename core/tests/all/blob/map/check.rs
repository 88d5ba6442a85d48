//! Faults of maps are those that a table of all elements shows.

use super::golden_file;
use super::table::lists;
use proptest::prelude::*;
use striae_core::blob::find::{Place, Run};
use striae_core::blob::map::{Fault, Faults, Grid, Rule};

fn run(rank: u32, number: u64, offset: u64, len: u64) -> Run {
    Run { offset, len, place: Place { subfile: 0, blob: rank, position: number } }
}

fn faults(mut runs: Vec<Run>, dims: &[u64]) -> Vec<Fault> {
    Faults::new(&mut runs, Grid::new(dims).unwrap()).collect()
}

fn faults_of(name: &str, id: u32, dims: &[u64]) -> Vec<Fault> {
    let lists = lists(&golden_file(name), id, Rule::Nreqs);
    let lists = (0..).zip(&lists).flat_map(|(rank, list)| {
        (0..).zip(list).map(move |(number, one)| run(rank, number, one.offset, one.len))
    });
    faults(lists.collect(), dims)
}

#[test]
fn faults_of_maps_have_rank_index_and_offset() {
    let overlap = |first, second| Fault::Overlap { first, second };
    let inside = faults_of("ov_in.nc", 1, &[20]);
    let hole = |offset, len| Fault::Hole { offset, len };
    assert_eq!(inside, [overlap(run(0, 0, 0, 6), run(0, 1, 4, 3)), hole(7, 3)]);
    assert!(inside[0].is_inside_a_rank());
    let across = faults_of("ov_x.nc", 1, &[20]);
    assert_eq!(across, [overlap(run(0, 0, 0, 8), run(1, 0, 6, 14))]);
    assert!(!across[0].is_inside_a_rank());
    assert_eq!(faults_of("oob.nc", 1, &[20]), [Fault::OutOfArray(run(1, 0, 8, 15))]);
    assert_eq!(faults_of("map_f_tiny_4p.nc", 3, &[6, 53]), []);
}

proptest! {
    #![proptest_config(crate::config(256))]

    #[test]
    fn faults_are_those_of_a_table(
        requests in prop::collection::vec((0_u32..4, 0_u64..30, 0_u64..8), 0..12),
        total in 1_u64..30,
    ) {
        let runs: Vec<_> = (0..)
            .zip(&requests)
            .map(|(number, &(rank, offset, len))| run(rank, number, offset, len))
            .collect();
        let mut owners = [0; 40];
        for run in &runs {
            (run.offset..run.end()).for_each(|at| owners[at as usize] += 1);
        }
        let found = faults(runs.clone(), &[total]);
        prop_assert!(found.len() <= 4 * runs.len() + 1);
        let mut holes = [false; 40];
        let (mut outside, mut empty, mut overlaps) = (0, 0, 0);
        for fault in &found {
            match *fault {
                Fault::Hole { offset, len } => (offset..offset + len).for_each(|at| {
                    assert!(!holes[at as usize]);
                    holes[at as usize] = true;
                }),
                Fault::OutOfArray(run) => {
                    assert!(total < run.end());
                    outside += 1;
                }
                Fault::Empty(run) => {
                    assert_eq!(run.len, 0);
                    empty += 1;
                }
                Fault::Overlap { first, second } => {
                    assert!(first.offset <= second.offset && second.offset < first.end());
                    assert!(first != second && second.len > 0);
                    overlaps += 1;
                }
            }
        }
        let total = total as usize;
        for at in 0..40 {
            prop_assert_eq!(holes[at], at < total && owners[at] == 0);
        }
        prop_assert_eq!(overlaps > 0, owners.iter().any(|&owners| owners > 1));
        let is_outside = |run: &&Run| run.len > 0 && (total as u64) < run.end();
        prop_assert_eq!(outside, runs.iter().filter(is_outside).count());
        prop_assert_eq!(empty, runs.iter().filter(|run| run.len == 0).count());
    }
}
