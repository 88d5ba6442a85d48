//! Calls that all ranks must make alike, and what is in the files when one of them makes another.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use striae::gsd::Durability;
use striae_core::cdf::{Definition, DimDef, Type, VarDef};
use striae_core::span::Span;
use striae_mpi::blob::{Request, Writer};
use striae_mpi::gsd::Rows;
use striae_mpi::{Collect, Collective, Error, blob, direct, gsd, sion};

/// Where a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// A communicator, and a file of each format.
    Fresh,
    /// A set with one commit, and data after it.
    Sion(Kind),
    /// A GSD file with one commit, and a frame after it.
    Gsd,
    /// A new blob set.
    Blob,
    /// A file of each format that all ranks read.
    SionReader,
    GsdReader,
    BlobReader,
    /// A file that the ranks of a node read in batches.
    Batches,
}

/// How a set is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OneFile,
    Sealed,
    TwoFiles,
    /// A file for each rank.
    Alone,
    Collected,
    Buddies,
}

pub(crate) const KINDS: [Kind; 6] =
    [Kind::OneFile, Kind::Sealed, Kind::TwoFiles, Kind::Alone, Kind::Collected, Kind::Buddies];

/// The calls of a state.
pub(crate) fn calls(state: State) -> &'static [&'static str] {
    match state {
        State::Fresh => &[
            "create sion",
            "reopen sion",
            "open sion",
            "create gsd",
            "reopen gsd",
            "open gsd",
            "create blob",
            "append blob",
            "open blob",
            "drop",
        ],
        State::Sion(_) => &["write_all", "advance", "commit", "commit_set", "close", "drop"],
        State::Gsd => &["write", "end_frame", "commit", "close", "drop"],
        State::Blob => &["flush", "close", "drop"],
        State::SionReader => &["check", "close", "drop"],
        State::GsdReader => &["chunk", "read", "read_rows", "drop"],
        State::BlobReader => &["read", "convert", "lost", "drop"],
        State::Batches => &["read", "close", "drop"],
    }
}

/// Two calls of a state that are not the same.
pub(crate) fn pairs(state: State) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = calls(state);
    all.iter()
        .flat_map(move |one| all.iter().map(move |other| (*one, *other)))
        .filter(|(one, other)| one != other)
}

fn first(rank: u32) -> Vec<u8> {
    (0..100 + rank).map(|at| (at * 7 + rank) as u8).collect()
}

fn rows(rank: u32) -> Vec<u32> {
    (0..=rank).collect()
}

pub(crate) fn builder(kind: Kind, size: u32) -> sion::Builder {
    let builder = sion::Builder::new().fsblksize(512).chunksize(512).force(true);
    match kind {
        Kind::OneFile => builder,
        Kind::Sealed => builder.sealed(true),
        Kind::TwoFiles => builder.sealed(true).nfiles(2),
        Kind::Alone => builder.nfiles(size),
        Kind::Collected => builder.collect(Collect::new().ranks_per_writer(2).buffer(128)),
        Kind::Buddies => builder.nfiles(2).buddies(1),
    }
}

const CELLS: u64 = 3;

/// The definition of a set of `size` ranks.
pub(crate) fn with_definition<R>(size: u32, work: impl FnOnce(&Definition<'_>) -> R) -> R {
    let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: CELLS * u64::from(size) }];
    work(&Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] })
}

pub(crate) fn blob_builder<'d>(
    definition: &'d Definition<'d>,
    rank: u32,
) -> blob::Builder<'d, Definition<'d>> {
    let mine = vec![Request { offset: CELLS * u64::from(rank), len: CELLS }];
    blob::Builder::new(definition).decomposition(&[1], mine).decomposed(0, 0)
}

fn create_blob<C: Collective>(comm: C, path: &Path, force: bool) -> Result<Writer<C>, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    with_definition(size, |definition| {
        let two = NonZeroU32::new(size.min(2)).unwrap();
        blob_builder(definition, rank).subfiles(two).force(force).create(comm, path)
    })
}

pub(crate) fn gsd_builder() -> gsd::Builder {
    gsd::Builder::new().durability(Durability::None).force(true)
}

/// Makes a file of each format; all ranks call this.
pub(crate) fn prepare<C: Collective>(comm: C, folder: &Path) -> Result<C, Error> {
    let rank = comm.rank();
    let mut file = builder(Kind::Sealed, comm.size()).create(comm, folder.join("a.sion"))?;
    file.write(&first(rank)).unwrap();
    let mut file = gsd_builder().create(file.close()?, folder.join("a.gsd"))?;
    file.write(&[Rows::new().chunk("x", &rows(rank), 1)])?;
    file.end_frame();
    let mut writer = create_blob(file.close()?, &folder.join("a"), true)?;
    writer.put("heat", 0, &[f64::from(rank); CELLS as usize]).unwrap();
    writer.close()
}

/// All files of a folder, with their bytes.
pub(crate) fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap_or_default())
    });
    files.collect()
}

/// What becomes of a rank: the error of a call, or nothing if it has dropped what it had.
pub(crate) type Outcome = Option<Error>;

fn error<T>(done: Result<T, Error>, call: &str) -> Outcome {
    match done {
        Ok(_) => panic!("{call}: there must be an error"),
        Err(error) => Some(error),
    }
}

/// Makes a call with a communicator, in a folder with a file of each format.
pub(crate) fn fresh<C: Collective>(comm: C, call: &str, folder: &Path) -> Outcome {
    let [a, gsd, set] = ["a.sion", "a.gsd", "a"].map(|name| folder.join(name));
    match call {
        "create sion" => error(builder(Kind::OneFile, comm.size()).create(comm, a), call),
        "reopen sion" => error(sion::Reopen::new().open(comm, a), call),
        "open sion" => error(sion::OpenOptions::new().open(comm, a), call),
        "create gsd" => error(gsd_builder().create(comm, gsd), call),
        "reopen gsd" => error(gsd::Reopen::new().open(comm, gsd), call),
        "open gsd" => error(gsd::File::open(comm, gsd), call),
        "create blob" => error(create_blob(comm, &set, true), call),
        "append blob" => error(Writer::append(comm, set), call),
        "open blob" => error(blob::Set::open(comm, set), call),
        _ => None,
    }
}

/// Makes a call in a state, and then those that end the file.
pub(crate) fn make<C: Collective + 'static>(
    comm: C,
    state: State,
    call: &str,
    folder: &Path,
) -> Outcome {
    match state {
        State::Fresh => fresh(comm, call, folder),
        State::Sion(kind) => with_sion(comm, kind, call, folder),
        State::Gsd => with_gsd(comm, call, folder),
        State::Blob => with_blob(comm, call, folder),
        _ => read(comm, state, call, folder),
    }
}

fn with_sion<C: Collective>(comm: C, kind: Kind, call: &str, folder: &Path) -> Outcome {
    let rank = comm.rank();
    let mut file = builder(kind, comm.size()).create(comm, folder.join("b.sion")).unwrap();
    file.write(&first(rank)).unwrap();
    file.commit().unwrap();
    file.advance(1000).unwrap();
    file.write(&[1; 50]).unwrap();
    let mut all = || -> Result<(), Error> {
        match call {
            // Its error is that of the ranks of a file; all learn of it at the commit.
            "write_all" => drop(file.coll_write(&[2; 40])),
            "advance" => file.advance(600)?,
            "commit" => file.commit()?,
            "commit_set" => file.commit_set()?,
            _ => {}
        }
        file.commit()
    };
    match call {
        "drop" => None,
        "close" => error(file.close(), call),
        _ => error(all().and_then(|()| file.close()), call),
    }
}

fn with_gsd<C: Collective>(comm: C, call: &str, folder: &Path) -> Outcome {
    let rank = comm.rank();
    let mut file = gsd_builder().create(comm, folder.join("b.gsd")).unwrap();
    for frame in 0..2 {
        file.write(&[Rows::new().chunk("x", &rows(rank + frame), 1)]).unwrap();
        file.end_frame();
        if frame == 0 {
            file.commit().unwrap();
        }
    }
    let mut all = || -> Result<(), Error> {
        match call {
            "write" => file.write(&[Rows::new().chunk("x", &rows(rank), 1)])?,
            "end_frame" => drop(file.end_frame()),
            "commit" => file.commit()?,
            _ => {}
        }
        file.commit()
    };
    match call {
        "drop" => None,
        "close" => error(file.close(), call),
        _ => error(all().and_then(|()| file.close()), call),
    }
}

fn with_blob<C: Collective>(comm: C, call: &str, folder: &Path) -> Outcome {
    let rank = comm.rank();
    let mut writer = create_blob(comm, &folder.join("c"), false).unwrap();
    writer.put("heat", 0, &[f64::from(rank); CELLS as usize]).unwrap();
    match call {
        "drop" => None,
        "close" => error(writer.close(), call),
        _ => error(writer.flush().and_then(|()| writer.close()), call),
    }
}

fn read<C: Collective>(comm: C, state: State, call: &str, folder: &Path) -> Outcome {
    let all = || -> Result<(), Error> {
        match state {
            State::SionReader => {
                let set = sion::OpenOptions::new().open(comm, folder.join("a.sion")).unwrap();
                match call {
                    "drop" => return Ok(()),
                    "check" => drop(set.check()?),
                    _ => {}
                }
                set.close(Ok(())).map(drop)
            }
            State::GsdReader => {
                let file = gsd::File::open(comm, folder.join("a.gsd")).unwrap();
                let chunk = file.chunk(0, "x").unwrap();
                match call {
                    "drop" => return Ok(()),
                    "chunk" => drop(file.chunk(0, "x")?),
                    "read" => drop(file.read::<u32>(&chunk)?),
                    _ => drop(file.read_rows::<u32>(&chunk, 0..1)?),
                }
                file.chunk(0, "x").map(drop)
            }
            State::Batches => {
                let file = direct::File::open(comm, folder.join("a.sion")).unwrap();
                if call == "read" {
                    drop(file.read(&[Span::new(0, 8).unwrap()])?);
                }
                if call == "drop" { Ok(()) } else { file.close() }
            }
            _ => {
                let set = blob::Set::open(comm, folder.join("a")).unwrap();
                match call {
                    "drop" => return Ok(()),
                    "read" => drop(set.read::<f64>("heat")?),
                    "lost" => drop(set.lost()?),
                    _ => drop(blob::Convert::new().run(&set, folder.join("d.nc"))?),
                }
                set.read::<f64>("heat").map(drop)
            }
        }
    };
    match call {
        "drop" => all().map_or_else(Some, |()| None),
        _ => error(all(), call),
    }
}

/// Whether a set has several files.
pub(crate) fn is_of_several(state: State) -> bool {
    !matches!(state, State::Sion(Kind::OneFile | Kind::Sealed | Kind::Collected))
}

/// The files are those of the last commit that all ranks made, when one made another of `calls`.
pub(crate) fn check(state: State, folder: &Path, size: u32, calls: [&str; 2]) {
    // Where one rank has a file alone, it may write a record before a commit of all.
    let is_legal = ["write_all", "commit"].iter().all(|call| calls.contains(call));
    let has_alone = size < 4 || matches!(state, State::Sion(Kind::Alone));
    let goes_on = is_legal && is_of_several(state) && has_alone;
    match state {
        State::Fresh | State::SionReader | State::GsdReader | State::Batches => {}
        State::BlobReader => assert!(!folder.join("d.nc").exists()),
        State::Sion(_) => {
            let set = striae::sion::File::open(folder.join("b.sion")).unwrap();
            assert_eq!(set.ntasks(), u64::from(size));
            for task in 0..size {
                let mut found = Vec::new();
                set.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
                let next = [first(task), vec![1; 50]].concat();
                let is_right = found == first(task) || goes_on && found.starts_with(&next);
                let len = found.len();
                assert!(is_right, "{state:?} of {size}, {calls:?}: task {task} has {len} bytes");
            }
        }
        State::Gsd => {
            let file = striae::gsd::File::open(folder.join("b.gsd")).unwrap();
            assert_eq!(file.frames(), 1);
            let chunk = file.chunk(0, "x").unwrap();
            let expected: Vec<u32> = (0..size).flat_map(rows).collect();
            assert_eq!(file.read::<u32>(&chunk).unwrap(), expected);
        }
        State::Blob => {
            let names: Vec<_> = snapshot(folder).into_keys().collect();
            assert!(names.iter().all(|name| !name.starts_with("c.")), "{names:?}");
        }
    }
}
