//! Work on many tasks by a few threads.

use crate::error::Error;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// Lets `threads` threads, at most, take one item after another. Each has a worker of its own, made
/// by `worker`. The first error ends all of them.
///
/// # Errors
/// The first that an item, or the work on it, has.
pub(crate) fn for_each<T, W>(
    items: impl Iterator<Item = Result<T, Error>> + Send,
    threads: NonZeroUsize,
    worker: impl Fn() -> W + Sync,
) -> Result<(), Error>
where
    W: FnMut(T) -> Result<(), Error>,
{
    let items = Mutex::new(Some(items));
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let next = || {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        items.as_mut().and_then(Iterator::next)
    };
    let run = || {
        let mut work = worker();
        while let Some(item) = next() {
            if let Err(error) = item.and_then(&mut work) {
                items.lock().unwrap_or_else(PoisonError::into_inner).take();
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            // Fewer threads than asked for do the work as well.
            if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// As many threads as the machine has processors.
pub(crate) fn all_processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
