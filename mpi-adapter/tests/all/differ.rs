//! Ranks that do not do the same thing: all get one error, before any of them does anything.

use crate::common::calls::{self, KINDS, State};
use crate::common::options;
use crate::world::ranks;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error, Fold, Threads};

const SIZES: [u32; 3] = [2, 3, 8];

/// The ranks of all sizes: each is once the one that does other than the rest.
const OTHERS: u32 = 2 + 3 + 8;

/// All ranks that are left have the same error; returns it.
fn one_error(errors: Vec<Option<Error>>, case: &str) -> Error {
    let errors: Vec<Error> = errors.into_iter().flatten().collect();
    assert!(errors.iter().all(|error| *error == errors[0]), "{case}: {errors:?}");
    errors[0].clone()
}

/// One rank makes another call than the rest, for each pair of calls of a state.
fn every_pair(state: State) -> u32 {
    let mut cases = 0;
    for size in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let is_of_prepared = !matches!(state, State::Sion(_) | State::Gsd | State::Blob);
        if is_of_prepared {
            ranks(size, |comm| calls::prepare(comm, folder).map(drop).unwrap());
        }
        let before = calls::snapshot(folder);
        for other in 0..size {
            for (call, of_other) in calls::pairs(state) {
                let case = format!("{state:?}: {of_other} by rank {other} of {size}, else {call}");
                let errors = ranks(size, |comm| {
                    let call = if comm.rank() == other { of_other } else { call };
                    calls::make(comm, state, call, folder)
                });
                let error = one_error(errors, &case);
                let gone = [call, of_other].contains(&"drop");
                let code = if gone { Code::Lost } else { Code::Differ };
                let rank = error.rank().unwrap();
                let is_right = match call {
                    "drop" => rank != other, // the first of them that was noticed
                    // Only the ranks of a file meet, so the lowest of them is compared with.
                    "write_all" if calls::is_of_several(state) => rank < size,
                    _ if of_other == "write_all" && calls::is_of_several(state) => rank < size,
                    _ if of_other == "drop" => rank == other,
                    _ => rank == other.max(1), // the lowest that differs from rank 0
                };
                assert!(error.code() == code && is_right, "{case}: {error}");
                match state {
                    _ if is_of_prepared => assert!(calls::snapshot(folder) == before, "{case}"),
                    _ => calls::check(state, folder, size, [call, of_other]),
                }
                cases += 1;
            }
        }
    }
    cases
}

#[test]
fn one_rank_that_opens_or_makes_another_file_is_one_error_and_nothing_is_touched() {
    assert_eq!(every_pair(State::Fresh), 10 * 9 * OTHERS);
}

#[test]
fn one_rank_that_makes_another_call_on_a_sion_set_leaves_the_last_commit() {
    for kind in KINDS {
        assert_eq!(every_pair(State::Sion(kind)), 6 * 5 * OTHERS);
    }
}

#[test]
fn one_rank_that_makes_another_call_on_a_gsd_file_leaves_the_last_commit() {
    assert_eq!(every_pair(State::Gsd), 5 * 4 * OTHERS);
}

#[test]
fn one_rank_that_makes_another_call_on_a_blob_set_leaves_no_file() {
    assert_eq!(every_pair(State::Blob), 3 * 2 * OTHERS);
}

#[test]
fn one_rank_that_makes_another_call_on_a_file_that_all_read_is_one_error() {
    assert_eq!(every_pair(State::SionReader), 3 * 2 * OTHERS);
    assert_eq!(every_pair(State::GsdReader), 4 * 3 * OTHERS);
    assert_eq!(every_pair(State::BlobReader), 4 * 3 * OTHERS);
    assert_eq!(every_pair(State::Batches), 3 * 2 * OTHERS);
}

#[test]
fn one_rank_with_another_option_is_one_error_and_nothing_is_touched() {
    let mut cases = 0;
    for size in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        ranks(size, |comm| calls::prepare(comm, folder).map(drop).unwrap());
        let before = calls::snapshot(folder);
        for other in 0..size {
            for group in options::GROUPS {
                for option in 1..options::count(group) {
                    let case = format!("{group} {option} by rank {other} of {size}");
                    let errors = ranks(size, |comm| {
                        let option = if comm.rank() == other { option } else { 0 };
                        Some(options::call(comm, group, option, folder).unwrap_err())
                    });
                    let error = one_error(errors, &case);
                    let expected = (Code::Differ, Some(other.max(1)));
                    assert_eq!((error.code(), error.rank()), expected, "{case}: {error}");
                    assert!(calls::snapshot(folder) == before, "{case}");
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, options::TOTAL * OTHERS);
}

type Step = (&'static str, fn(&Rank) -> Result<(), Error>);

/// The collectives of a communicator.
const STEPS: [Step; 7] = [
    ("combine", |comm| comm.combine(Ok([1]), [Fold::Max]).map(drop)),
    ("decide", |comm| comm.decide(Ok([1]), [Fold::Max], |_| Ok([2])).map(drop)),
    ("exscan", |comm| comm.agree(comm.exscan(Ok([1])).map(drop))),
    ("bcast", |comm| comm.bcast(0, Ok(b"x"), 1).map(drop)),
    ("bcast of another rank", |comm| comm.bcast(1, Ok(b"x"), 1).map(drop)),
    ("split", |comm| comm.split(Ok(0)).map(drop)),
    ("node", |comm| comm.node(Ok(())).map(drop)),
];

#[test]
fn ranks_that_call_different_collectives_get_one_error_without_a_deadline() {
    let mut cases = 0;
    for size in SIZES {
        for other in 0..size {
            for (name, call) in STEPS {
                for (of_other, other_call) in STEPS {
                    let errors = Threads::new(size).run(|comm| {
                        let is_other = comm.rank() == other;
                        if is_other { other_call(&comm) } else { call(&comm) }.err()
                    });
                    let errors: Vec<_> = errors.into_iter().map(Result::unwrap).collect();
                    let case = format!("{of_other} by rank {other} of {size}, else {name}");
                    if name == of_other {
                        assert!(errors.iter().all(Option::is_none), "{case}: {errors:?}");
                        continue;
                    }
                    assert_eq!(errors.iter().flatten().count(), size as usize, "{case}");
                    let error = one_error(errors, &case);
                    let lowest = if other == 0 { 1 } else { other };
                    assert_eq!(
                        (error.code(), error.rank()),
                        (Code::Differ, Some(lowest)),
                        "{case}"
                    );
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 7 * 6 * OTHERS);
}
