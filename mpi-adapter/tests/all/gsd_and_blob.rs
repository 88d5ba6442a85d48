//! A program that writes and reads a GSD file and a blob set: whatever happens to a rank at any
//! operation, all others get the same error.

use crate::common::faulty::{Fault, Faulty, INJECTED};
use crate::common::gsd_and_blob;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use striae::gsd::Durability;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Error, Threads};

/// In virtual time, which a test does not have to wait for.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs `work` as all ranks, of which none panics.
fn ranks<R: Send>(size: u32, work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    let world = Threads::new(size).deadline(DEADLINE).virtual_time();
    world.run(work).into_iter().map(Result::unwrap).collect()
}

fn sleep(rank: &Rank, fault: Fault) {
    let time = if fault == Fault::Vanish { Duration::MAX } else { 2 * DEADLINE };
    rank.transport().sleep(time);
}

#[test]
fn the_files_are_read_as_they_were_written() {
    for size in [1, 2, 3, 5, 8] {
        let folder = tempfile::tempdir().unwrap();
        let done = ranks(size, |comm| {
            gsd_and_blob::write_and_read(comm, folder.path(), Durability::OnCommit)
        });
        assert_eq!(done, vec![Ok(()); size as usize]);
        gsd_and_blob::check(folder.path(), size);
    }
}

/// What became of a rank: its result, unless it panicked, and its operations.
type Outcome = (Option<Result<(), Error>>, u32);

fn run(size: u32, fault: Option<(u32, u32, Fault)>) -> Vec<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    ranks(size, |rank| {
        let fault = fault.filter(|fault| fault.0 == striae_mpi::Collective::rank(&rank));
        let rank = Faulty::new(rank, fault.map(|(_, at, kind)| (at, kind)), sleep);
        let rank = rank.only_collectives();
        let count = rank.count();
        let program = || gsd_and_blob::write_and_read(rank, folder.path(), Durability::None);
        let result = match std::panic::catch_unwind(AssertUnwindSafe(program)) {
            Ok(result) => Some(result),
            Err(panic) if panic.downcast_ref() == Some(&"injected") => None,
            Err(panic) => std::panic::resume_unwind(panic), // of an assertion
        };
        (result, count())
    })
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error() {
    let mut runs = 0;
    for (rank, (result, count)) in (0..).zip(run(3, None)) {
        assert_eq!(result, Some(Ok(())));
        for at in 0..count {
            for fault in [Fault::Fail, Fault::Panic, Fault::Lag, Fault::Vanish] {
                check((rank, at, fault), &run(3, Some((rank, at, fault))));
                runs += 1;
            }
        }
    }
    assert!(runs > 400, "{runs}");
}

fn check(case: (u32, u32, Fault), done: &[Outcome]) {
    let (_, _, fault) = case;
    let errors = done.iter().filter_map(|(result, _)| result.clone());
    let errors: Vec<Error> = errors.map(Result::unwrap_err).collect();
    assert_eq!(errors.len(), done.len() - usize::from(fault == Fault::Panic), "{case:?}");
    assert!(errors.iter().all(|error| *error == errors[0]), "{case:?}: {errors:?}");
    let code = if fault == Fault::Fail { INJECTED } else { Code::Lost };
    assert_eq!(errors[0].code(), code, "{case:?}: {errors:?}");
}
