//! The limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::num::NonZeroU32;

/// Number of open files besides those of a new set.
const OTHERS: u64 = 256;

/// Raises the soft limit, so that all files of a new set can be open at once. If the hard limit
/// forbids that, opening a file reports it.
pub(super) fn open_many(nfiles: NonZeroU32) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = u64::from(nfiles.get()).saturating_add(OTHERS);
    let wanted = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
