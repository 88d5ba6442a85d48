//! Ranks that are threads, in a time that a test does not have to wait for, and what becomes of
//! them when one has a fault.

use crate::common::faulty::{Fault, Faulty, INJECTED};
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error, Threads};

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) fn world(size: u32) -> Threads {
    Threads::new(size).deadline(DEADLINE).virtual_time()
}

/// Runs `work` as all ranks, of which none panics.
pub(crate) fn ranks<R: Send>(size: u32, work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    all(world(size), work)
}

/// As [`ranks`], in this world.
pub(crate) fn all<R: Send>(world: Threads, work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    world.run(work).into_iter().map(Result::unwrap).collect()
}

/// A rank, the number of its operation, and what happens at it.
pub(crate) type Case = (u32, u32, Fault);

/// What became of a rank: what it noted, its result unless it panicked, and the number of its
/// operations.
pub(crate) type Outcome<N> = (N, Option<Result<(), Error>>, u32);

/// Runs `work` as all ranks, some of which have faults. With `only_collectives`, messages are no
/// operations. `work` may note how far it has come.
pub(crate) fn with_faults<N: Default + Send>(
    world: Threads,
    faults: &[Case],
    only_collectives: bool,
    work: impl Fn(Faulty<Rank>, &mut N) -> Result<(), Error> + Sync,
) -> Vec<Outcome<N>> {
    all(world, |rank| {
        let fault = faults.iter().find(|fault| fault.0 == rank.rank());
        let rank = Faulty::new(rank, fault.map(|(_, at, kind)| (*at, *kind)), sleep);
        let rank = if only_collectives { rank.only_collectives() } else { rank };
        let (count, mut note) = (rank.count(), N::default());
        let result = match std::panic::catch_unwind(AssertUnwindSafe(|| work(rank, &mut note))) {
            Ok(result) => Some(result),
            Err(panic) if panic.downcast_ref() == Some(&"injected") => None,
            Err(panic) => std::panic::resume_unwind(panic), // of an assertion
        };
        (note, result, count())
    })
}

fn sleep(rank: &Rank, fault: Fault) {
    let time = if fault == Fault::Vanish { Duration::MAX } else { 2 * DEADLINE };
    rank.transport().sleep(time);
}

/// Gives each rank each kind of fault at each of its operations. All ranks that are left must get
/// the same error, which is that of this rank. `after` looks at what is left after each run.
pub(crate) fn sweep(
    size: u32,
    work: impl Fn(Faulty<Rank>) -> Result<(), Error> + Sync,
    mut after: impl FnMut(Case),
) {
    Sweep::new(size).run(|| {}, |rank, (): &mut ()| work(rank), |case, ()| after(case));
}

/// As [`sweep`], with other settings.
pub(crate) struct Sweep<N> {
    pub(crate) world: Threads,
    /// The ranks that have faults, and their kinds.
    pub(crate) ranks: Vec<u32>,
    pub(crate) faults: Vec<Fault>,
    /// What all ranks note when nothing happens.
    pub(crate) whole: N,
}

impl<N: Copy + Debug + Default + PartialEq + Send> Sweep<N> {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            world: world(size),
            ranks: (0..size).collect(),
            faults: vec![Fault::Fail, Fault::Panic, Fault::Lag, Fault::Vanish],
            whole: N::default(),
        }
    }

    /// `before` makes what each run starts with. `after` also gets what all ranks noted.
    pub(crate) fn run(
        &self,
        mut before: impl FnMut(),
        work: impl Fn(Faulty<Rank>, &mut N) -> Result<(), Error> + Sync,
        mut after: impl FnMut(Case, N),
    ) {
        for &fault in &self.faults {
            // A rank that fails to send a message is lost: a fault of the message layer.
            let only_collectives = fault == Fault::Fail;
            let mut run = |faults: &[Case]| {
                before();
                with_faults(self.world.clone(), faults, only_collectives, &work)
            };
            let whole = run(&[]);
            let is_whole =
                |(note, result, _): &Outcome<N>| *note == self.whole && *result == Some(Ok(()));
            assert!(whole.iter().all(is_whole), "{whole:?}");
            for &rank in &self.ranks {
                let operations = whole[rank as usize].2;
                assert!(operations > 0, "no fault of rank {rank} is tried");
                for at in 0..operations {
                    let case = (rank, at, fault);
                    let note = self.check(case, &run(&[case]));
                    after(case, note);
                }
            }
        }
    }

    /// What all ranks noted.
    fn check(&self, case: Case, done: &[Outcome<N>]) -> N {
        let (rank, _, fault) = case;
        let errors = done.iter().filter_map(|(_, result, _)| result.clone());
        let errors: Vec<Error> = errors.map(Result::unwrap_err).collect();
        assert_eq!(errors.len(), done.len() - usize::from(fault == Fault::Panic), "{case:?}");
        assert!(errors.iter().all(|error| *error == errors[0]), "{case:?}: {errors:?}");
        let code = if fault == Fault::Fail { INJECTED } else { Code::Lost };
        assert_eq!(
            (errors[0].code(), errors[0].rank()),
            (code, Some(rank)),
            "{case:?}: {errors:?}"
        );
        let note = done[0].0;
        assert!(done.iter().all(|(other, ..)| *other == note), "{case:?}: {done:?}");
        note
    }
}
