//! Processes that go on with a set of which a rank is gone.

use std::io::Read;
use std::path::Path;
use striae_mpi::mpi::Rank;
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collective, Error};

/// What a rank writes at a time: more than a chunk.
fn bytes(rank: u32) -> Vec<u8> {
    (0..700 + rank * 90).map(|i| (i * 7 + rank) as u8).collect()
}

/// Rank 1 is gone after the first commit. The others go on. Returns their error.
pub(crate) fn go_on(world: &Rank, ranks: Rank, scenario: &str, folder: &Path) -> Error {
    let bytes = bytes(world.rank());
    let builder = Builder::new().fsblksize(512).chunksize(512).sealed(true);
    let mut file = builder.create(ranks, folder.join("a")).unwrap();
    file.advance(bytes.len() as u64).unwrap();
    file.write(&bytes).unwrap();
    file.commit().unwrap();
    file.advance(2 * bytes.len() as u64).unwrap();
    file.write(&bytes).unwrap();
    if world.rank() == 1 {
        std::fs::write(folder.join("gone"), "").unwrap();
        match scenario {
            "goes_on_after_a_death" => std::process::abort(),
            _ => loop {
                std::thread::park();
            },
        }
    }
    let error = file.commit().unwrap_err();
    let left = world.shrink().unwrap();
    assert_eq!(left.size(), world.size() - 1);
    file.continue_on(left.split(Ok(0)).unwrap()).unwrap();
    file.write(&bytes).unwrap();
    file.commit().unwrap();
    file.close().unwrap();
    error
}

/// Rank 0 comes when the others have gone on without it: it is lost, and does not disturb them.
pub(crate) fn come_late(comm: &Rank, folder: &Path) -> String {
    let [others, late] = ["others", "late"].map(|name| folder.join(name));
    let wait_for = |path: &Path| {
        while !path.exists() {
            std::thread::yield_now();
        }
    };
    comm.agree(Ok(())).unwrap();
    if comm.rank() == 0 {
        wait_for(&others);
        _ = comm.agree(Ok(())); // their messages are all there
        assert_eq!(comm.shrink().map(drop).unwrap_err().code(), Code::Lost);
        std::fs::write(&late, "").unwrap();
        return "ok".into();
    }
    comm.agree(Ok(())).unwrap_err();
    let left = comm.shrink().unwrap();
    let all = u64::from(comm.size() - 1);
    assert_eq!(left.total(Ok([1])).unwrap(), [all]);
    std::fs::write(&others, "").unwrap();
    wait_for(&late);
    assert_eq!(left.total(Ok([1])).unwrap(), [all]);
    "ok".into()
}

/// The set is closed, and has what the ranks wrote after one was gone.
pub(crate) fn check(folder: &Path, size: u32) {
    let file = striae::sion::File::open(folder.join("a")).unwrap();
    for task in 0..size {
        let mut found = Vec::new();
        file.stream(task.into()).unwrap().read_to_end(&mut found).unwrap();
        let parts = if task == 1 { 1 } else { 3 };
        assert!(found == bytes(task).repeat(parts), "task {task}: {} bytes", found.len());
    }
}
