//! Runs work on many items with a few threads.

use crate::error::Error;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// Takes items one after another with at most `threads` threads. Each thread has its own worker,
/// made by `worker`. The first error stops all threads.
///
/// # Errors
/// The first error of an item or of a worker.
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
        let next = items.as_mut().and_then(Iterator::next);
        if next.is_none() {
            items.take(); // the last one is taken
        }
        next
    };
    let is_over = || items.lock().unwrap_or_else(PoisonError::into_inner).is_none();
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
            if is_over() || std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The number of processors of the machine.
pub(crate) fn all_processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
