//! Ranks that share nothing but a file: whatever happens to one of them, all others get the same
//! error, and the file is that of a commit.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

#[path = "common/faulty.rs"]
mod faulty;

use faulty::{Fault, Faulty, INJECTED};
use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;
use striae::Verify;
use striae::sion::File;
use striae::sion::verify::{Sealing, state};
use striae_mpi::sion::FileWriter;
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error, Threads};

const RANKS: u32 = 4;
const CHUNK: u64 = 512;

/// In virtual time, which a test does not have to wait for.
const DEADLINE: Duration = Duration::from_secs(30);

fn world() -> Threads {
    Threads::new(RANKS).deadline(DEADLINE).virtual_time()
}

fn sleep(rank: &Rank, fault: Fault) {
    let time = if fault == Fault::Vanish { Duration::MAX } else { 2 * DEADLINE };
    rank.transport().sleep(time);
}

/// Runs `work` as all ranks, of which none panics.
fn ranks<R: Send>(work: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    world().run(work).into_iter().map(Result::unwrap).collect()
}

/// What rank `rank` writes in round `round`: another length for each.
fn bytes(rank: u32, round: u32) -> Vec<u8> {
    let len = (rank * 331 + round * 190) % 1500;
    (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
}

fn expected(rank: u32, rounds: u32) -> Vec<u8> {
    (0..rounds).flat_map(|round| bytes(rank, round)).collect()
}

fn write<C: Collective>(file: &mut FileWriter<C>, rank: u32, round: u32) -> Result<(), Error> {
    let bytes = bytes(rank, round);
    file.advance(bytes.len() as u64)?;
    file.write(&bytes).unwrap();
    Ok(())
}

/// Three rounds, two commits and the close. `committed` is how many rounds are in the file.
fn program<C: Collective>(
    comm: C,
    path: &Path,
    sealed: bool,
    committed: &Cell<u32>,
) -> Result<(), Error> {
    let rank = comm.rank();
    let mut file = FileWriter::create(comm, path, 512, CHUNK, sealed)?;
    for round in 0..3 {
        write(&mut file, rank, round)?;
        if round < 2 {
            file.commit()?;
            committed.set(round + 1);
        }
    }
    file.close()?;
    committed.set(3);
    Ok(())
}

/// What became of a rank: committed rounds, its result unless it panicked, and its operations.
type Outcome = (u32, Option<Result<(), Error>>, u32);

fn run(path: &Path, sealed: bool, fault: Option<(u32, u32, Fault)>) -> Vec<Outcome> {
    ranks(|rank| {
        let fault = fault.filter(|fault| fault.0 == rank.rank());
        let rank = Faulty::new(rank, fault.map(|(_, at, kind)| (at, kind)), sleep);
        let (count, committed) = (rank.count(), Cell::new(0));
        let program = || program(rank, path, sealed, &committed);
        let result = std::panic::catch_unwind(AssertUnwindSafe(program));
        let result = match result {
            Ok(result) => Some(result),
            Err(panic) if panic.downcast_ref() == Some(&"injected") => None,
            Err(panic) => std::panic::resume_unwind(panic), // of an assertion
        };
        (committed.get(), result, count())
    })
}

fn rounds_in(path: &Path, allowed: [u32; 2]) -> Option<u32> {
    let file = File::open(path).unwrap();
    let is = |rounds: u32| {
        (0..RANKS).all(|rank| {
            let mut found = Vec::new();
            file.stream(rank.into()).unwrap().read_to_end(&mut found).unwrap();
            found == expected(rank, rounds)
        })
    };
    allowed.into_iter().find(|rounds| is(*rounds))
}

fn check(path: &Path, allowed: [u32; 2], sealed: bool) {
    assert!(rounds_in(path, allowed).is_some(), "not {allowed:?} rounds");
    let mut findings = Vec::new();
    let summary =
        Verify::new().sion(path, &mut |finding| findings.push(finding.to_string())).unwrap();
    assert!(summary.is_sound(), "{findings:?}");
    let sealing = if sealed { Sealing::Sealed } else { Sealing::None };
    assert_eq!(state(path).unwrap().sealing, sealing);
}

#[test]
fn a_file_takes_three_calls_to_make_and_three_to_commit() {
    for sealed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        ranks(|comm| {
            let rank = comm.rank();
            let mut file = FileWriter::create(comm, &path, 512, CHUNK, sealed).unwrap();
            assert_eq!(file.comm().calls(), 3);
            for round in 0..2 {
                write(&mut file, rank, round).unwrap();
                let before = file.comm().calls();
                file.commit().unwrap();
                assert_eq!(file.comm().calls(), before + 3);
            }
            write(&mut file, rank, 2).unwrap();
            file.close().unwrap();
        });
        check(&path, [3, 3], sealed);
    }
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error_and_the_file_is_that_of_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    for sealed in [false, true] {
        let whole = run(&path, sealed, None);
        assert!(whole.iter().all(|(rounds, result, _)| (*rounds, result) == (3, &Some(Ok(())))));
        for fault in [Fault::Fail, Fault::Panic, Fault::Lag, Fault::Vanish] {
            for rank in [0, 2, RANKS - 1] {
                for at in 0..whole[rank as usize].2 {
                    let case = (rank, at, fault);
                    let done = run(&path, sealed, Some(case));
                    check_case(case, &done, &path, sealed);
                }
            }
        }
    }
}

fn check_case(case: (u32, u32, Fault), done: &[Outcome], path: &Path, sealed: bool) {
    let (rank, _, fault) = case;
    let errors = done.iter().filter_map(|(_, result, _)| result.clone());
    let errors: Vec<Error> = errors.map(Result::unwrap_err).collect();
    assert_eq!(errors.len(), done.len() - usize::from(fault == Fault::Panic), "{case:?}");
    assert!(errors.iter().all(|error| *error == errors[0]), "{case:?}: {errors:?}");
    let code = if fault == Fault::Fail { INJECTED } else { Code::Lost };
    assert_eq!((errors[0].code(), errors[0].rank()), (code, Some(rank)), "{case:?}");
    // All know of the same commits. The one that failed may be in the file.
    let rounds = done[0].0;
    assert!(done.iter().all(|(other, ..)| *other == rounds), "{case:?}: {done:?}");
    if rounds > 0 {
        check(path, [rounds, rounds + 1], sealed);
    }
}

#[test]
fn a_file_that_cannot_be_made_is_the_error_of_rank_0_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no folder").join("a.sion");
    for (rounds, result, _) in run(&path, false, None) {
        let error = result.unwrap().unwrap_err();
        let not_found = Code::Io(2); // ENOENT
        assert_eq!((rounds, error.rank(), error.code()), (0, Some(0), not_found));
    }
}

#[test]
fn a_rank_cannot_write_where_meta2_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    ranks(|comm| {
        let rank = comm.rank();
        let mut file = FileWriter::create(comm, &path, 512, CHUNK, false).unwrap();
        file.commit().unwrap();
        let long = vec![1; 4 * CHUNK as usize];
        assert_eq!(file.write(&long).unwrap_err().kind(), ErrorKind::WouldBlock);
        let wanted = if rank == 2 { long.len() as u64 } else { 0 };
        file.advance(wanted).unwrap();
        if rank == 2 {
            file.write(&long).unwrap();
        }
        file.close().unwrap();
    });
    let file = File::open(&path).unwrap();
    for rank in 0..u64::from(RANKS) {
        let len = if rank == 2 { 4 * CHUNK } else { 0 };
        assert_eq!(file.stream(rank).unwrap().len(), len);
    }
}
