//! What a writer of SIONlib files decides before there is one.

use crate::{Fail, entries};
use core::num::NonZeroU32;
use striae_core::sion::filegroups::mapping;
use striae_core::sion::filename::Buddy;
use striae_core::sion::{BuddySet, ChunkRule, EvenFiles, FileGroups, Grouping, Request};

/// Requests of 8 lent bytes each, of any size.
fn requests(bytes: &[u8], has_threads: bool) -> impl Iterator<Item = Request> + Clone {
    bytes.chunks_exact(8).map(move |bytes| {
        let chunksize = bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        Request { chunksize, only_sends: has_threads && chunksize & 1 == 1 }
    })
}

fn grouping(fixed: u32, collsize: i32) -> Grouping {
    match NonZeroU32::new(fixed) {
        Some(ntasks) => Grouping::Fixed(ntasks),
        None => Grouping::of_collsize(collsize),
    }
}

fn rule(kind: u8, grouping: Grouping) -> ChunkRule {
    match kind {
        0 => ChunkRule::Aligned,
        1 => ChunkRule::Packed(grouping),
        _ => ChunkRule::Merged(grouping),
    }
}

fn even_files(ntasks: u64, nfiles: u64) -> Result<EvenFiles, Fail> {
    Ok(EvenFiles::new(ntasks, nfiles)?)
}

entries! {
    fn gate_sion_stored_chunk_sizes(
        bytes, fsblksize: u32, kind: u8, fixed: u32, collsize: i32, has_threads: bool,
    ) {
        let fsblksize = NonZeroU32::new(fsblksize).ok_or(Fail)?;
        let rule = rule(kind, grouping(fixed, collsize));
        let stored = rule.stored(fsblksize, requests(bytes, has_threads))?;
        core::hint::black_box(stored.size_hint());
        Ok(stored.fold(0, |sum, size| sum ^ size))
    }

    fn gate_sion_collector_groups(
        bytes, fsblksize: u32, fixed: u32, collsize: i32, has_threads: bool,
    ) {
        let fsblksize = NonZeroU32::new(fsblksize).ok_or(Fail)?;
        let groups = grouping(fixed, collsize).groups(fsblksize, requests(bytes, has_threads))?;
        Ok(groups.fold(0, |sum, group| {
            sum ^ group.bytes ^ u64::from(group.first) ^ u64::from(group.ntasks)
        }))
    }

    fn gate_sion_even_files(_bytes, ntasks: u64, nfiles: u64, file: u32, local: u32) {
        let files = even_files(ntasks, nfiles)?;
        core::hint::black_box((files.nfiles(), files.ntasks(file)));
        let (file, local) = files.address(files.globalrank(file, local).ok_or(Fail)?).ok_or(Fail)?;
        Ok(u64::from(file ^ local))
    }

    fn gate_sion_file_groups_mapping(_bytes, ntasks: u64, nfiles: u64) {
        let files = even_files(ntasks, nfiles)?;
        Ok(mapping(&files).fold(0, |sum, (file, local)| sum ^ u64::from(file ^ local)))
    }

    fn gate_sion_buddy_set(_bytes, ntasks: u64, nfiles: u64, buddy: u32, file: u32, local: u32) {
        let set = BuddySet::new(even_files(ntasks, nfiles)?, Buddy(buddy))?;
        core::hint::black_box((set.kept_with(file), set.keeps(file), set.nkeepers(file)));
        core::hint::black_box((set.nfiles(), set.globalrank(file, local), set.address(local)));
        let task = set.task(file, local).ok_or(Fail)?;
        Ok(task.globalrank().unsigned_abs())
    }

    fn gate_sion_buddy_tasks(_bytes, ntasks: u64, nfiles: u64, buddy: u32, file: u32) {
        let set = BuddySet::new(even_files(ntasks, nfiles)?, Buddy(buddy))?;
        let asked = set.tasks(file).fold(0, |sum, task| sum ^ task.request(u64::from));
        Ok(mapping(&set).fold(asked, |sum, (file, local)| sum ^ u64::from(file ^ local)))
    }
}
