//! Ranks that are threads meet the faults of the table.

use crate::common::faults;
use crate::world::ranks;
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collective};

#[test]
fn at_each_fault_all_ranks_get_one_error_or_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let done = ranks(faults::RANKS, |comm| faults::meet(&comm, folder.path()));
    assert!(done.iter().all(|other| *other == done[0]), "{done:#?}");
}

#[test]
fn when_a_rank_leaves_before_the_close_the_others_get_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let codes = ranks(faults::RANKS, |comm| {
        let rank = comm.rank();
        let mut file = Builder::new().create(comm, folder.path().join("a")).unwrap();
        file.write(b"x").unwrap();
        if rank == 1 {
            return None;
        }
        Some(file.close().map(drop).unwrap_err().code())
    });
    assert_eq!(codes, [Some(Code::Lost), None, Some(Code::Lost), Some(Code::Lost)]);
}
