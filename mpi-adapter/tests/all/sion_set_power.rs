//! Power cuts in commits of all files of a set: every file is brought to the same commit.

use crate::disks::{Disks, LEFT};
use crate::world::ranks;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use striae::posix::PosixFile;
use striae::sion as serial;
use striae::sion::recover::{OfSet, Recover, RecoveredTask, Recovery};
use striae::sion::verify::{Finding, FindingKind};
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::{Meta1, Opened, Physical, SealState};
use striae_mpi::sion::{Builder, Reopen};
use striae_mpi::{Collective, Error};

/// What a task writes before a commit.
fn bytes(task: u32, round: u32) -> Vec<u8> {
    let len = 1 + (task * 331 + round * 190) % 700;
    (0..len).map(|i| (i * 7 + task * 31 + round) as u8).collect()
}

fn builder(nfiles: u32) -> Builder {
    Builder::new().fsblksize(512).chunksize(512).nfiles(nfiles).sealed(true).force(true)
}

/// Writes `rounds` of data with a commit of the set after each, then closes the set.
fn write(
    disks: &Disks,
    path: &Path,
    (nfiles, tasks): (u32, u32),
    rounds: u32,
) -> Result<(), Error> {
    let done = ranks(tasks, |comm| {
        let rank = comm.rank();
        let mut file = builder(nfiles).create_in(comm, path, disks.open(rank))?;
        for round in 0..rounds {
            file.advance(1000)?;
            file.write(&bytes(rank, round)).unwrap();
            file.commit_set()?;
            disks.committed(rank, round + 1);
        }
        file.close().map(drop)
    });
    assert!(done.iter().all(|other| *other == done[0]), "{done:?}");
    done.into_iter().next().unwrap()
}

/// The number of rounds in each task of a set.
fn rounds(path: &Path, tasks: u32) -> BTreeSet<u32> {
    let set = serial::File::open(path).unwrap();
    let of_task = |task: u32| {
        let mut found = Vec::new();
        set.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
        let all = |n| (0..n).flat_map(|round| bytes(task, round)).collect::<Vec<_>>();
        (0..9).find(|n| found == all(*n)).unwrap()
    };
    (0..tasks).map(of_task).collect()
}

/// The number of rounds in a task, by its length.
fn rounds_of(found: RecoveredTask) -> u32 {
    let len = |n| (0..n).map(|round| bytes(found.task as u32, round).len() as u64).sum::<u64>();
    (0..9).find(|n| found.recovered.bytes == len(*n)).unwrap()
}

fn recover(path: &Path, to: &Path) -> Recovery {
    let recovery = Recover::new().output(striae::Output::new().force(true)).examine(path).unwrap();
    recovery.write(to, &|_| {}).unwrap();
    recovery
}

/// How many power cuts were tried, after how many files were of two commits, and after how many of
/// those no commit had returned.
#[derive(Debug, Default)]
struct Tried {
    cuts: u32,
    torn: u32,
    first: u32,
}

impl Tried {
    /// Writes two rounds of a set, and cuts the power at every event of these disks.
    fn cut(&mut self, disks: &Disks, nfiles: u32, tasks: u32) {
        let folder = tempfile::tempdir().unwrap();
        let (path, to) = (folder.path().join("a"), folder.path().join("b"));
        write(disks, &path, (nfiles, tasks), 2).unwrap();
        for cut in disks.made()..=disks.events() {
            for is_left in LEFT {
                let committed = disks.after_cut(cut, is_left);
                let Ok(opened) = serial::OpenOptions::new().open(&path) else {
                    assert_eq!(committed, 0); // a file is not made yet
                    continue;
                };
                let recovery = Recover::new().examine(&path).unwrap();
                let case = (disks.nodes(), nfiles, cut, committed, recovery.of_set());
                if let OfSet::Same { brought, .. } = recovery.of_set() {
                    let found = match brought.is_empty() && cut % 9 > 0 {
                        true => recovery.tasks().map(rounds_of).collect(),
                        false => {
                            let _recovery = recover(&path, &to);
                            rounds(&to, tasks) // takes longer, and compares bytes
                        }
                    };
                    assert!(found.len() == 1 && recovery.is_sound(), "{case:?}: {found:?}");
                    let found = *found.first().unwrap();
                    assert!((committed..=committed + 1).contains(&found), "{case:?}: {found}");
                    self.torn += u32::from(!brought.is_empty());
                    self.first += u32::from(!brought.is_empty() && committed == 0);
                } else {
                    assert!(committed == 0 && *recovery.of_set() == OfSet::EachOwn, "{case:?}");
                    assert!(matches!(opened, serial::Opened::Unclosed(_)), "{case:?}");
                }
                self.cuts += 1;
            }
        }
    }
}

#[test]
fn after_a_power_cut_all_files_are_recovered_as_of_one_commit_of_the_set() {
    let mut tried = Tried::default();
    for nfiles in [2, 3] {
        tried.cut(&Disks::default(), nfiles, nfiles + 1);
    }
    let Tried { cuts, torn, first } = tried;
    assert!(cuts > 200 && torn > 20 && first > 3, "{tried:?}");
}

#[test]
fn ranks_leave_syncs_to_the_first_of_their_file_if_it_is_on_their_node_and_lose_nothing() {
    // Ranks 0 to 2 write the first of two files, 3 to 5 the second.
    for (nodes, leaving) in [(1, vec![1, 2, 4, 5]), (2, vec![2, 5]), (5, vec![])] {
        let (disks, mut tried) = (Disks::of_nodes(nodes), Tried::default());
        tried.cut(&disks, 2, 6);
        assert!(tried.cuts > 200 && tried.torn > 8, "{nodes}: {tried:?}");
        for rank in [1, 2, 4, 5] {
            // All sync what they write when the file is made, others that of two commits and a
            // close as well.
            let syncs = if leaving.contains(&rank) { 1 } else { 4 };
            assert_eq!(disks.syncs(rank), syncs, "rank {rank} on one of {nodes} nodes");
        }
    }
}

#[test]
fn ranks_that_go_on_leave_syncs_to_the_new_first_rank_if_it_is_on_their_node() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    // Rank 0 is gone after the first commit; rank 1 is on another node than rank 2, with rank 3.
    let disks = Disks::of_nodes(2);
    ranks(4, |world| {
        let rank = world.rank();
        let all = world.split(Ok(0)).unwrap();
        let mut file = builder(1).create_in(all, &path, disks.open(rank)).unwrap();
        file.advance(1000).unwrap();
        file.write(&bytes(rank, 0)).unwrap();
        file.commit().unwrap();
        disks.committed(rank, 1);
        if rank == 0 {
            return;
        }
        file.commit().unwrap_err();
        let left = world.shrink().unwrap();
        file.continue_on(left.split(Ok(0)).unwrap()).unwrap();
        for round in 1..3 {
            file.advance(1000).unwrap();
            file.write(&bytes(rank, round)).unwrap();
            file.commit().unwrap();
            disks.committed(rank, round + 1);
        }
    });
    let mut cuts = [0; 4];
    for cut in disks.made()..=disks.events() {
        for is_left in LEFT {
            let committed = disks.after_cut(cut, is_left);
            if committed == 0 {
                continue;
            }
            let recovery = Recover::new().examine(&path).unwrap();
            let found: BTreeSet<_> =
                recovery.tasks().filter(|found| found.task > 0).map(rounds_of).collect();
            let found: Vec<_> = found.into_iter().collect();
            let allowed = [committed, committed + 1];
            assert!(matches!(found[..], [one] if allowed.contains(&one)), "{cut}: {found:?}");
            cuts[committed as usize] += 1;
        }
    }
    assert!(cuts[1..].iter().all(|cuts| *cuts >= 4), "{cuts:?}");
    // In the end, rank 3 leaves its syncs to rank 1; in between, only rank 2 did, to rank 0.
    let syncs = [2, 3].map(|rank| disks.syncs(rank));
    assert_eq!(syncs, [1 + 2, 1 + 1], "the making of the file, and the commits");
}

/// Ends the first commit with number `number` of a set of two files between the two of them.
fn torn(path: &Path, number: u32) {
    let disks = Disks::default();
    write(&disks, path, (2, 3), 3).unwrap();
    let is_torn = |cut: &usize| {
        let _committed = disks.after_cut(*cut, |_| false);
        let numbers = set_numbers(path);
        numbers.contains(&number) && numbers.iter().any(|other| *other < number)
    };
    (disks.made()..disks.events()).find(is_torn).unwrap();
}

/// The numbers of the commits in the set, as the seals of its files have them; 0 for none.
fn set_numbers(path: &Path) -> Vec<u32> {
    let names = [path.to_owned(), path.with_extension("000001")];
    let number = |name: &std::path::PathBuf| {
        let file = PosixFile::open(name).unwrap();
        let Ok(Opened::Closed(file)) = Physical::open(file, &mut [0; Meta1::MAX_LEN]) else {
            return 0;
        };
        let SealState::Sealed(seal) = file.seal().unwrap() else { return 0 };
        seal.varheader().set_number()
    };
    names.iter().map(number).collect()
}

#[test]
fn files_of_two_commits_are_reported_and_brought_together_by_a_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    torn(&path, 2);
    let mut found = Vec::new();
    let verified = striae::Verify::new().sion(&path, &mut |finding| found.push(finding)).unwrap();
    let apart = |number| FindingKind::Apart { number, usual: 3 - number };
    let is_apart = |finding: &Finding| [apart(1), apart(2)].contains(&finding.what);
    assert!(!verified.is_sound() && found.iter().any(is_apart), "{found:?}");
    // The newer commit is durable in all files, so a writer ends it, whoever it is.
    drop(serial::Reopen::new().open(&path).unwrap());
    assert_eq!((rounds(&path, 3), set_numbers(&path)), ([2].into(), vec![2, 2]));
    for by_ranks in [true, false] {
        let mut other = folder.path().join(format!("by_ranks_{by_ranks}"));
        torn(&other, 2);
        if by_ranks {
            ranks(2, |comm| Reopen::new().open(comm, &other).map(drop).unwrap());
        } else {
            let to = folder.path().join("recovered");
            recover(&other, &to);
            other = to;
        }
        assert_eq!((rounds(&other, 3), set_numbers(&other)), ([2].into(), vec![2, 2]));
    }
}

#[test]
fn a_file_without_any_common_commit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("a"), folder.path().join("b"));
    torn(&path, 1);
    let behind = set_numbers(&path).iter().position(|number| *number == 0).unwrap();
    let names = [path.clone(), path.with_extension("000001")];
    let mut bytes = std::fs::read(&names[behind]).unwrap();
    let magic = bytes.windows(16).position(|bytes| bytes == SealTrailer::MAGIC).unwrap();
    bytes[magic - 1] ^= 1; // of the checksum of the only seal
    std::fs::write(&names[behind], bytes).unwrap();
    let recovery = recover(&path, &to);
    let without = vec![(behind as u32, 0)];
    assert_eq!(*recovery.of_set(), OfSet::Apart { newest: 1, without });
    assert!(!recovery.is_sound());
}

#[test]
fn the_number_of_a_commit_that_failed_is_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let disks = Disks::default();
    write(&disks, &path, (2, 3), 2).unwrap();
    let is_hidden =
        |cut: &usize| disks.after_cut(*cut, |_| true) == 1 && set_numbers(&path) == [1, 1];
    let last = (disks.made()..disks.events()).rfind(is_hidden).unwrap();
    let _committed = disks.after_cut(last, |_| true); // the second one is durable and not visible
    let append = |size: u32, tasks: &[u64]| {
        let done = ranks(size, |comm| {
            let tasks =
                tasks.iter().filter(|task| *task % u64::from(size) == u64::from(comm.rank()));
            let mut file = Reopen::new().tasks(tasks.copied().collect()).open(comm, &path)?;
            file.commit_set()
        });
        done.into_iter().for_each(Result::unwrap);
        set_numbers(&path)
    };
    assert_eq!(append(2, &[0, 1, 2]), [3, 3]);
    assert_eq!(append(3, &[0, 1, 2]), [4, 4]);
    assert_eq!(rounds(&path, 3), [1].into());
    assert_eq!(append(1, &[0]), [0, 4], "no commit of the whole set");
    assert_eq!(append(1, &[0, 1, 2]), [5, 5]);
}
