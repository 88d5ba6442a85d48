//! Whatever happens to any rank at any operation, every other rank gets an equal error, and none
//! waits for ever.

use crate::common::faulty::{Fault, INJECTED};
use crate::common::program::program;
use crate::world::{Case, DEADLINE, Outcome, all, with_faults};
use proptest::prelude::*;
use std::time::Duration;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error, Failure, Threads};

const FAULTS: [Fault; 4] = [Fault::Fail, Fault::Panic, Fault::Lag, Fault::Vanish];

fn world(size: u32) -> Threads {
    crate::world::world(size).ranks_per_node(2)
}

/// Runs the program with faults.
fn run(size: u32, faults: &[Case]) -> Vec<Outcome<()>> {
    with_faults(world(size), faults, false, |rank, ()| program(rank))
}

/// How many operations each rank has if nothing fails.
fn counts(size: u32) -> Vec<u32> {
    let done = run(size, &[]);
    assert!(done.iter().all(|(_, result, _)| *result == Some(Ok(()))), "{done:?}");
    done.into_iter().map(|(.., count)| count).collect()
}

#[test]
fn whatever_happens_to_a_rank_at_an_operation_all_ranks_get_one_error() {
    let mut runs = 0;
    for size in 1..=4 {
        for (rank, count) in (0..size).zip(counts(size)) {
            assert!(count > 15, "the program has every operation");
            for at in 0..count {
                for fault in FAULTS {
                    let case = (rank, at, fault);
                    check(case, &run(size, &[case]));
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 600, "{runs}");
}

fn check((rank, at, fault): Case, done: &[Outcome<()>]) {
    let case = || format!("rank {rank} of {} at {at}, {fault:?}: {done:#?}", done.len());
    let is_alone = done.len() == 1 && matches!(fault, Fault::Lag | Fault::Vanish);
    if is_alone {
        return assert_eq!(done[0].1, Some(Ok(())), "nobody waits for it: {}", case());
    }
    let errors = done.iter().filter_map(|(_, result, _)| result.clone());
    let errors: Vec<Error> = errors.map(|result| result.expect_err(&case())).collect();
    assert_eq!(errors.len(), done.len() - usize::from(fault == Fault::Panic), "{}", case());
    let Some(first) = errors.first() else { return };
    assert!(errors.iter().all(|error| error == first), "{}", case());
    match (first.code(), fault) {
        (INJECTED, Fault::Fail) => {
            assert_eq!(first.text(), "injected");
            assert_eq!(first.rank(), Some(rank), "{}", case());
        }
        // It did not send or receive, so it is its peer that waited for too long.
        (Code::Lost, Fault::Fail) => {}
        (Code::Lost, _) => assert_eq!(first.rank(), Some(rank), "{}", case()),
        _ => panic!("{}", case()),
    }
}

/// Faults at the first `count` operations, which every rank has.
fn faults(size: u32, count: u32) -> impl Strategy<Value = Vec<Case>> {
    let fault = (0..size, 0..count, proptest::sample::select(FAULTS.to_vec()));
    proptest::collection::vec(fault, 1..5)
}

proptest! {
    #![proptest_config(crate::config(60))]

    #[test]
    fn several_faults_of_a_larger_world_are_one_error_as_well(
        (size, faults) in (5_u32..24).prop_flat_map(|size| (Just(size), faults(size, 19))),
    ) {
        let done = run(size, &faults);
        let mut errors = done.iter().filter_map(|(_, result, _)| result.as_ref());
        if let Some(first) = errors.next() {
            prop_assert!(first.is_err());
            prop_assert!(errors.all(|error| error == first), "{done:#?}");
        }
    }
}

#[test]
fn the_lowest_rank_that_failed_counts() {
    let failure = |rank: u32| match rank {
        2 => Err(Failure::new(Code::Full, "second")),
        3 => Err(Failure::new(Code::Io(28), "third")),
        _ => Ok(()),
    };
    for error in all(world(5), |comm| comm.agree(failure(comm.rank())).unwrap_err()) {
        assert_eq!((error.rank(), error.code(), error.text()), (Some(2), Code::Full, "second"));
        assert_eq!(error.to_string(), "rank 2: second");
    }
}

#[test]
fn a_poisoned_communicator_returns_its_error_without_a_message() {
    let done = all(world(3), |comm| {
        let failed = if comm.rank() == 1 { Err(Failure::new(INJECTED, "no")) } else { Ok([1]) };
        let error = comm.total(failed).unwrap_err();
        let calls = comm.calls();
        // Only rank 0 goes on: nothing here waits for the others.
        if comm.rank() == 0 {
            assert_eq!(comm.agree(Ok(())).unwrap_err(), error);
            assert_eq!(comm.bcast(0, Ok(b"x"), 1).unwrap_err(), error);
            assert_eq!(comm.send(2, b"x").unwrap_err().code(), INJECTED);
            assert_eq!(comm.split(Ok(0)).unwrap_err(), error);
            assert_eq!(comm.calls(), calls);
        }
        assert_eq!(comm.error(), Some(error));
        calls
    });
    assert_eq!(done, [2; 3]); // the fold, and the failure of rank 1
}

#[test]
fn a_part_that_is_kept_is_found_under_its_number_once() {
    all(world(4), |comm| {
        let part = comm.split(Ok(comm.rank() & 1)).unwrap();
        comm.keep(7, part);
        assert!(comm.kept(8).is_none());
        let part = comm.kept(7).unwrap();
        assert_eq!((part.size(), part.total(Ok([1])).unwrap()), (2, [2]));
        assert!(comm.kept(7).is_none());
        comm.keep(7, part);
        comm.free(Ok(())).unwrap(); // and the part
    });
}

#[test]
fn an_error_of_a_part_does_not_poison_the_whole() {
    let done = all(world(4), |comm| {
        let part = comm.split(Ok(comm.rank() / 2))?;
        let mine = if comm.rank() == 3 { Err(Failure::new(INJECTED, "no")) } else { Ok(()) };
        let part = part.agree(mine);
        assert_eq!(part.is_err(), comm.rank() >= 2);
        let [failed] = comm.total(Ok([u64::from(part.is_err())]))?;
        assert_eq!(failed, 2);
        comm.agree(part.map_err(Failure::from)) // with the rank in the world, not in the part
    });
    let error = done[0].clone().unwrap_err();
    assert_eq!((error.rank(), error.code()), (Some(3), INJECTED));
    assert!(done.iter().all(|other| *other == done[0]));
}

#[test]
fn a_part_has_its_ranks_in_the_order_of_keys_and_then_of_ranks() {
    let done = all(world(5), |comm| {
        let rank = comm.rank();
        let key = [7, 3, 300, 3, 0][rank as usize];
        let part = comm.split_ordered(Ok((rank / 4, key))).unwrap();
        assert_eq!(part.split_ordered(Ok((0, 1 << 31))).unwrap_err().code(), Code::Refused);
        (part.size(), part.rank())
    });
    assert_eq!(done, [(4, 2), (4, 0), (4, 3), (4, 1), (1, 0)]);
}

#[test]
fn sums_below_2_to_64_are_exact_and_others_are_an_error() {
    let sum =
        |values: [u64; 3]| all(world(3), |comm| comm.total(Ok([values[comm.rank() as usize], 1])));
    assert_eq!(sum([u64::MAX - 2, 1, 1]), vec![Ok([u64::MAX, 3]); 3]);
    for error in sum([u64::MAX, 0, 1]) {
        assert_eq!(error.unwrap_err().code(), Code::Overflow);
    }
    let decided = |comm: Rank| comm.decide(Ok([u64::MAX]), [striae_mpi::Fold::Sum], Ok);
    for error in all(world(2), decided) {
        assert_eq!(error.unwrap_err().code(), Code::Overflow);
    }
    // Nothing is done for a sum that there is not.
    let scanned = |comm: Rank| comm.exscan_after(Ok([u64::MAX]), || panic!("it ran"));
    for error in all(world(2), scanned) {
        assert_eq!(error.unwrap_err().code(), Code::Overflow);
    }
}

#[test]
fn a_message_that_is_too_long_is_an_error_and_not_a_wrong_length() {
    let bcast = |comm: Rank| comm.bcast(1, Ok(&[7; 9]), 8).unwrap_err();
    for error in all(world(3), bcast) {
        assert_eq!((error.rank(), error.code()), (Some(1), Code::TooLong));
    }
    // The root of a gather takes at most its own window.
    let gather = |comm: Rank| {
        let window = if comm.rank() == 0 { 4 } else { 5 };
        comm.gather(0, Ok(&[1; 5]), window, |_, _| Ok(())).unwrap_err()
    };
    for error in all(world(3), gather) {
        assert_eq!((error.rank(), error.code()), (Some(0), Code::TooLong));
    }
}

#[test]
fn a_failure_of_the_sink_ends_a_gather_for_all() {
    let gather = |comm: Rank| {
        let mut pieces = 0;
        let done = comm.gather(1, Ok(&[comm.rank() as u8; 10]), 4, |from, _| {
            pieces += 1;
            if from == 2 { Err(Failure::new(Code::Io(28), "full")) } else { Ok(()) }
        });
        (done.unwrap_err().code(), pieces)
    };
    // Rank 0 and rank 1 give three pieces each, rank 2 one, and rank 3 is not asked.
    assert_eq!(all(world(4), gather).into_iter().map(|(_, n)| n).sum::<u32>(), 7);
    assert!(all(world(4), gather).into_iter().all(|(code, _)| code == Code::Io(28)));
}

#[test]
fn after_an_abort_every_collective_fails() {
    let done = all(world(3), |comm| match comm.rank() {
        2 => comm.abort(9),
        _ => loop {
            if let Err(error) = comm.agree(Ok(())) {
                break error;
            }
        },
    });
    assert!(done.iter().all(|error| *error == done[0]));
    assert_eq!((done[0].rank(), done[0].code()), (Some(2), Code::Aborted(9)));
}

#[test]
fn a_real_deadline_ends_a_wait() {
    // Rank 1 waits for its turn on a channel, not for a time.
    let (turn, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let turn = std::sync::Mutex::new(Some(turn));
    let done = all(Threads::new(2).deadline(Duration::from_millis(1)), |comm| {
        if comm.rank() == 1 {
            let _ = wait.lock().unwrap().recv(); // an error: the sender is dropped
        }
        let done = comm.agree(Ok(()));
        drop(turn.lock().unwrap().take());
        done.unwrap_err()
    });
    assert_eq!(done[0], done[1]);
    assert_eq!((done[0].rank(), done[0].code()), (Some(1), Code::Lost));
}

#[test]
fn a_failure_keeps_a_long_path_and_its_reason() {
    let text = "é".repeat(3000);
    let fail = |comm: Rank| comm.agree::<()>(Err(Failure::new(Code::Refused, &text))).unwrap_err();
    for error in all(world(2), fail) {
        assert_eq!(error.text(), "é".repeat(2296)); // 4095 bytes of a path, and more than 490
    }
}

#[test]
fn ranks_that_answer_get_a_communicator_of_their_own() {
    let done = all(world(5), |rank| {
        let me = rank.rank();
        match me {
            1 => return (me, None), // it is gone
            3 => rank.transport().sleep(Duration::MAX),
            _ => assert_eq!(rank.agree(Ok(())).unwrap_err().code(), Code::Lost),
        }
        let left = match rank.shrink() {
            Ok(left) => left,
            Err(error) => {
                assert_eq!((error.code(), error.rank(), me), (Code::Lost, Some(3), 3));
                return (me, None);
            }
        };
        let both = left.total(Ok([me.into()])).unwrap();
        // A rank that leaves later is not among those that are left of them, nor of all.
        if me == 4 {
            return (me, Some((left.rank(), left.size(), both)));
        }
        assert_eq!(left.agree(Ok(())).unwrap_err().rank(), Some(4));
        let [two, again] = [left.shrink().unwrap(), rank.shrink().unwrap()];
        assert_eq!((two.size(), again.size()), (2, 2));
        assert_eq!(two.total(Ok([1])), again.total(Ok([1])));
        two.split(Ok(0)).unwrap().agree(Ok(())).unwrap();
        (me, Some((left.rank(), left.size(), both)))
    });
    let expected = [Some((0, 3, [6])), None, Some((1, 3, [6])), None, Some((2, 3, [6]))];
    assert!(done.into_iter().map(|(_, result)| result).eq(expected));
}

#[test]
fn a_rank_that_is_late_is_left_out_or_goes_on_with_the_others() {
    let sizes = all(world(3), |rank| {
        if rank.rank() == 0 {
            rank.transport().sleep(3 * DEADLINE);
        }
        rank.agree(Ok(())).unwrap_err();
        rank.shrink().map(|left| left.total(Ok([1])).unwrap())
    });
    assert_eq!(sizes[0].as_ref().unwrap_err().code(), Code::Lost);
    assert_eq!(sizes[1..], [Ok([2]), Ok([2])]);
}
