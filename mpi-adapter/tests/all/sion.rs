//! Ranks that share nothing but a file: whatever happens to one of them, all others get the same
//! error, and the file is that of a commit.

use crate::common::faulty::Fault;
use crate::world::{Sweep, ranks};
use std::io::{ErrorKind, Read};
use std::path::Path;
use striae::Verify;
use striae::sion::File;
use striae::sion::verify::{Sealing, state};
use striae_mpi::sion::{Builder, FileWriter};
use striae_mpi::{Code, Collective, Error, Threads};

const RANKS: u32 = 4;
const CHUNK: u64 = 512;

fn builder(sealed: bool) -> Builder {
    Builder::new().fsblksize(512).chunksize(CHUNK).sealed(sealed).force(true)
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
    builder: &Builder,
    committed: &mut u32,
) -> Result<(), Error> {
    let rank = comm.rank();
    let mut file = builder.create(comm, path)?;
    for round in 0..3 {
        write(&mut file, rank, round)?;
        if round < 2 {
            file.commit()?;
            *committed = round + 1;
        }
    }
    file.close()?;
    *committed = 3;
    Ok(())
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
        ranks(RANKS, |comm| {
            let rank = comm.rank();
            let mut file = builder(sealed).create(comm, &path).unwrap();
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
        let builder = builder(sealed);
        let sweep = Sweep { ranks: vec![0, 2, RANKS - 1], whole: 3, ..Sweep::new(RANKS) };
        sweep.run(
            || {},
            |comm, committed| program(comm, &path, &builder, committed),
            |_, rounds| {
                // The commit that failed may be in the file.
                if rounds > 0 {
                    check(&path, [rounds, rounds + 1], sealed);
                }
            },
        );
    }
}

#[test]
fn a_file_that_cannot_be_made_is_the_error_of_rank_0_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no folder").join("a.sion");
    let done = ranks(RANKS, |comm| {
        let mut rounds = 0;
        let error = program(comm, &path, &builder(false), &mut rounds).unwrap_err();
        (rounds, error.rank(), error.code())
    });
    let not_found = Code::Io(2); // ENOENT
    assert_eq!(done, [(0, Some(0), not_found); RANKS as usize]);
}

#[test]
fn several_files_take_two_calls_more_and_a_fault_is_one_error_of_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = builder(true).nfiles(2);
    ranks(RANKS, |comm| {
        let rank = comm.rank();
        let mut file = builder.create(comm, &path).unwrap();
        // The split agrees first.
        assert_eq!((file.comm().calls(), file.whole().unwrap().calls()), (3, 2));
        write(&mut file, rank, 0).unwrap();
        let before = file.comm().calls();
        file.commit().unwrap();
        assert_eq!((file.comm().calls() - before, file.whole().unwrap().calls()), (3, 6));
        assert_eq!(file.close().unwrap().size(), RANKS); // and can be used for the next one
    });
    check(&path, [1, 1], true);

    let faults = vec![Fault::Fail, Fault::Panic, Fault::Lag];
    let sweep = Sweep { ranks: vec![0, 3], faults, whole: 3, ..Sweep::new(RANKS) };
    sweep.run(|| {}, |comm, rounds| program(comm, &path, &builder, rounds), |_, _| {});
}

#[test]
fn ranks_with_other_options_are_an_error_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let done = ranks(RANKS, |comm| {
        let differs = comm.rank() == 2;
        let builder = builder(false).prefix(if differs { b"b".into() } else { b"a".into() });
        builder.create(comm, &path).map(drop).unwrap_err()
    });
    for error in done {
        assert_eq!((error.rank(), error.code()), (Some(2), Code::Differ));
    }
}

#[test]
fn a_rank_without_room_cannot_write_and_all_learn_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let done = ranks(RANKS, |comm| {
        let size = if comm.rank() == 1 { 0 } else { CHUNK };
        let mut file = builder(false).chunksize(size).create(comm, &path).unwrap();
        assert_eq!(file.write(b"x").is_err(), size == 0);
        file.close().map(drop).unwrap_err()
    });
    assert!(done.iter().all(|error| (error.rank(), error.code()) == (Some(1), Code::Refused)));
}

/// A run of `sion_paropen_mpi`, as in `tests/golden/sion`: its name, fsblksize and number of files;
/// for each rank the requested chunk size and the lengths of its records.
type Case = (&'static str, u32, u32, &'static [(u64, &'static [u64])]);

const CASES: [Case; 6] = [
    ("m01_np1", 512, 1, &[(512, &[512, 300])]),
    ("m02_np2", 512, 1, &[(512, &[100, 200]), (512, &[512, 512, 1])]),
    (
        "m04_np8_multichunk",
        512,
        1,
        &[
            (600, &[600, 600]),
            (512, &[]),
            (512, &[1]),
            (512, &[512]),
            (700, &[300, 300, 300]),
            (1, &[1, 1, 1]),
            (2048, &[2048]),
            (512, &[511, 2]),
        ],
    ),
    (
        "m05_np8_3files",
        512,
        3,
        &[
            (512, &[100, 500]),
            (512, &[110, 500]),
            (512, &[120, 500]),
            (512, &[130, 500]),
            (512, &[140, 500]),
            (512, &[150, 500]),
            (512, &[160, 500]),
            (512, &[170, 500]),
        ],
    ),
    ("m17_np4_4files_zero", 512, 4, &[(512, &[]), (512, &[10]), (512, &[]), (512, &[512])]),
    (
        "m19_np8_posix",
        4096,
        1,
        &[
            (4096, &[4000]),
            (4096, &[4001]),
            (4096, &[4002]),
            (4096, &[4003]),
            (4096, &[4004]),
            (4096, &[4005]),
            (4096, &[4006]),
            (4096, &[4007]),
        ],
    ),
];

#[test]
fn closed_sets_are_those_of_sionlib_byte_for_byte() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    for (name, fsblksize, nfiles, requests) in CASES {
        let (folder, name) = (tempfile::tempdir().unwrap(), format!("{name}.sion"));
        let path = folder.path().join(&name);
        let builder = Builder::new().fsblksize(fsblksize).nfiles(nfiles);
        let builder = builder.prefix(name.clone().into_bytes());
        let done = Threads::new(requests.len() as u32).run(|comm| {
            let rank = comm.rank();
            let (chunksize, records) = requests[rank as usize];
            let mut file = builder.clone().chunksize(chunksize).create(comm, &path).unwrap();
            let mut at = 0;
            for len in records {
                file.ensure_free_space(*len).unwrap();
                let record: Vec<u8> = (at..at + len).map(|i| payload(i, rank)).collect();
                file.write(&record).unwrap();
                at += len;
            }
            file.close().map(drop).unwrap();
        });
        assert!(done.iter().all(Result::is_ok), "{name}");
        for number in 0..nfiles {
            let file = if number == 0 { name.clone() } else { format!("{name}.{number:06}") };
            let ours = std::fs::read(folder.path().join(&file)).unwrap();
            assert!(ours == std::fs::read(golden.join(&file)).unwrap(), "{file}");
        }
    }
}

/// What the generator of the golden files writes.
fn payload(i: u64, globalrank: u32) -> u8 {
    (i * 7 + (i >> 8) * 13 + u64::from(globalrank) * 37 + 11) as u8
}

#[test]
fn a_rank_cannot_write_where_meta2_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    ranks(RANKS, |comm| {
        let rank = comm.rank();
        let mut file = builder(false).create(comm, &path).unwrap();
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

/// It can never have a byte, so it needs no block.
#[test]
fn a_task_without_room_moves_no_block() {
    let folder = tempfile::tempdir().unwrap();
    for keyval in [false, true] {
        let path = folder.path().join(format!("{keyval}.sion"));
        ranks(2, |comm| {
            let (rank, other) = (comm.rank(), comm.rank() + 2);
            let sizes = [[CHUNK, 0], [0, 0]][rank as usize];
            let tasks = [rank, other].map(u64::from).into_iter().zip(sizes);
            let builder = builder(false).keyval(keyval).tasks(tasks.collect::<Vec<_>>());
            let mut file = builder.create(comm, &path).unwrap();
            file.commit().unwrap();
            file.advance(CHUNK * 100).unwrap();
            file.commit().unwrap();
            let len = std::fs::metadata(&path).unwrap().len();
            assert!(len < CHUNK * 200 + (1 << 16), "{len}");
            file.close().unwrap();
        });
    }
}
