//! Files that each rank writes by a handle of its own.

use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use std::io;
use striae_core::store::WriteAt;

/// A file that a rank, and its threads, write at any place by one handle: each type `F` for which
/// `&F` is a [`WriteAt`] with errors of the operating system. Other crates cannot implement it.
pub trait SharedFile: sealed::Sealed {
    /// The bytes of the file.
    fn io(&self) -> impl WriteAt<Error = io::Error>;
}

impl<F> SharedFile for F
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    fn io(&self) -> impl WriteAt<Error = io::Error> {
        self
    }
}

/// The name of the cache ([`WriteAt::cache`]) in which the first of all ranks syncs a file whenever
/// what they wrote must be durable. Ranks that write to the same one leave the syncs to it.
pub(crate) type Cache = Option<[u64; 3]>;

/// Whether a rank that writes to the cache `own` leaves its syncs to the first rank.
pub(crate) fn leaves_syncs(first: Cache, own: Cache) -> bool {
    first.is_some() && own == first
}

/// In a message: no name.
const NO_CACHE: [u64; 3] = [0; 3];

/// As [`Collective::agree`]; all ranks also get the cache of the first one, as it is for `mine`.
pub(crate) fn agree_in_cache<C: Collective, T>(
    comm: &C,
    mine: Result<T, Failure>,
    cache: impl FnOnce(&T) -> Cache,
) -> Result<(T, Cache), Error> {
    let words = mine.as_ref().map(|mine| words_of(comm, || cache(mine))).map_err(Clone::clone);
    let cache = cache_of(comm.combine(words, [Fold::Max; 3])?);
    Ok((mine.map_err(Error::agreed)?, cache)) // no rank has failed
}

/// What the first of all ranks tells the others; zeros at those.
pub(crate) fn words_of<C: Collective>(comm: &C, cache: impl FnOnce() -> Cache) -> [u64; 3] {
    if comm.rank() == 0 { cache().unwrap_or(NO_CACHE) } else { NO_CACHE }
}

/// What all ranks got from the first one.
pub(crate) fn cache_of(words: [u64; 3]) -> Cache {
    Some(words).filter(|words| *words != NO_CACHE)
}

mod sealed {
    #[allow(unnameable_types, reason = "no other crate may implement it")]
    pub trait Sealed {}

    impl<F> Sealed for F where for<'f> &'f F: super::WriteAt<Error = std::io::Error> {}
}
