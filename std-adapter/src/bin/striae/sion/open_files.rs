//! How many files may be open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::num::NonZeroU32;

/// Files that are open besides those of a new set.
const OTHERS: u64 = 256;

/// Lets the program write a set of so many files, all of which are open at once: often only the
/// soft limit forbids that. If the hard one does, too, opening says so.
pub(super) fn open_many(nfiles: NonZeroU32) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = u64::from(nfiles.get()).saturating_add(OTHERS);
    let wanted = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
