//! The communicators of the writers' ranks, which are kept for the next file.

use super::{all, world};
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collect, Collective};

#[test]
fn the_communicator_of_a_writer_is_made_for_the_first_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let with = |ranks| Builder::new().collect(Collect::new().ranks_per_writer(ranks));
    for (builder, first, next) in [
        (Builder::new(), 6, 6),
        (with(1), 6, 6),
        (with(8), 6 + 3, 6 + 3), // the node, or that it is kept; each time two for shared memory
        (with(4), 6 + 5, 6 + 3), // the node is split, and freed
    ] {
        all(world(8, 8), |mut comm| {
            for expected in [first, next, next] {
                let before = comm.traffic().calls;
                let file = builder.clone().force(true).create(comm, &path).unwrap();
                comm = file.close().unwrap();
                assert_eq!(comm.traffic().calls - before, expected);
            }
            comm.free(Ok(())).unwrap();
        });
    }
}

#[test]
fn a_rank_that_has_no_file_is_the_error_of_all_ranks_also_for_the_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let collect = Collect::new().ranks_per_writer(2);
    let builder = Builder::new().force(true).collect(collect);
    for wrong in 0..4 {
        let errors = all(world(4, 4), |comm| {
            let rank = comm.rank();
            let path = folder.path().join(format!("{wrong}.sion"));
            let comm = builder.create(comm, path).unwrap().close().unwrap();
            let path = folder.path().join(if rank == wrong { "no/b.sion" } else { "b.sion" });
            builder.create(comm, path).unwrap_err()
        });
        for error in errors {
            let missing = Code::Io(2); // ENOENT
            assert_eq!((error.rank(), error.code()), (Some(wrong), missing), "{error}");
        }
    }
}
