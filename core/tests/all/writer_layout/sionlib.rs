//! Figures that SIONlib 1.7.6 gave when its own functions were called.

use super::{stored, unit};
use core::num::NonZeroU32;
use striae_core::sion::{ChunkRule, Grouping, Request};

/// Tasks, what each asks for, fsblksize, collsize; groups of so many tasks, so many times.
type Uniform = (usize, u64, u32, i32, &'static [(u32, usize)]);

const UNIFORM: [Uniform; 17] = [
    (8, 100, 512, 4, &[(5, 1), (3, 1)]),
    (8, 100, 512, -1, &[(5, 1), (3, 1)]),
    (15, 512, 512, -1, &[(1, 15)]),
    (16, 512, 512, -1, &[(4, 4)]),
    (31, 700, 512, -1, &[(8, 3), (7, 1)]),
    (32, 700, 512, -1, &[(4, 8)]),
    (255, 1000, 4096, -1, &[(32, 7), (31, 1)]),
    (256, 1000, 512, -1, &[(16, 16)]),
    (511, 512, 512, -1, &[(32, 15), (31, 1)]),
    (600, 55, 1000, -1, &[(36, 16), (24, 1)]),
    (600, 40, 1000, -1, &[(50, 12)]),
    (600, 28, 1000, -1, &[(71, 8), (32, 1)]),
    (600, 14, 1000, -1, &[(142, 4), (32, 1)]),
    (600, 10, 4096, 0, &[(409, 1), (191, 1)]),
    (64, 100, 512, 16, &[(20, 3), (4, 1)]),
    (10, 1, 512, 1, &[(10, 1)]),
    (10, 4000, 512, 3, &[(2, 5)]),
];

#[test]
fn groups_of_tasks_that_ask_for_the_same_are_sionlibs() {
    for (ntasks, request, fsblksize, collsize, expected) in UNIFORM {
        let grouping = Grouping::of_collsize(collsize);
        let groups = grouping.groups(unit(fsblksize), std::iter::repeat_n(request, ntasks));
        let sizes: Vec<_> = groups.unwrap().map(|group| group.ntasks).collect();
        let expected: Vec<_> =
            expected.iter().flat_map(|&(size, times)| std::iter::repeat_n(size, times)).collect();
        assert_eq!(sizes, expected, "{ntasks} tasks of {request}, collsize {collsize}");
    }
}

const UNEQUAL: [u64; 9] = [300, 0, 1000, 512, 20, 20, 2000, 1, 0];

#[test]
fn chunks_of_tasks_that_ask_for_different_sizes_are_sionlibs() {
    let by_hint = Grouping::of_collsize(3);
    let of = |rule| stored(rule, 512, &UNEQUAL).unwrap();
    let packed = [300, 0, 1236, 512, 20, 492, 2048, 1, 511];
    assert_eq!(of(ChunkRule::Packed(by_hint)), packed);
    let merged = [1536, 0, 1024, 1024, 512, 512, 2048, 512, 0];
    assert_eq!(of(ChunkRule::Merged(by_hint)), merged);
}

#[test]
fn there_are_no_more_collectors_than_tasks_or_blocks() {
    let sizes = |collsize, requests: &[u64]| {
        let groups = Grouping::of_collsize(collsize).groups(unit(512), requests.iter().copied());
        groups.unwrap().map(|group| group.ntasks).collect::<Vec<_>>()
    };
    assert_eq!(sizes(-1, &[600, 600, 600, 10000]), [3, 1]); // data for 24, but 4 tasks
    assert_eq!(sizes(1, &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0]), [10]); // 10 asked for, data for 1
}

#[test]
fn tasks_that_only_send_never_begin_a_group() {
    let requests: Vec<_> = (0..)
        .zip(UNEQUAL)
        .map(|(index, chunksize)| Request { chunksize, only_sends: [1, 4, 6, 8].contains(&index) })
        .collect();
    let sizes = stored(ChunkRule::Packed(Grouping::of_collsize(3)), 512, &requests).unwrap();
    assert_eq!(sizes, [300, 0, 1236, 512, 20, 20, 2008, 1, 511]);
}

#[test]
fn groups_of_a_fixed_number_end_at_blocks() {
    let fours = ChunkRule::Packed(Grouping::Fixed(NonZeroU32::new(4).unwrap()));
    let ten = [300u64, 0, 1000, 512, 20, 20, 2000, 1, 0, 5];
    let sizes = stored(fours, 512, &ten).unwrap();
    assert_eq!(sizes, [300, 0, 1000, 748, 20, 20, 2000, 8, 0, 512]);
    // SIONlib ends in an assertion: it takes the last group, of one task, for one of four.
    let sizes = stored(fours, 512, &ten[1..]).unwrap();
    assert_eq!(sizes, [0, 1000, 512, 24, 20, 2000, 1, 27, 512]);
}

#[test]
fn tasks_that_ask_for_nothing_are_one_group() {
    // SIONlib divides by zero.
    for rule in [ChunkRule::Packed, ChunkRule::Merged] {
        assert_eq!(stored(rule(Grouping::Automatic), 512, &[0u64; 3]), Ok(vec![0; 3]));
    }
    let groups = Grouping::of_collsize(2).groups(unit(512), std::iter::repeat_n(0u64, 3));
    assert_eq!(groups.unwrap().map(|group| group.ntasks).collect::<Vec<_>>(), [3]);
}
