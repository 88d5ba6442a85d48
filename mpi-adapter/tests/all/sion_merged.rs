//! Collective modes of SIONlib: files of its runs byte for byte, and records that a collector has.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use striae::sion as serial;
use striae_core::sion::{ChunkRule, Grouping};
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collect, Collective, Error};

/// A run of `sion_paropen_mpi` in a collective mode, with one `sion_coll_fwrite` a rank, as in
/// `tests/golden/sion`: its name, rule and number of files; for each rank the requested size of
/// chunks and the length of its record.
type Case = (&'static str, ChunkRule, u32, [(u64, u64); 8]);

const fn hint(collsize: u32) -> Grouping {
    match NonZeroU32::new(collsize) {
        Some(collsize) => Grouping::Hint(collsize),
        None => Grouping::Automatic,
    }
}

const HUNDREDS: [(u64, u64); 8] =
    [(100, 20), (100, 21), (100, 22), (100, 23), (100, 24), (100, 25), (100, 26), (100, 27)];

const CASES: [Case; 3] = [
    ("m07_np8_coll4", ChunkRule::Packed(hint(4)), 1, HUNDREDS),
    ("m09_np8_cmerge", ChunkRule::Merged(hint(4)), 1, HUNDREDS),
    (
        "m13_np8_coll_2files",
        ChunkRule::Packed(hint(2)),
        2,
        [(512, 0), (512, 30), (512, 60), (512, 90), (512, 120), (512, 150), (512, 180), (512, 210)],
    ),
];

/// What the generator of the golden files writes.
fn payload(i: u64, globalrank: u32) -> u8 {
    (i * 7 + (i >> 8) * 13 + u64::from(globalrank) * 37 + 11) as u8
}

#[test]
fn closed_sets_of_collective_modes_are_those_of_sionlib_byte_for_byte() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    for ((name, rule, nfiles, requests), collects) in
        CASES.into_iter().flat_map(|case| [(case, false), (case, true)])
    {
        let (folder, name) = (tempfile::tempdir().unwrap(), format!("{name}.sion"));
        let path = folder.path().join(&name);
        let builder = Builder::new().fsblksize(512).nfiles(nfiles).rule(rule);
        let builder = builder.prefix(name.clone().into_bytes());
        let collect = Collect::new().ranks_per_writer(3);
        let builder = if collects { builder.collect(collect) } else { builder };
        let done = ranks(8, |comm| {
            let rank = comm.rank();
            let (chunksize, len) = requests[rank as usize];
            let mut file = builder.clone().chunksize(chunksize).create(comm, &path)?;
            let record: Vec<u8> = (0..len).map(|i| payload(i, rank)).collect();
            file.coll_write(&record)?;
            file.close().map(drop)
        });
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        for number in 0..nfiles {
            let file = if number == 0 { name.clone() } else { format!("{name}.{number:06}") };
            let ours = std::fs::read(folder.path().join(&file)).unwrap();
            assert!(ours == std::fs::read(golden.join(&file)).unwrap(), "{file}");
        }
    }
}

/// Records of ranks whose chunks are merged.
#[derive(Debug, Clone)]
struct Merged {
    grouping: Grouping,
    chunksizes: Vec<u64>,
    /// For each call the length of each rank's record.
    calls: Vec<Vec<usize>>,
    /// Whether there is a commit after each call.
    commits: bool,
    collects: bool,
}

impl Merged {
    fn record(&self, call: usize, rank: usize) -> Vec<u8> {
        (0..self.calls[call][rank]).map(|i| (i * 7 + rank * 31 + call * 5) as u8).collect()
    }

    fn program<C: Collective>(&self, comm: C, path: &Path) -> Result<(), Error> {
        let rank = comm.rank() as usize;
        let builder = Builder::new().fsblksize(512).force(true).sealed(true);
        let builder = builder.rule(ChunkRule::Merged(self.grouping));
        let collect = Collect::new().ranks_per_writer(2).buffer(900);
        let builder = if self.collects { builder.collect(collect) } else { builder };
        let mut file = builder.chunksize(self.chunksizes[rank]).create(comm, path)?;
        for call in 0..self.calls.len() {
            file.coll_write(&self.record(call, rank))?;
            if self.commits {
                file.commit()?;
            }
        }
        file.close().map(drop)
    }

    /// The streams: those of collectors have all records of their groups.
    fn expected(&self) -> Vec<Vec<u8>> {
        let unit = NonZeroU32::new(512).unwrap();
        let groups = self.grouping.groups(unit, self.chunksizes.iter().copied()).unwrap();
        let mut streams = vec![Vec::new(); self.chunksizes.len()];
        for group in groups {
            let ranks = group.first as usize..(group.first + group.ntasks) as usize;
            for call in 0..self.calls.len() {
                for rank in ranks.clone() {
                    streams[group.first as usize].extend(self.record(call, rank));
                }
            }
        }
        streams
    }
}

fn merged() -> impl Strategy<Value = Merged> {
    let grouping = prop_oneof![
        Just(Grouping::Automatic),
        (1u32..5).prop_map(hint),
        (1u32..5).prop_map(|n| Grouping::Fixed(NonZeroU32::new(n).unwrap())),
    ];
    let settings = (grouping, any::<[bool; 2]>(), 1usize..4);
    (prop::collection::vec(1u64..1200, 1..8), settings).prop_flat_map(
        |(chunksizes, (grouping, [commits, collects], ncalls))| {
            let lens = prop::collection::vec(0usize..600, chunksizes.len());
            prop::collection::vec(lens, ncalls).prop_map(move |calls| Merged {
                grouping,
                chunksizes: chunksizes.clone(),
                calls,
                commits,
                collects,
            })
        },
    )
}

proptest! {
    #![proptest_config(crate::config(15))]

    #[test]
    fn a_collector_has_all_records_of_its_group_in_the_order_of_ranks(case in merged()) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("a");
        let done = ranks(case.chunksizes.len() as u32, |comm| case.program(comm, &path));
        prop_assert!(done.iter().all(Result::is_ok), "{done:?}");
        let set = serial::File::open(&path).unwrap();
        for (task, expected) in (0..).zip(case.expected()) {
            let mut stream = Vec::new();
            set.stream(task).unwrap().read_to_end(&mut stream).unwrap();
            prop_assert!(stream == expected, "task {task}");
        }
    }
}

fn small() -> Merged {
    let calls = vec![vec![100, 0, 300, 70, 5], vec![200, 400, 0, 1, 90]];
    let grouping = Grouping::Fixed(NonZeroU32::new(3).unwrap());
    Merged { grouping, chunksizes: vec![300; 5], calls, commits: true, collects: false }
}

#[test]
fn whatever_happens_to_a_rank_whose_records_are_merged_the_others_get_one_error() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("a");
    let case = small();
    sweep(5, |comm| case.program(comm, &path), |_| {});
}

#[test]
fn the_error_of_a_collector_is_that_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let done = ranks(4, |comm| {
        // Ranks 2 and 3 are a group without room.
        let size = if comm.rank() < 2 { 100 } else { 0 };
        let rule = ChunkRule::Merged(Grouping::Fixed(NonZeroU32::new(2).unwrap()));
        let builder = Builder::new().fsblksize(512).rule(rule);
        let mut file = builder.chunksize(size).create(comm, &path).unwrap();
        file.coll_write(b"x").and_then(|()| file.close().map(drop)).unwrap_err()
    });
    let expected = (Some(2), Code::Refused);
    assert!(done.iter().all(|error| (error.rank(), error.code()) == expected), "{done:?}");
}

/// A collector does not wait for a record of a rank that does something else.
#[test]
fn a_merged_write_that_other_ranks_do_not_make_is_an_error_of_all() {
    for size in [2, 3] {
        for (odd, call) in (0..size).flat_map(|odd| [(odd, "commit"), (odd, "close")]) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            let done = ranks(size, |comm| {
                let is_odd = comm.rank() == odd;
                let builder = Builder::new().rule(ChunkRule::Merged(Grouping::WHOLE_FILE));
                let mut file = builder.chunksize(1000).create(comm, &path).unwrap();
                file.coll_write(b"first").unwrap();
                let done = match call {
                    _ if !is_odd => file.coll_write(b"second"),
                    "commit" => file.commit(),
                    _ => return file.close().map(drop).unwrap_err().code(),
                };
                done.unwrap_err().code()
            });
            assert!(
                done.iter().all(|&code| code == Code::Differ),
                "{odd} of {size}, {call}: {done:?}"
            );
        }
    }
}

#[test]
fn a_record_of_any_length_reaches_its_collector() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let record = |rank: u32| vec![rank as u8 + 1; rank as usize * 70_000];
    let done = ranks(3, |comm| {
        let rank = comm.rank();
        let builder = Builder::new().rule(ChunkRule::Merged(Grouping::WHOLE_FILE));
        let mut file = builder.chunksize(1000).create(comm, &path)?;
        file.coll_write(&record(rank))?;
        file.close().map(drop)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let mut stream = Vec::new();
    let set = serial::File::open(&path).unwrap();
    set.stream(0).unwrap().read_to_end(&mut stream).unwrap();
    assert!(stream == (0..3).flat_map(record).collect::<Vec<_>>());
}
