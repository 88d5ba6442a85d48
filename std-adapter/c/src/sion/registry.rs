//! Open sets by their numbers, and how a call fails.

use super::set::{Failure, Set};
use crate::boundary::{errno_of, guard, remember, set_errno, set_errno_of};
use libc::c_int;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open sets; an index is a `sid`.
static SETS: Mutex<Vec<Option<Arc<Mutex<Set>>>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a set the smallest free number.
pub(super) fn add(set: Set) -> Result<c_int, Failure> {
    let mut sets = lock(&SETS);
    let free = sets.iter().position(Option::is_none).unwrap_or(sets.len());
    let sid = c_int::try_from(free)?;
    let set = Some(Arc::new(Mutex::new(set)));
    match sets.get_mut(free) {
        Some(place) => *place = set,
        None => sets.push(set),
    }
    Ok(sid)
}

/// The set of a number.
fn get(sid: c_int) -> Result<Arc<Mutex<Set>>, Failure> {
    let sets = lock(&SETS);
    let set = usize::try_from(sid).ok().and_then(|sid| sets.get(sid)?.clone());
    set.ok_or_else(|| format!("sid {sid} is not open").into())
}

/// Frees a number.
pub(super) fn remove(sid: c_int) {
    let mut sets = lock(&SETS);
    let place = usize::try_from(sid).ok().and_then(|sid| sets.get_mut(sid));
    let set = place.and_then(Option::take);
    drop(sets);
    drop(set); // outside the lock: it may write
}

/// Runs the body of an exported function; a failure becomes `otherwise`, with a line on stderr as
/// SIONlib writes one, unless `STRIAE_QUIET` is set.
pub(super) fn run<T>(name: &str, otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T
where
    T: Copy,
{
    guard(otherwise, || {
        body().unwrap_or_else(|error| {
            report(name, &error);
            otherwise
        })
    })
}

/// Does `work` with the set of a number.
pub(super) fn with<T: Copy>(
    name: &str,
    sid: c_int,
    otherwise: T,
    work: impl FnOnce(&mut Set) -> Result<T, Failure>,
) -> T {
    run(name, otherwise, || on(sid, work))
}

/// Does `work` with the set of a number, inside of a call that runs already.
pub(super) fn on<T>(
    sid: c_int,
    work: impl FnOnce(&mut Set) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let set = get(sid)?;
    let mut set = lock(&set);
    work(&mut set)
}

fn report(name: &str, error: &Failure) {
    if let Some(error) = error.downcast_ref::<striae::Error>() {
        set_errno_of(error);
    } else {
        set_errno(error.downcast_ref::<io::Error>().map_or(libc::EINVAL, errno_of));
    }
    remember(&format_args!("{name}: {error}"));
    if !cfg!(feature = "called") && std::env::var_os("STRIAE_QUIET").is_none() {
        // Where it would be written may be closed.
        let _ = writeln!(io::stderr(), "striae: {name}: {error}");
    }
}
