//! Ranks that are left go on with a set of which a rank is gone.

use crate::common::faulty::Fault;
use crate::world::{ranks, with_faults, world};
use std::io::Read;
use std::path::Path;
use striae::sion as serial;
use striae::sion::recover::Recover;
use striae::sion::verify::{Sealing, state};
use striae_core::sion::ChunkRule;
use striae_mpi::sion::{Builder, FileWriter};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collect, Collective, Error, Fold};

/// What a rank writes in a round: sometimes more than a chunk of 512 bytes.
fn bytes(rank: u32, round: usize) -> Vec<u8> {
    let round = round as u32;
    let len = 1 + (rank * 331 + round * 190) % 1400;
    (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
}

fn expected(rank: u32, rounds: usize) -> Vec<u8> {
    (0..rounds).flat_map(|round| bytes(rank, round)).collect()
}

/// A kind of set.
#[derive(Debug, Clone, Copy)]
struct Case {
    size: u32,
    nfiles: u32,
    sealed: bool,
    collect: Option<Collect>,
}

/// Rounds before the close, and after a rank was gone.
const ROUNDS: usize = 3;
const MORE: usize = 2;

/// What a rank has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Done {
    /// How many rounds it has written, and how many were committed.
    written: usize,
    committed: usize,
    /// It went on without another rank.
    went_on: bool,
    /// It learned that the set was closed.
    closed: bool,
    /// The error of going on.
    refused: Option<Error>,
}

impl Case {
    fn create<C: Collective>(self, ranks: C, path: &Path) -> Result<FileWriter<C>, Error> {
        let builder = Builder::new().fsblksize(512).chunksize(512).nfiles(self.nfiles);
        let builder = builder.sealed(self.sealed).force(true);
        self.collect.map_or(builder.clone(), |it| builder.collect(it)).create(ranks, path)
    }

    /// The physical file of a rank.
    fn file_of(self, rank: u32) -> u32 {
        (rank / (self.size / self.nfiles)).min(self.nfiles - 1)
    }
}

/// A round: with room that was asked for, or with what `coll_write` asks for.
fn round<C: Collective>(file: &mut FileWriter<C>, rank: u32, done: &mut Done) -> Result<(), Error> {
    let bytes = bytes(rank, done.written);
    if done.written.is_multiple_of(2) {
        file.advance(bytes.len() as u64)?;
        file.write(&bytes).unwrap();
        done.written += 1;
        file.commit()?;
    } else {
        done.written += 1; // also after an error
        file.coll_write(&bytes)?;
        file.commit_set()?;
    }
    done.committed = done.written;
    Ok(())
}

/// Writes, commits and closes.
fn write<C: Collective>(
    file: &mut Option<FileWriter<C>>,
    (rank, rounds): (u32, usize),
    done: &mut Done,
) -> Result<(), Error> {
    for _ in 0..rounds {
        round(file.as_mut().unwrap(), rank, done)?;
    }
    file.take().unwrap().close()?;
    done.closed = true;
    Ok(())
}

/// Writes a set; if a rank is gone, goes on without it.
fn program<C: Collective>(
    world: &C,
    case: Case,
    path: &Path,
    done: &mut Done,
) -> Result<(), Error> {
    let (rank, mut file) = (world.rank(), None);
    let all = world.split(Ok(0)).and_then(|ranks| {
        file = Some(case.create(ranks, path)?);
        write(&mut file, (rank, ROUNDS), done)
    });
    let Err(error) = all else { return Ok(()) };
    assert_eq!(error.code(), Code::Lost);
    let left = world.shrink()?;
    let [all_have_it] = left.combine(Ok([file.is_some().into()]), [Fold::Min])?;
    if all_have_it == 0 {
        return Err(error);
    }
    let opened = file.as_mut().unwrap();
    if let Err(error) = opened.continue_on(left.split(Ok(0))?) {
        done.refused = Some(error.clone());
        return Err(error);
    }
    done.went_on = true;
    opened.commit()?;
    done.committed = done.written;
    // As many rounds as the rank that has most: some are one ahead.
    let [most] = left.max(Ok([done.written as u64]))?;
    write(&mut file, (rank, most as usize - done.written + MORE), done)
}

fn stream(set: &serial::File, task: u32) -> Vec<u8> {
    let mut found = Vec::new();
    set.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
    found
}

/// How many rounds a stream has.
fn rounds(set: &serial::File, task: u32) -> usize {
    let found = stream(set, task);
    let is = |n: &usize| found == expected(task, *n);
    (0..=ROUNDS + MORE + 1).find(is).unwrap_or_else(|| panic!("task {task}: half of a round"))
}

fn is_sound(path: &Path) {
    let mut findings = Vec::new();
    let mut note = |finding: &dyn std::fmt::Display| findings.push(finding.to_string());
    let summary = striae::Verify::new().sion(path, &mut |finding| note(&finding)).unwrap();
    assert!(summary.is_sound(), "{findings:?}");
}

/// The set has all that the ranks that went on wrote, and of the one that is gone what was
/// committed.
fn check(case: Case, gone: u32, done: &[Done], path: &Path) {
    let acknowledged = |file| {
        let of_file = (0..).zip(done).filter(|(rank, _)| case.file_of(*rank) == file);
        // Commits after the rank was gone are not its own.
        let before = |done: &Done| if done.went_on { 0 } else { done.committed };
        of_file.map(|(_, done)| before(done)).max().unwrap()
    };
    let is_left = |file| (0..case.size).any(|rank| rank != gone && case.file_of(rank) == file);
    let Ok(serial::Opened::Closed(_)) = serial::OpenOptions::new().open(path) else {
        let is_open = |file| acknowledged(file) == 0 && !is_left(file);
        if !(0..case.nfiles).any(is_open) {
            assert!(done.iter().all(|done| done.committed == 0 && !done.went_on), "{done:?}");
        } else if let Ok(recovery) = Recover::new().examine(path) {
            // The others have closed their file, but this one has no commit.
            let folder = tempfile::tempdir().unwrap();
            let whole = folder.path().join("whole");
            recovery.write(&whole, &|_| {}).unwrap();
            let set = serial::File::open(&whole).unwrap();
            let went_on = (0..).zip(done).filter(|(_, done)| done.went_on);
            went_on.for_each(|(rank, done)| assert_eq!(rounds(&set, rank), done.written));
        }
        return;
    };
    let set = serial::File::open(path).unwrap();
    for (rank, of_rank) in (0..).zip(done) {
        let found = rounds(&set, rank);
        match of_rank.went_on {
            true => assert_eq!(found, of_rank.written, "rank {rank} of {done:?}"),
            false => {
                let allowed = acknowledged(case.file_of(rank))..=of_rank.written;
                assert!(allowed.contains(&found), "{rank} {found} {done:?}");
            }
        }
    }
    if case.sealed && (0..case.nfiles).all(is_left) {
        assert_eq!(state(path).unwrap().sealing, Sealing::Sealed);
    }
    is_sound(path);
}

/// Lets each rank be gone at each of its operations. Returns how often the others went on, and how
/// often they were refused.
fn sweep(case: Case) -> [usize; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let run = |faults: &[(u32, u32, Fault)]| {
        with_faults(world(case.size), faults, false, |rank, done: &mut Done| {
            program(&rank, case, &path, done)
        })
    };
    let whole = run(&[]);
    assert!(whole.iter().all(|(done, ..)| done.closed));
    let (mut went_on, mut refused) = (0, 0);
    for kind in [Fault::Panic, Fault::Vanish] {
        for gone in 0..case.size {
            for at in 0..whole[gone as usize].2 {
                for number in 0..case.nfiles {
                    let name = if number == 0 { "a".into() } else { format!("a.{number:06}") };
                    let _ = std::fs::remove_file(folder.path().join(name));
                }
                let done: Vec<_> = run(&[(gone, at, kind)]).into_iter().map(|it| it.0).collect();
                let left: Vec<_> = (0..).zip(&done).filter(|(rank, _)| *rank != gone).collect();
                let first = left[0].1;
                assert!(left.iter().all(|(_, it)| it.went_on == first.went_on), "{done:?}");
                assert!(left.iter().all(|(_, it)| it.refused == first.refused), "{done:?}");
                if let Some(error) = &first.refused {
                    // It has the lock of its file, and lives.
                    let is_first = gone == 0 || case.file_of(gone) != case.file_of(gone - 1);
                    assert!(is_first && kind == Fault::Vanish, "{gone} {at} {kind:?} {error}");
                    assert_eq!(error.code(), Code::Io(16));
                }
                if first.went_on {
                    assert!(left.iter().all(|(_, it)| it.closed), "{done:?}");
                }
                went_on += usize::from(first.went_on);
                refused += usize::from(first.refused.is_some());
                check(case, gone, &done, &path);
            }
        }
    }
    [went_on, refused]
}

#[test]
fn whichever_rank_is_gone_the_others_commit_what_they_have() {
    for size in 2..5 {
        for nfiles in 1..3 {
            for sealed in [false, true] {
                let case = Case { size, nfiles, sealed, collect: None };
                let [went_on, refused] = sweep(case);
                assert!(went_on > 10 * size as usize, "{case:?}: {went_on}");
                assert_eq!(refused > 0, nfiles < size, "{case:?}"); // a file has other ranks
            }
        }
    }
}

#[test]
fn what_another_rank_had_to_write_is_not_lost_with_it() {
    for shared in [true, false] {
        for buffer in [100, 1 << 20] {
            let collect = Collect::new().shared_memory(shared).buffer(buffer);
            let case = Case { size: 3, nfiles: 1, sealed: true, collect: Some(collect) };
            let [went_on, _] = sweep(case);
            assert!(went_on > 60, "{case:?}: {went_on}");
        }
    }
}

/// Of three ranks, the last is gone before the commit; what the others do then.
fn after_a_loss<R: Send>(
    builder: &Builder,
    path: &Path,
    work: impl Fn(Rank, FileWriter<Rank>) -> R + Sync,
) -> Vec<R> {
    let done = ranks(3, |world| {
        let mut file = builder.create(world.split(Ok(0)).unwrap(), path).unwrap();
        (0..20).for_each(|_| file.coll_write(&[7; 8]).unwrap());
        if world.rank() == 2 {
            return None;
        }
        assert_eq!(file.commit().unwrap_err().code(), Code::Lost);
        Some(work(world, file))
    });
    done.into_iter().flatten().collect()
}

#[test]
fn after_a_commit_that_failed_no_record_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let errors = after_a_loss(&Builder::new(), &folder.path().join("a"), |_, mut file| {
        file.coll_write(&[7; 8]).unwrap_err().code()
    });
    assert_eq!(errors, [Code::Lost; 2]);
}

#[test]
fn a_set_that_needs_all_of_its_ranks_is_refused_and_its_last_commit_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let behind = Collect::new().write_behind(true);
    let merged = ChunkRule::Merged(striae_core::sion::Grouping::WHOLE_FILE);
    let builder = || Builder::new().force(true);
    for builder in
        [builder().collect(behind), builder().rule(merged), builder().nfiles(2).buddies(1)]
    {
        let codes = after_a_loss(&builder, &path, |world, mut file| {
            let left = world.shrink().unwrap();
            file.continue_on(left.split(Ok(0)).unwrap()).unwrap_err().code()
        });
        assert_eq!(codes, [Code::Refused; 2], "{builder:?}");
    }
}

#[test]
fn the_rank_with_the_mapping_is_needed_up_to_the_first_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for commits in [false, true] {
        let codes = ranks(3, |world| {
            let builder = Builder::new().force(true).color(u32::from(world.rank() == 1));
            let mut file = builder.create(world.split(Ok(0)).unwrap(), &path).unwrap();
            file.write(&bytes(world.rank(), 0)).unwrap();
            if commits {
                file.commit().unwrap();
            }
            if world.rank() == 0 {
                return None;
            }
            assert_eq!(file.commit().unwrap_err().code(), Code::Lost);
            let left = world.shrink().unwrap();
            let went_on = file.continue_on(left);
            Some(went_on.and_then(|()| file.close()).map(drop).map_err(|error| error.code()))
        });
        let expected = if commits { Ok(()) } else { Err(Code::Refused) };
        assert_eq!(codes, [None, Some(expected), Some(expected)]);
    }
    let set = serial::File::open(&path).unwrap();
    let task = set.find_globalrank(2).unwrap();
    assert_eq!(stream(&set, task as u32), bytes(2, 0));
    is_sound(&path);
}

#[test]
fn if_a_further_rank_is_gone_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(4, |world| {
        let (me, builder) = (world.rank(), Builder::new().fsblksize(512).chunksize(512));
        let mut file = builder.sealed(true).create(world.split(Ok(0)).unwrap(), &path).unwrap();
        file.write(&bytes(me, 0)).unwrap();
        file.commit().unwrap();
        if me == 0 {
            return;
        }
        file.commit().unwrap_err();
        let mut left = world.shrink().unwrap();
        let ranks = left.split(Ok(0)).unwrap();
        if me == 1 {
            return; // before it goes on
        }
        assert_eq!(file.continue_on(ranks).unwrap_err().code(), Code::Lost);
        left = left.shrink().unwrap();
        file.continue_on(left.split(Ok(0)).unwrap()).unwrap();
        file.advance(2000).unwrap();
        file.write(&bytes(me, 1)).unwrap();
        file.close().unwrap();
    });
    let set = serial::File::open(&path).unwrap();
    let found: Vec<_> = (0..4).map(|task| rounds(&set, task)).collect();
    assert_eq!(found, [1, 1, 2, 2]);
    is_sound(&path);
}
