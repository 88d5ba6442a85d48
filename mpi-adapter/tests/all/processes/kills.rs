//! Ranks that write until one of them is killed.

use crate::common::gsd_and_blob;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use striae::sion as serial;
use striae::sion::recover::{OfSet, Recover};
use striae_mpi::sion::Builder;
use striae_mpi::{Collective, Error};

/// Which rank is killed, and when.
pub(crate) struct Kill {
    pub(crate) rank: u32,
    /// After so many commits,
    after: u64,
    /// and this time.
    later: Duration,
    is_done: bool,
}

impl Kill {
    /// The kill with this number, of one of `n` ranks: all that is random follows from the number.
    pub(crate) fn new(number: u32, n: u32) -> Self {
        let mut state = u64::from(number) + 1;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (rank, after) = (random(n.into()) as u32, random(10));
        Self { rank, after, later: Duration::from_micros(random(20_000)), is_done: false }
    }

    /// Kills the rank if it is time.
    pub(crate) fn look(&mut self, folder: &Path) {
        let process = std::fs::read_to_string(folder.join(format!("process {}", self.rank)));
        let Ok(process) = process.map_err(drop).and_then(|text| text.parse::<u32>().map_err(drop))
        else {
            return;
        };
        if self.is_done || committed(folder) < self.after {
            return;
        }
        let since = Instant::now();
        while since.elapsed() < self.later {
            std::thread::yield_now();
        }
        let killed = Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
        assert!(killed.success());
        std::fs::write(folder.join("gone"), "").unwrap();
        self.is_done = true;
    }
}

fn committed(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("committed")).map_or(0, |file| file.len())
}

/// What a task writes before a commit.
fn bytes(task: u32, round: u32) -> Vec<u8> {
    let len = 1 + (task * 331 + round * 190) % 700;
    (0..len).map(|i| (i * 7 + task * 31 + round) as u8).collect()
}

/// Commits a sealed set of two files again and again.
pub(crate) fn write<C: Collective>(comm: C, folder: &Path) -> String {
    let rank = comm.rank();
    let all = || -> Result<(), Error> {
        let builder = Builder::new().fsblksize(512).chunksize(2048).nfiles(2).sealed(true);
        let mut file = builder.create(comm, folder.join("a"))?;
        for round in 0..100_000 {
            file.advance(1000)?;
            file.write(&bytes(rank, round)).unwrap();
            file.commit_set()?;
            if rank == 0 {
                // A byte for each commit: the launcher may end this rank at any time.
                let log = folder.join("committed");
                let log = std::fs::File::options().create(true).append(true).open(log);
                log.unwrap().write_all(b"x").unwrap();
            }
        }
        Ok(())
    };
    format!("error of rank {rank}: {:?}", all())
}

/// All files of the set are of one commit: of the last one that returned, or the one under way.
pub(crate) fn check(folder: &Path, size: u32) {
    let (path, to, committed) = (folder.join("a"), folder.join("b"), committed(folder));
    let recovery = match Recover::new().examine(&path) {
        Ok(recovery) => recovery,
        Err(error) => return assert_eq!(committed, 0, "{error}"), // a file is not made yet
    };
    if *recovery.of_set() == OfSet::EachOwn {
        return assert_eq!(committed, 0);
    }
    assert!(recovery.is_sound(), "{}", recovery.of_set());
    recovery.write(&to, &|_| {}).unwrap();
    let set = serial::File::open(&to).unwrap();
    let of_task = |task: u32| {
        let mut found = Vec::new();
        set.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
        let (mut rounds, mut rest) = (0, found.as_slice());
        while !rest.is_empty() {
            rest = rest.strip_prefix(bytes(task, rounds).as_slice()).unwrap();
            rounds += 1;
        }
        rounds
    };
    let rounds: Vec<_> = (0..size).map(of_task).collect();
    assert!(rounds.iter().all(|other| *other == rounds[0]), "{rounds:?}");
    let found = u64::from(rounds[0]);
    assert!((committed..=committed + 1).contains(&found), "{committed} {found}");
}

/// The frames of the GSD file are those that were committed, and perhaps one more.
pub(crate) fn check_gsd(folder: &Path, size: u32) {
    if committed(folder) > 0 {
        gsd_and_blob::check_commits(folder, size);
    }
}
