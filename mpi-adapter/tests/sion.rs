//! Eight ranks that share nothing but a file: whatever fails at one of them, all get the same
//! fault, and the file is the last commit.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;
use striae::Verify;
use striae::sion::File;
use striae::sion::verify::{Sealing, state};
use striae_mpi::collective::{All, Code, Collective, Fault, Fold, Mine};
use striae_mpi::sion::FileWriter;
use striae_mpi::threads::Member;

const RANKS: u32 = 8;
const CHUNK: u64 = 512;

/// Long enough for the slowest machine; no test waits for it.
const DEADLINE: Duration = Duration::from_secs(600);

/// A rank that fails at one of its collectives.
struct Failing {
    member: Member,
    /// Collectives so far.
    count: Cell<u32>,
    fails_at: Option<u32>,
}

const INJECTED: Code = Code(77);

impl Failing {
    fn turn<T>(&self, mine: Result<T, Code>) -> Result<T, Code> {
        let now = self.count.replace(self.count.get() + 1);
        if self.fails_at == Some(now) { Err(INJECTED) } else { mine }
    }
}

impl Collective for Failing {
    fn rank(&self) -> u32 {
        self.member.rank()
    }

    fn size(&self) -> u32 {
        self.member.size()
    }

    fn agree<const N: usize>(&self, mine: Mine<N>, fold: Fold) -> All<N> {
        self.member.agree(self.turn(mine), fold)
    }

    fn exscan(&self, mine: Result<u64, Code>) -> Result<(u64, u64), Fault> {
        self.member.exscan(self.turn(mine))
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Mine<N>,
        fold: Fold,
        work: impl FnOnce([u64; N]) -> [u64; M],
    ) -> All<M> {
        self.member.decide(self.turn(mine), fold, work)
    }
}

/// Runs `work` as all ranks. `fails` is a rank and the number of the collective where it fails.
fn ranks<R: Send>(fails: Option<(u32, u32)>, work: impl Fn(&Failing) -> R + Sync) -> Vec<(R, u32)> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = Member::of(RANKS, DEADLINE)
            .into_iter()
            .map(|member| {
                scope.spawn(|| {
                    let fails = fails.filter(|(rank, _)| *rank == member.rank());
                    let fails_at = fails.map(|(_, at)| at);
                    let rank = Failing { member, count: Cell::new(0), fails_at };
                    (work(&rank), rank.count.get())
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// What rank `rank` writes in round `round`: another length for each.
fn bytes(rank: u32, round: u32) -> Vec<u8> {
    let len = (rank * 331 + round * 190) % 1500;
    (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
}

fn expected(rank: u32, rounds: u32) -> Vec<u8> {
    (0..rounds).flat_map(|round| bytes(rank, round)).collect()
}

fn write(file: &mut FileWriter<&Failing>, rank: u32, round: u32) -> Result<(), Fault> {
    let bytes = bytes(rank, round);
    file.advance(bytes.len() as u64)?;
    file.write(&bytes).unwrap();
    Ok(())
}

/// Three rounds, two commits and the close. Returns how many rounds were committed, and the fault.
fn program(comm: &Failing, path: &Path, sealed: bool) -> (u32, Option<Fault>) {
    let rank = comm.member.rank();
    let mut committed = 0;
    let mut rounds = || {
        let mut file = FileWriter::create(comm, path, 512, CHUNK, sealed)?;
        for round in 0..3 {
            write(&mut file, rank, round)?;
            if round < 2 {
                file.commit()?;
                committed = round + 1;
            }
        }
        file.close()?;
        committed = 3;
        Ok(())
    };
    let fault = rounds().err();
    (committed, fault)
}

fn check(path: &Path, rounds: u32, sealed: bool) {
    let file = File::open(path).unwrap();
    for rank in 0..RANKS {
        let mut found = Vec::new();
        file.stream(rank.into()).unwrap().read_to_end(&mut found).unwrap();
        assert!(found == expected(rank, rounds), "rank {rank} after {rounds} rounds");
    }
    let mut findings = Vec::new();
    let summary =
        Verify::new().sion(path, &mut |finding| findings.push(finding.to_string())).unwrap();
    assert!(summary.is_sound(), "{findings:?}");
    let sealing = if sealed { Sealing::Sealed } else { Sealing::None };
    assert_eq!(state(path).unwrap().sealing, sealing);
}

#[test]
fn a_file_of_eight_ranks_is_whole_after_two_collectives_a_commit() {
    for sealed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let done = ranks(None, |comm| program(comm, &path, sealed));
        for (outcome, collectives) in done {
            assert_eq!(outcome, (3, None));
            // 2 to create, 1 to advance and 2 to commit each round, 2 to close; 3 if META2 is in
            // the way.
            assert!((11..=12).contains(&collectives), "{collectives}");
        }
        check(&path, 3, sealed);
    }
}

#[test]
fn whatever_collective_a_rank_fails_at_all_ranks_get_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    for sealed in [false, true] {
        for at in 0..12 {
            for rank in [0, 5, RANKS - 1] {
                let done = ranks(Some((rank, at)), |comm| program(comm, &path, sealed));
                let (first, collectives) = done[0];
                assert!(done.iter().all(|other| *other == (first, collectives)), "{done:?}");
                let (rounds, fault) = first;
                match fault {
                    Some(fault) => assert_eq!(fault, Fault::Rank { rank, code: INJECTED }),
                    None => assert_eq!(rounds, 3), // it has fewer collectives
                }
                if rounds > 0 {
                    check(&path, rounds, sealed);
                }
            }
        }
    }
}

#[test]
fn ranks_go_on_after_a_fault_and_the_next_commit_has_it_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    for at in 2..10 {
        let done = ranks(Some((3, at)), |comm| {
            let rank = comm.member.rank();
            let mut file = FileWriter::create(comm, &path, 512, CHUNK, true).unwrap();
            let mut faults = 0;
            for round in 0..3 {
                while let Err(fault) = write(&mut file, rank, round) {
                    assert_eq!(fault, Fault::Rank { rank: 3, code: INJECTED });
                    faults += 1;
                }
                while let Err(fault) = file.commit() {
                    assert_eq!(fault, Fault::Rank { rank: 3, code: INJECTED });
                    faults += 1;
                }
            }
            file.close().map(|()| faults)
        });
        assert!(done.iter().all(|(outcome, _)| *outcome == Ok(1)), "{at}: {done:?}");
        check(&path, 3, true);
    }
}

#[test]
fn a_file_that_cannot_be_made_is_the_fault_of_rank_0_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no folder").join("a.sion");
    for (outcome, collectives) in ranks(None, |comm| program(comm, &path, false)) {
        let not_found = Code(2); // ENOENT
        assert_eq!(outcome, (0, Some(Fault::Rank { rank: 0, code: not_found })));
        assert_eq!(collectives, 1);
    }
}

#[test]
fn a_rank_that_is_gone_is_lost_to_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let done = ranks(None, |comm| {
        let rank = comm.member.rank();
        let mut file = FileWriter::create(comm, &path, 512, CHUNK, false).unwrap();
        write(&mut file, rank, 0).unwrap();
        file.commit().unwrap();
        write(&mut file, rank, 1).unwrap();
        if rank == 6 { None } else { Some((file.commit(), file.commit())) }
    });
    // The Member of rank 6 is dropped when its thread ends, and nobody waits for a deadline.
    for (rank, (outcome, _)) in done.into_iter().enumerate() {
        let lost = Err(Fault::Lost { rank: 6 });
        assert_eq!(outcome, if rank == 6 { None } else { Some((lost, lost)) });
    }
    check(&path, 1, false);
}

#[test]
fn a_rank_cannot_write_where_meta2_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    ranks(None, |comm| {
        let rank = comm.member.rank();
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
