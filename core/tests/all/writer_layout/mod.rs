//! The writer's rules: chunk sizes, collector groups, file groups and buddy sets are SIONlib's.

mod golden;
mod laws;
mod recorded;
mod sionlib;

use core::num::NonZeroU32;
use striae_core::sion::{ChunkRule, Error, Request};

pub(crate) fn unit(fsblksize: u32) -> NonZeroU32 {
    NonZeroU32::new(fsblksize).unwrap()
}

pub(crate) fn stored<R: Into<Request> + Copy>(
    rule: ChunkRule,
    fsblksize: u32,
    requests: &[R],
) -> Result<Vec<u64>, Error> {
    let stored = rule.stored(unit(fsblksize), requests.iter().copied())?;
    assert_eq!(stored.size_hint(), (requests.len(), Some(requests.len())));
    Ok(stored.collect())
}
