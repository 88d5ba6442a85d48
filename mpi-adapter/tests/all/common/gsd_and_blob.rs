//! A GSD file and a blob set that all ranks write and read.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::Path;
use striae::gsd::Durability;
use striae_core::cdf::{Definition, DimDef, Type, VarDef};
use striae_mpi::blob::{Builder, Request};
use striae_mpi::gsd::Rows;
use striae_mpi::{Collective, Error, blob, gsd};

/// The rows of a rank: as many as its number.
fn rows(rank: u32, frame: u32) -> Vec<f32> {
    (0..3 * rank).map(|i| (i + 100 * rank + 10_000 * frame) as f32).collect()
}

fn all_rows(size: u32, frame: u32) -> Vec<f32> {
    (0..size).flat_map(|rank| rows(rank, frame)).collect()
}

/// The values of a record: three cells for each rank.
fn cells(size: u32, record: u64) -> Vec<f64> {
    (0..3 * size).map(|cell| f64::from(cell) + 1000.0 * record as f64).collect()
}

/// What each rank does.
pub(crate) fn write_and_read<C: Collective>(
    comm: C,
    folder: &Path,
    durability: Durability,
) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let path = folder.join("a.gsd");
    let builder = gsd::Builder::new().checksums(true).durability(durability);
    let mut file = builder.create(comm, &path)?;
    for frame in 0..3 {
        let rows = rows(rank, frame);
        file.write(&[Rows::new().chunk("particles/position", &rows, 3)])?;
        file.end_frame();
        file.commit()?;
    }
    // What is durable is also appended to and converted: the rest is for many short runs.
    let is_long = durability == Durability::OnCommit;
    let comm = write_set(file.close()?, &folder.join("a"), is_long)?;
    let file = gsd::File::open(comm, &path)?;
    let part = file.read::<f32>(&file.chunk(1, "particles/position")?)?;
    let (start, end) = (3 * part.rows.start as usize, 3 * part.rows.end as usize);
    assert_eq!(part.values, all_rows(size, 1)[start..end]);
    let set = blob::Set::open(file.into_comm(), folder.join("a"))?;
    let part = set.read::<f64>("heat")?;
    assert!(part.is_whole);
    // The records are dealt if there are enough, else the cells.
    let record = |at: u64| cells(size, part.start[0] + at).split_off(part.start[1] as usize);
    let expected = (0..part.count[0]).flat_map(|at| record(at)[..part.count[1] as usize].to_vec());
    assert_eq!(part.values, expected.collect::<Vec<_>>());
    if is_long {
        let whole = folder.join("whole.nc");
        assert!(blob::Convert::new().run(&set, &whole)?.is_whole);
        let file = striae::cdf::File::open(&whole).unwrap();
        let heat = file.read::<f64>(file.variable("heat").unwrap()).unwrap();
        assert_eq!(heat, [cells(size, 0), cells(size, 1)].concat());
    }
    set.into_comm().free(Ok(()))
}

/// A set with a subfile for every two ranks, whose second record may be appended.
fn write_set<C: Collective>(comm: C, path: &Path, appends: bool) -> Result<C, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: u64::from(3 * size) }];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
    // Backwards, and in turn.
    let requests = (0..3).rev().map(|i| Request { offset: u64::from(i * size + rank), len: 1 });
    let requests: Vec<_> = requests.collect();
    let builder = Builder::new(&canonical).decomposition(&[1], requests.clone()).decomposed(0, 0);
    let builder = builder.subfiles(NonZeroU32::new(size.div_ceil(2)).unwrap());
    let mut writer = builder.sealed(appends).create(comm, path)?;
    for record in 0..2 {
        if appends && record == 1 {
            writer = blob::Writer::append(writer.close()?, path)?;
            assert_eq!(writer.first(), 1);
        }
        let cells = cells(size, record);
        let own: Vec<f64> = requests.iter().map(|one| cells[one.offset as usize]).collect();
        writer.put("heat", record, &own).unwrap();
    }
    writer.close()
}

/// What is in the files afterwards.
pub(crate) fn check(folder: &Path, size: u32) {
    let file = striae::gsd::OpenOptions::new().checked(true).open(folder.join("a.gsd")).unwrap();
    assert_eq!(file.frames(), 3);
    for frame in 0..3 {
        let chunk = file.chunk(frame.into(), "particles/position").unwrap();
        assert_eq!(file.read::<f32>(&chunk).unwrap(), all_rows(size, frame));
    }
    let set = striae::blob::Set::open(folder.join("a")).unwrap();
    assert_eq!(set.subfiles().count(), size.div_ceil(2) as usize);
    let heat = set.read::<f64>(set.variable("heat").unwrap()).unwrap();
    assert_eq!(heat, [cells(size, 0), cells(size, 1)].concat());
    assert!(set.is_whole());
}

/// Commits frame after frame, until rank 1 dies in the fourth.
pub(crate) fn write_and_die<C: Collective>(comm: C, folder: &Path, when: &str) -> String {
    let (rank, size) = (comm.rank(), comm.size());
    let mut committed = 0;
    let dies = |at: &str, frame: u32| {
        if rank == 1 && frame == 3 && at == when {
            std::fs::write(folder.join("gone"), "").unwrap();
            std::process::abort(); // without a word to anybody
        }
    };
    let all = || -> Result<(), Error> {
        let builder = gsd::Builder::new().checksums(true);
        let mut file = builder.create(comm, folder.join("a.gsd"))?;
        for frame in 0..1000 {
            dies("dies_before_its_rows", frame);
            let rows = rows(rank + 1, frame);
            file.write(&[Rows::new().chunk("particles/position", &rows, 3)])?;
            file.end_frame();
            dies("dies_after_its_rows", frame);
            file.commit()?;
            committed = frame + 1;
            if rank == 0 {
                // A byte for each commit: the launcher may end this rank at any time.
                let path = folder.join("committed");
                let file = std::fs::File::options().create(true).append(true).open(path);
                file.unwrap().write_all(b"x").unwrap();
            }
            dies("dies_after_a_commit", frame);
        }
        Ok(())
    };
    let done = all();
    format!("error of rank {rank} of {size} after {committed} commits: {done:?}")
}

/// The file has the frames that were committed, and perhaps one more.
pub(crate) fn check_last_commit(folder: &Path, size: u32) {
    let committed = check_commits(folder, size);
    assert!((3..=4).contains(&committed), "{committed}");
}

/// As [`check_last_commit`], after any number of commits, which it returns.
pub(crate) fn check_commits(folder: &Path, size: u32) -> u64 {
    let file = striae::gsd::OpenOptions::new().checked(true).open(folder.join("a.gsd")).unwrap();
    let committed = std::fs::metadata(folder.join("committed")).unwrap().len();
    assert!((committed..=committed + 1).contains(&file.frames()), "{}", file.frames());
    for frame in 0..file.frames() {
        let chunk = file.chunk(frame, "particles/position").unwrap();
        let all = (0..size).flat_map(|rank| rows(rank + 1, frame as u32));
        assert_eq!(file.read::<f32>(&chunk).unwrap(), all.collect::<Vec<_>>());
    }
    committed
}
