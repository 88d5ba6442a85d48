//! Laws of the writer's rules, on random requests.

use super::{stored, unit};
use core::num::NonZeroU32;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;
use striae_core::sion::filegroups::{BuddyTask, mapping};
use striae_core::sion::filename::Buddy;
use striae_core::sion::raw;
use striae_core::sion::{
    BuddySet, ChunkRule, Error, EvenFiles, FileGroups, Group, Grouping, Request,
};

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let chunksize = prop_oneof![Just(0u64), 0u64..=40, 0u64..=5000, 0u64..=1 << 40];
    let request = (chunksize, prop::bool::weighted(0.1))
        .prop_map(|(chunksize, only_sends)| Request { chunksize, only_sends });
    prop_oneof![vec(request.clone(), 1..=9), vec(request, 1..=700)]
}

fn groupings() -> impl Strategy<Value = Grouping> {
    let fixed = (1u32..=40).prop_map(|ntasks| Grouping::Fixed(unit(ntasks)));
    let collsize = prop_oneof![-1i32..=40, any::<i32>()];
    prop_oneof![fixed, collsize.prop_map(Grouping::of_collsize), Just(Grouping::WHOLE_FILE)]
}

fn fsblksizes() -> impl Strategy<Value = u32> {
    prop_oneof![Just(512), 1u32..=10, 1u32..=5000, Just(1 << 21)]
}

fn groups_of(grouping: Grouping, fsblksize: u32, requests: &[Request]) -> Vec<Group> {
    grouping.groups(unit(fsblksize), requests.iter().copied()).unwrap().collect()
}

/// The tasks of a group.
fn part<'a, T>(tasks: &'a [T], group: &Group) -> &'a [T] {
    let first = usize::try_from(group.first).unwrap();
    &tasks[first..first + usize::try_from(group.ntasks).unwrap()]
}

fn rounded(size: u64, fsblksize: u32) -> u64 {
    size.next_multiple_of(fsblksize.into())
}

proptest! {
    #![proptest_config(crate::config(512))]

    #[test]
    fn groups_have_every_task_once_and_in_order(
        requests in requests(), grouping in groupings(), fsblksize in fsblksizes(),
    ) {
        let mut next = 0;
        for group in groups_of(grouping, fsblksize, &requests) {
            prop_assert_eq!(group.first, next);
            prop_assert!(group.ntasks > 0);
            let asked: u64 = part(&requests, &group).iter().map(|task| task.chunksize).sum();
            prop_assert_eq!(group.bytes, asked);
            next += group.ntasks;
            if let Grouping::Fixed(ntasks) = grouping {
                let is_last = usize::try_from(next) == Ok(requests.len());
                let (has, most) = (group.ntasks, ntasks.get());
                prop_assert!(has == most || is_last && has < most);
            } else {
                let collector = part(&requests, &group)[0];
                prop_assert!(!collector.only_sends || group.first == 0);
            }
        }
        prop_assert_eq!(usize::try_from(next), Ok(requests.len()));
    }

    #[test]
    fn aligned_chunks_are_the_next_multiples(requests in requests(), fsblksize in fsblksizes()) {
        let sizes = stored(ChunkRule::Aligned, fsblksize, &requests).unwrap();
        let expected = requests.iter().map(|task| rounded(task.chunksize, fsblksize));
        prop_assert_eq!(sizes, expected.collect::<Vec<_>>());
    }

    #[test]
    fn packed_groups_end_at_blocks_and_only_their_last_chunk_grows(
        requests in requests(), grouping in groupings(), fsblksize in fsblksizes(),
    ) {
        let sizes = stored(ChunkRule::Packed(grouping), fsblksize, &requests).unwrap();
        prop_assert_eq!(sizes.len(), requests.len());
        for group in groups_of(grouping, fsblksize, &requests) {
            let (sizes, asked) = (part(&sizes, &group), part(&requests, &group));
            prop_assert_eq!(sizes.iter().sum::<u64>(), rounded(group.bytes, fsblksize));
            let before_last = sizes.len() - 1;
            for (size, task) in sizes.iter().zip(asked).take(before_last) {
                prop_assert_eq!(*size, task.chunksize);
            }
            prop_assert!(sizes[before_last] >= asked[before_last].chunksize);
        }
    }

    #[test]
    fn a_merging_collector_has_room_for_its_group(
        requests in requests(), grouping in groupings(), fsblksize in fsblksizes(),
    ) {
        let sizes = stored(ChunkRule::Merged(grouping), fsblksize, &requests).unwrap();
        prop_assert_eq!(sizes.len(), requests.len());
        for group in groups_of(grouping, fsblksize, &requests) {
            let (sizes, asked) = (part(&sizes, &group), part(&requests, &group));
            prop_assert_eq!(sizes[0], rounded(group.bytes, fsblksize));
            for (size, task) in sizes.iter().zip(asked).skip(1) {
                prop_assert_eq!(*size, rounded(task.chunksize, fsblksize));
            }
        }
    }

    #[test]
    fn chunks_that_no_file_can_hold_are_refused(
        requests in vec(prop_oneof![0u64..100, (1u64 << 60)..(1 << 62), any::<u64>()], 1..12),
        grouping in groupings(),
        fsblksize in fsblksizes(),
        kind in 0usize..3,
    ) {
        let rule = [ChunkRule::Aligned, ChunkRule::Packed(grouping), ChunkRule::Merged(grouping)];
        let sum = |sizes: &[u64]| sizes.iter().map(|&size| u128::from(size)).sum::<u128>();
        let longest = u128::from(u64::try_from(i64::MAX).unwrap());
        // at most: each chunk is rounded, and for a merging collector the group's sum is
        let slack = u128::from(fsblksize) * 12;
        match stored(rule[kind], fsblksize, &requests) {
            Ok(sizes) => prop_assert!(sum(&sizes) <= longest && sum(&requests) <= longest),
            Err(Error::OutOfRange { field, value, min: 0, max }) => {
                prop_assert_eq!(field, raw::ChunksizeEntry::chunksize);
                prop_assert!(value > max);
                prop_assert!(sum(&requests) * 2 + slack > longest);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn the_longest_block_is_not_refused_and_one_byte_more_is() {
    let longest = u64::try_from(i64::MAX).unwrap() - 1088; // META1's
    let whole = ChunkRule::Packed(Grouping::WHOLE_FILE);
    for rule in [ChunkRule::Aligned, whole, ChunkRule::Merged(Grouping::Automatic)] {
        assert_eq!(stored(rule, 1, &[longest]), Ok(vec![longest]));
        let refused = Err(Error::OutOfRange {
            field: raw::ChunksizeEntry::chunksize,
            value: 3,
            min: 0,
            max: 2,
        });
        assert_eq!(stored(rule, 1, &[longest - 2, 3]), refused);
        assert!(stored(rule, 512, &[longest]).is_err(), "{rule:?}");
    }
    assert_eq!(stored(ChunkRule::Aligned, 512, &[0u64; 0]), Ok(vec![]));
    assert_eq!(stored(whole, 512, &[0u64; 0]), Ok(vec![]));
}

/// A set in which any task may be in any file.
#[derive(Debug, Clone)]
struct Listed(Vec<Vec<u32>>);

impl FileGroups for Listed {
    fn nfiles(&self) -> u32 {
        self.0.len().try_into().unwrap()
    }

    fn ntasks(&self, file: u32) -> u32 {
        self.0
            .get(usize::try_from(file).unwrap())
            .map_or(0, |tasks| tasks.len().try_into().unwrap())
    }

    fn globalrank(&self, file: u32, local: u32) -> Option<u32> {
        let tasks = self.0.get(usize::try_from(file).unwrap())?;
        tasks.get(usize::try_from(local).unwrap()).copied()
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        (0..).zip(&self.0).find_map(|(file, tasks)| {
            let local = tasks.iter().position(|&rank| rank == globalrank)?;
            Some((file, u32::try_from(local).unwrap()))
        })
    }
}

fn listed() -> impl Strategy<Value = Listed> {
    (1usize..=9, vec(any::<prop::sample::Index>(), 0..40)).prop_map(|(nfiles, places)| {
        let mut files = vec![Vec::new(); nfiles];
        (0..).zip(places).for_each(|(rank, place)| files[place.index(nfiles)].push(rank));
        Listed(files)
    })
}

/// Ranks and addresses of file groups are each other's inverse, without gaps.
fn is_a_partition(groups: &impl FileGroups, ntasks: u32) -> Result<(), TestCaseError> {
    let mut seen = 0;
    for file in 0..groups.nfiles() {
        for local in 0..groups.ntasks(file) {
            if let Some(rank) = groups.globalrank(file, local) {
                prop_assert_eq!(groups.address(rank), Some((file, local)));
                seen += 1;
            }
        }
        prop_assert_eq!(groups.globalrank(file, groups.ntasks(file)), None);
    }
    prop_assert_eq!(groups.ntasks(groups.nfiles()), 0);
    prop_assert_eq!(groups.globalrank(groups.nfiles(), 0), None);
    prop_assert_eq!((seen, mapping(groups).count()), (ntasks, usize::try_from(ntasks).unwrap()));
    Ok(())
}

proptest! {
    #![proptest_config(crate::config(256))]

    #[test]
    fn even_files_have_every_task_once_and_the_last_one_what_is_left(
        ntasks in 1u32..300, nfiles in 1u32..40,
    ) {
        let files = EvenFiles::new(ntasks.into(), nfiles.into());
        if nfiles > ntasks {
            let (value, max) = (nfiles.into(), ntasks.into());
            let field = raw::Meta1::nfiles;
            prop_assert_eq!(files, Err(Error::OutOfRange { field, value, min: 1, max }));
            return Ok(());
        }
        let files = files.unwrap();
        is_a_partition(&files, ntasks)?;
        let ranks_of = |file| (0..).map_while(move |local| files.globalrank(file, local));
        let ranks = (0..nfiles).flat_map(ranks_of);
        prop_assert!(ranks.eq(0..ntasks));
        prop_assert!((0..nfiles - 1).all(|file| files.ntasks(file) == ntasks / nfiles));
        prop_assert_eq!(files.ntasks(nfiles - 1), ntasks / nfiles + ntasks % nfiles);
    }

    #[test]
    fn a_buddy_set_has_each_stream_once_more_and_in_another_file(
        groups in listed(), level in 0u32..10,
    ) {
        let (nfiles, ntasks) = (groups.nfiles(), u32::try_from(mapping(&groups).count()).unwrap());
        let set = match BuddySet::new(&groups, Buddy(level)) {
            Ok(set) => set,
            Err(error) => {
                prop_assert!(level + 1 >= nfiles, "{error}");
                return Ok(());
            }
        };
        is_a_partition(&set, ntasks)?;
        let mut keepers = HashSet::new();
        for file in 0..nfiles {
            let keeper = set.kept_with(file).unwrap();
            prop_assert!(keeper != file && keeper < nfiles);
            prop_assert_eq!(set.keeps(keeper), Some(file));
            prop_assert_eq!((keeper + level + 1) % nfiles, file);
            let tasks: Vec<_> = set.tasks(file).collect();
            let keeping = groups.0[usize::try_from(keeper).unwrap()].iter().copied();
            let copies = groups.0[usize::try_from(file).unwrap()].iter().copied();
            let expected: Vec<_> =
                keeping.map(BuddyTask::Keeper).chain(copies.map(BuddyTask::Copy)).collect();
            prop_assert_eq!(&tasks, &expected);
            keepers.extend(tasks.iter().map(|task| task.globalrank()).filter(|&rank| rank < 0));
        }
        prop_assert_eq!(keepers.len(), usize::try_from(ntasks).unwrap());
        prop_assert_eq!((set.kept_with(nfiles), set.keeps(nfiles)), (None, None));
        for (rank, (file, local)) in (0..).zip(mapping(&set)) {
            prop_assert_eq!(set.task(file, local), Some(BuddyTask::Copy(rank)));
        }
    }
}

#[test]
fn a_buddy_set_keeps_no_copy_with_its_original() {
    let set = |nfiles, level| {
        BuddySet::new(EvenFiles::new(12, nfiles).unwrap(), Buddy(level)).map(|set| set.nfiles())
    };
    let refused = |value, min| {
        let (field, max) = (raw::Meta1::nfiles, i32::MAX.into());
        Err(Error::OutOfRange { field, value, min, max })
    };
    assert_eq!((set(2, 0), set(3, 1)), (Ok(2), Ok(3)));
    assert_eq!((set(1, 0), set(3, 2), set(3, 3)), (refused(1, 2), refused(3, 4), refused(3, 5)));
    assert!(set(12, u32::MAX).is_err());
}

#[test]
fn a_keeper_asks_for_nothing_and_has_a_negative_rank() {
    let ranks = [0, 5, i32::MAX.unsigned_abs()].map(|rank| BuddyTask::Keeper(rank).globalrank());
    assert_eq!(ranks, [-1, -6, i64::from(i32::MIN)]);
    assert_eq!(BuddyTask::Keeper(5).request(|rank| u64::from(rank) + 100), 0);
    assert_eq!(BuddyTask::Copy(5).request(|rank| u64::from(rank) + 100), 105);
}

#[test]
fn files_for_no_task_and_tasks_for_no_file_are_refused() {
    for (ntasks, nfiles) in [(0, 0), (0, 1), (1, 0), (3, 4), (1 << 31, 1), (u64::MAX, u64::MAX)] {
        assert!(EvenFiles::new(ntasks, nfiles).is_err(), "{ntasks} in {nfiles}");
    }
    // SIONlib computes the length of META1 as an int; the last file has the rest.
    for (ntasks, nfiles) in [(134_217_659, 1), (2 * 134_217_659, 2)] {
        assert!(EvenFiles::new(ntasks, nfiles).is_ok(), "{ntasks} in {nfiles}");
        assert!(EvenFiles::new(ntasks + 1, nfiles).is_err(), "{ntasks} and one in {nfiles}");
    }
    let most = u64::from(i32::MAX.unsigned_abs());
    assert_eq!(EvenFiles::new(most, most).unwrap().address(7), Some((7, 0)));
    let one = NonZeroU32::new(1).unwrap();
    assert_eq!(Grouping::of_collsize(1), Grouping::Hint(one));
}
