//! Processes and subfiles: groups are even, and requests are inside of the array.

use core::num::NonZeroU64;
use striae_core::blob::distribute::{outside, subfile_of};
use striae_core::blob::map::{Grid, Request};

#[test]
fn every_subfile_has_ranks_that_follow_each_other() {
    for nprocs in 1..20_u64 {
        for nsubfiles in 1..=nprocs {
            let of = |rank| subfile_of(rank, NonZeroU64::new(nprocs).unwrap(), nsubfiles).unwrap();
            let all: Vec<_> = (0..nprocs).map(of).collect();
            assert!(all.is_sorted());
            let counts = (0..nsubfiles).map(|n| all.iter().filter(|&&other| other == n).count());
            let counts: Vec<_> = counts.collect();
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        }
    }
    assert_eq!(subfile_of(2, NonZeroU64::MIN, u64::MAX), None);
}

#[test]
fn requests_outside_of_the_array_or_of_4_bytes_are_found() {
    let request = |offset, len| Request { offset, len };
    let grid = Grid::new(&[3, 1 << 40]).unwrap();
    let max = 0x7fff_ffff;
    assert_eq!(outside(&[request(0, 0), request(max, max)], grid), None);
    for wrong in [request(max + 1, 0), request(0, max + 1), request(u64::MAX, 2)] {
        assert_eq!(outside(&[request(0, 3), wrong], grid), Some(wrong));
    }
    let grid = Grid::new(&[3, 4]).unwrap();
    assert_eq!(outside(&[request(0, 12), request(12, 0)], grid), None);
    assert_eq!(outside(&[request(11, 2)], grid), Some(request(11, 2)));
}
