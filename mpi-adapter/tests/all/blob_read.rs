//! Any number of ranks reads what any number of ranks has written.

use crate::set::{CELLS, FACES, LEVELS, RECORDS, Subfiles, serial, value};
use crate::world::ranks;
use std::path::Path;
use striae::cdf::Region;
use striae_mpi::blob::{Container, Part, Set};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error};

/// The parts of all ranks of a region of `flux` (record, level, face), as an array of the region.
fn together(parts: &[Part<i16>], region: Region<'_>) -> Vec<Option<i16>> {
    let stride = region.stride.unwrap_or(&[1, 1, 1]);
    let mut all = vec![None; region.count.iter().product::<u64>() as usize];
    for part in parts {
        let mut values = part.values.iter();
        let at = |dim: usize, i: u64| (part.start[dim] - region.start[dim]) / stride[dim] + i;
        for i in 0..part.count[0] {
            for j in 0..part.count[1] {
                for k in 0..part.count[2] {
                    let place =
                        (at(0, i) * region.count[1] + at(1, j)) * region.count[2] + at(2, k);
                    let old = all[place as usize].replace(*values.next().unwrap());
                    assert_eq!(old, None, "an element of two ranks");
                }
            }
        }
        assert_eq!(values.next(), None);
    }
    all
}

#[test]
fn the_parts_of_any_number_of_ranks_are_the_region() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let shape = [RECORDS, LEVELS, FACES];
    let regions = [
        Region { start: &[0, 0, 0], count: &shape, stride: None },
        Region { start: &[1, 0, 2], count: &[1, 2, 5], stride: None },
        Region { start: &[0, 1, 0], count: &[2, 1, 4], stride: Some(&[2, 1, 2]) },
        Region { start: &[2, 2, 6], count: &[1, 1, 1], stride: None },
        Region { start: &[0, 0, 0], count: &[0, 1, 1], stride: None },
    ];
    for container in [Container::Cdf, Container::Hdf5] {
        serial(&path, 5, container, Subfiles::Blocks(2));
        for size in [1, 2, 3, 7, 12] {
            for region in regions {
                let parts = ranks(size, |comm| {
                    let set = Set::open(comm, &path).unwrap();
                    let part = set.read_region::<i16>("flux", region).unwrap();
                    assert_eq!(set.comm().calls(), 2);
                    assert!(part.is_whole);
                    part
                });
                let stride = region.stride.unwrap_or(&[1, 1, 1]);
                let at = |dim: usize, i: u64| region.start[dim] + i * stride[dim];
                let mut expected = Vec::new();
                for i in 0..region.count[0] {
                    for j in 0..region.count[1] {
                        for k in 0..region.count[2] {
                            let element = at(1, j) * FACES + at(2, k);
                            expected.push(Some(value("flux", at(0, i), element).into()));
                        }
                    }
                }
                assert_eq!(together(&parts, region), expected, "{size} ranks, {region:?}");
            }
        }
        std::fs::remove_file(folder.path().join("a.0001")).unwrap();
    }
}

#[test]
fn all_values_of_a_variable_are_dealt_evenly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial(&path, 3, Container::Cdf, Subfiles::InTurn);
    for size in [1, 4, 50] {
        let parts = ranks(size, |comm| Set::open(comm, &path)?.read::<f32>("area"));
        let parts: Result<Vec<_>, Error> = parts.into_iter().collect();
        let values: Vec<f32> = parts.unwrap().into_iter().flat_map(|part| part.values).collect();
        let expected = (0..CELLS).map(|cell| f32::from(value("area", 0, cell)));
        assert_eq!(values, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_subfile_that_is_missing_is_known_to_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial(&path, 3, Container::Cdf, Subfiles::InTurn);
    std::fs::remove_file(folder.path().join("a.0001")).unwrap();
    let parts = ranks(4, |comm| Set::open(comm, &path)?.read::<f32>("area"));
    assert!(parts.iter().all(|part| !part.as_ref().unwrap().is_whole));
}

fn error(
    path: &Path,
    work: impl Fn(Set<Rank>, u32) -> Option<Error> + Sync,
) -> (Code, Option<u32>) {
    let errors = ranks(3, |comm| {
        let rank = comm.rank();
        work(Set::open(comm, path).unwrap(), rank).unwrap()
    });
    assert!(errors.iter().all(|error| *error == errors[0]));
    (errors[0].code(), errors[0].rank())
}

#[test]
fn what_cannot_be_read_is_one_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let none = ranks(3, |comm| Set::open(comm, &path).unwrap_err());
    assert!(none.iter().all(|error| *error == none[0] && error.rank() == Some(0)));
    serial(&path, 3, Container::Cdf, Subfiles::Blocks(1));
    let refused = (Code::Refused, Some(0));
    assert_eq!(error(&path, |set, _| set.read::<f32>("unknown").err()), refused);
    assert_eq!(error(&path, |set, _| set.read::<f64>("area").err()), refused);
    let past = |rank| if rank == 1 { [CELLS] } else { [0] };
    let read = |set: Set<Rank>, start: &[u64], count: &[u64]| {
        set.read_region::<f32>("area", Region { start, count, stride: None }).err()
    };
    assert_eq!(error(&path, |set, rank| read(set, &past(rank), &[9])), (Code::Refused, Some(1)));
    let other = |rank| [u64::from(rank == 2)];
    assert_eq!(error(&path, |set, rank| read(set, &other(rank), &[9])).0, Code::Differ);
    assert_eq!(error(&path, |set, _| read(set, &[0, 0], &[1, 1])), refused);
}
