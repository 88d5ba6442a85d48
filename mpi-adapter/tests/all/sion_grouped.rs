//! A file for each group of ranks.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::Read;
use std::path::Path;
use striae::sion as serial;
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collective, Error};

fn builder() -> Builder {
    Builder::new().fsblksize(512).chunksize(512).force(true)
}

fn bytes(rank: u32) -> Vec<u8> {
    (0..rank * 331 % 1200).map(|i| (i * 7 + rank) as u8).collect()
}

fn write<C: Collective>(comm: C, colors: &[u32], path: &Path) -> Result<(), Error> {
    let rank = comm.rank();
    let builder = builder().sealed(true).color(colors[rank as usize]);
    let mut file = builder.create(comm, path)?;
    for part in bytes(rank).chunks(600) {
        file.write(part).unwrap();
    }
    file.commit()?;
    assert!(file.close()?.size() as usize == colors.len());
    Ok(())
}

/// The ranks of each file, in order: files are numbered by their lowest ranks.
fn files(colors: &[u32]) -> Vec<Vec<u32>> {
    let mut files: Vec<(u32, Vec<u32>)> = Vec::new();
    for (rank, color) in (0..).zip(colors) {
        match files.iter_mut().find(|(other, _)| other == color) {
            Some((_, ranks)) => ranks.push(rank),
            None => files.push((*color, vec![rank])),
        }
    }
    files.into_iter().map(|(_, ranks)| ranks).collect()
}

fn check(colors: &[u32], path: &Path) {
    let set = serial::File::open(path).unwrap();
    let files = files(colors);
    assert_eq!(set.files().len(), files.len());
    let tasks = (0..).zip(&files).flat_map(|(file, ranks)| ranks.iter().map(move |r| (file, *r)));
    for ((file, rank), task) in tasks.zip(0..) {
        let entry = set.task(task).unwrap();
        assert_eq!((entry.file, entry.place.globalrank), (file, rank.into()));
        assert_eq!(set.find_globalrank(rank.into()).unwrap(), task);
        if files.len() > 1 {
            assert_eq!(set.reader().mapped(rank.into()).unwrap(), Some(task)); // by the mapping
        }
        let mut found = Vec::new();
        set.stream(task).unwrap().read_to_end(&mut found).unwrap();
        assert!(found == bytes(rank));
    }
    assert!(striae::Verify::new().sion(path, &mut |f| panic!("{f}")).unwrap().is_sound());
}

#[test]
fn a_set_with_files_of_sub_communicators_is_that_of_sionlib() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sion");
    let (folder, name) = (tempfile::tempdir().unwrap(), "m06_np4_2files_lcomm.sion");
    let path = folder.path().join(name);
    ranks(4, |comm| {
        let rank = comm.rank();
        let builder = builder().prefix(name.into()).color(rank / 2);
        let mut file = builder.create(comm, &path).unwrap();
        let byte = |i: u32| (i * 7 + (i >> 8) * 13 + rank * 37 + 11) as u8;
        file.write(&(0..rank * 50).map(byte).collect::<Vec<_>>()).unwrap();
        file.close().unwrap();
    });
    for name in [name, "m06_np4_2files_lcomm.sion.000001"] {
        let ours = std::fs::read(folder.path().join(name)).unwrap();
        assert!(ours == std::fs::read(golden.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn making_the_set_takes_eight_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    ranks(5, |comm| {
        let builder = builder().color(comm.rank() % 2);
        let file = builder.create(comm, &path).unwrap();
        // The split agrees first, and the gather last.
        let calls = file.comm().calls() + file.whole().unwrap().calls() - 1;
        assert_eq!(calls, 8);
    });
}

#[test]
fn whatever_happens_to_a_rank_of_a_group_all_ranks_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    sweep(4, |comm| write(comm, &[7, 2, 7, 2], &path), |_| {});
}

#[test]
fn colors_and_several_tasks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let errors = ranks(2, |comm| {
        let builder = builder().color(0).chunksizes(vec![1; comm.rank() as usize]);
        builder.create(comm, &path).map(drop).unwrap_err().code()
    });
    assert_eq!(errors, [Code::Refused; 2]);
    let errors =
        ranks(2, |comm| builder().color(1 << 31).create(comm, &path).map(drop).unwrap_err().code());
    assert_eq!(errors, [Code::Refused; 2]);
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(crate::config(40))]

    #[test]
    fn each_color_has_a_file(colors in prop::collection::vec(0u32..4, 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let done = ranks(colors.len() as u32, |comm| write(comm, &colors, &path));
        prop_assert!(done.iter().all(Result::is_ok));
        check(&colors, &path);
    }
}
