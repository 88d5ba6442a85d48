//! Ranks that are threads, in a time that a test does not have to wait for.

use crate::common::faulty::{Fault, Faulty, INJECTED};
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Error, Threads};

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) fn sleep(rank: &Rank, fault: Fault) {
    let time = if fault == Fault::Vanish { Duration::MAX } else { 2 * DEADLINE };
    rank.transport().sleep(time);
}

/// Runs `work` as all ranks, of which none panics.
pub(crate) fn ranks<R: Send>(size: u32, work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    let world = Threads::new(size).deadline(DEADLINE).virtual_time();
    world.run(work).into_iter().map(Result::unwrap).collect()
}

/// What became of a rank: its result unless it panicked, and the number of its operations.
type Outcome = (Option<Result<(), Error>>, u32);

/// Runs `work` as all ranks, one of which has a fault at one of its operations: a rank, the number
/// of its operation, and what happens at it. A rank whose own work fails does so at a collective:
/// messages have no results.
fn run(
    size: u32,
    kind: Fault,
    fault: Option<(u32, u32, Fault)>,
    work: impl Fn(Faulty<Rank>) -> Result<(), Error> + Sync,
) -> Vec<Outcome> {
    ranks(size, |rank| {
        let fault = fault.filter(|fault| fault.0 == striae_mpi::Collective::rank(&rank));
        let rank = Faulty::new(rank, fault.map(|(_, at, kind)| (at, kind)), sleep);
        let rank = if kind == Fault::Fail { rank.only_collectives() } else { rank };
        let count = rank.count();
        let result = match std::panic::catch_unwind(AssertUnwindSafe(|| work(rank))) {
            Ok(result) => Some(result),
            Err(panic) if panic.downcast_ref() == Some(&"injected") => None,
            Err(panic) => std::panic::resume_unwind(panic), // of an assertion
        };
        (result, count())
    })
}

/// Gives each rank each kind of fault at each of its operations. All ranks that are left must get
/// the same error, which is that of this rank. `after` looks at what is left after each run.
pub(crate) fn sweep(
    size: u32,
    work: impl Fn(Faulty<Rank>) -> Result<(), Error> + Sync,
    after: impl FnMut((u32, u32, Fault)),
) {
    sweep_of([Fault::Fail, Fault::Panic, Fault::Lag, Fault::Vanish], size, work, after);
}

/// As [`sweep`], with these kinds of faults.
pub(crate) fn sweep_of<const N: usize>(
    faults: [Fault; N],
    size: u32,
    work: impl Fn(Faulty<Rank>) -> Result<(), Error> + Sync,
    mut after: impl FnMut((u32, u32, Fault)),
) {
    for fault in faults {
        let whole = run(size, fault, None, &work);
        assert!(whole.iter().all(|(result, _)| *result == Some(Ok(()))), "{whole:?}");
        for rank in 0..size {
            for at in 0..whole[rank as usize].1 {
                let case = (rank, at, fault);
                let done = run(size, fault, Some(case), &work);
                let errors = done.iter().filter_map(|(result, _)| result.clone());
                let errors: Vec<Error> = errors.map(Result::unwrap_err).collect();
                let left = done.len() - usize::from(fault == Fault::Panic);
                assert_eq!(errors.len(), left, "{case:?}");
                assert!(errors.iter().all(|error| *error == errors[0]), "{case:?}: {errors:?}");
                let code = if fault == Fault::Fail { INJECTED } else { Code::Lost };
                assert_eq!((errors[0].code(), errors[0].rank()), (code, Some(rank)), "{case:?}");
                after(case);
            }
        }
    }
}
