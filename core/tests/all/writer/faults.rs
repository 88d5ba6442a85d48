//! A store that fails: what was committed can be read, what failed is not there, and what is tried
//! again is there once.

use super::model::{Act, Case, Run, acts, case};
use super::shared::{Done, Fault};
use proptest::prelude::*;
use striae_core::sion::Attributes;
use striae_kit::hosts::stride;

fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (sealed, ahead, keyval) in
        [(false, 0, false), (true, 0, false), (false, 2, true), (true, 1, true), (false, 3, false)]
    {
        let attributes = Attributes { keyval, ..Attributes::default() };
        let tasks = vec![(0, 100), (1, 37), (2, 0)];
        cases.push(Case { attributes, tasks, sealed, ahead, window: 1076, ledger: 64 });
    }
    cases
}

fn script(case: &Case) -> Vec<Act> {
    let write = |task, len| match case.attributes.keyval {
        true => Act::Key { task, key: u64::MAX, len },
        false => Act::Write { task, len },
    };
    let space = if case.attributes.keyval { Act::Commit } else { Act::Space { task: 0, len: 90 } };
    vec![
        write(0, 30),
        write(1, 90),
        Act::Commit,
        write(0, 500), // far beyond the first commit
        Act::Commit,
        write(1, 20),
        space,
        Act::Close,
        write(1, 300),
        Act::Commit,
        Act::Commit,
        Act::Close,
        Act::Reopen,
        write(0, 250),
        write(1, 1),
        Act::Close,
    ]
}

#[test]
fn what_failed_can_be_tried_again_and_is_there_once() {
    let mut faults = 0;
    for case in cases() {
        let acts = script(&case);
        let good = Run::of(&case, &acts, &[], true);
        assert!(good.holds_all());
        for at in (0..good.store.changes()).step_by(stride(3)) {
            for done in [Done::Nothing, Done::Half, Done::All] {
                let run = Run::of(&case, &acts, &[Fault { at, done }], true);
                assert!(run.holds_all(), "{at} {done:?}");
                faults += run.failures;
            }
        }
    }
    println!("{faults} faults, all data there once");
    assert!(faults > 800 / stride(3), "{faults}");
}

#[test]
fn a_writer_goes_on_after_what_failed() {
    for case in cases().into_iter().take(3) {
        let acts = script(&case);
        let changes = Run::of(&case, &acts, &[], false).store.changes();
        for at in (0..changes).step_by(stride(3)) {
            for done in [Done::Nothing, Done::Half, Done::All] {
                // the next commit fails as well, at any of its steps
                for distance in [1, 3] {
                    let faults = [Fault { at, done }, Fault { at: at + distance, done }];
                    let mut acts = acts.clone();
                    acts.extend([Act::Close, Act::Close, Act::Close]);
                    let run = Run::of(&case, &acts, &faults, false);
                    assert!(run.holds_all(), "{at} {done:?} {distance}");
                }
            }
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    let done = prop_oneof![Just(Done::Nothing), Just(Done::Half), Just(Done::All)];
    (0..300usize, done).prop_map(|(at, done)| Fault { at, done })
}

proptest! {
    #![proptest_config(crate::config(100))]

    #[test]
    fn no_row_of_faults_loses_a_commit(
        (case, mut acts) in case().prop_flat_map(|case| (Just(case.clone()), acts(&case, 40))),
        faults in prop::collection::vec(fault(), 0..20),
        tries_again in any::<bool>(),
    ) {
        acts.extend([Act::Commit; 21]);
        let run = Run::of(&case, &acts, &faults, tries_again);
        prop_assert!(run.holds_all());
    }
}
