//! Open sets by their numbers, and how a call fails.

use super::failure::{Failure, Numbered};
use super::set::{Opened, Set};
use crate::boundary::{errno_of, guard, remember, set_errno, set_errno_of};
use crate::called;
use libc::c_int;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open sets; an index is a `sid`.
static SETS: Mutex<Vec<Option<Arc<Mutex<Set>>>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a set the smallest free number.
///
/// # Errors
/// There are 2^31 sets.
pub fn add(set: Set) -> Result<c_int, Failure> {
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
    set.ok_or_else(|| not_open(sid))
}

fn not_open(sid: c_int) -> Failure {
    format!("sid {sid} is not open").into()
}

/// Frees a number. The set lives as long as the caller has it.
fn remove(sid: c_int) {
    let mut sets = lock(&SETS);
    if let Some(place) = usize::try_from(sid).ok().and_then(|sid| sets.get_mut(sid)) {
        *place = None;
    }
}

/// Gives up open sets, without a close.
pub(super) fn give_up(is_such: impl Fn(&Set) -> bool) {
    let sets: Vec<_> = (0..).zip(lock(&SETS).iter().cloned()).collect();
    for (sid, set) in sets {
        let Some(set) = set else { continue };
        let mut set = lock(&set);
        if !set.is_over && is_such(&set) {
            set.is_over = true;
            remove(sid);
        }
    }
}

/// Runs the body of an exported function; a failure becomes `otherwise`, with a line on stderr as
/// SIONlib writes one, unless `STRIAE_QUIET` is set.
pub fn run<T>(name: &str, otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T
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
pub fn with<T: Copy>(
    name: &str,
    sid: c_int,
    otherwise: T,
    work: impl FnOnce(&mut Set) -> Result<T, Failure>,
) -> T {
    run(name, otherwise, || on(sid, work))
}

/// Does `work` with the set of a number, inside of a call that runs already. If the set is over
/// then, its number is free.
pub(super) fn on<T>(
    sid: c_int,
    work: impl FnOnce(&mut Set) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let set = get(sid)?;
    let mut set = lock(&set);
    if set.is_over {
        return Err(not_open(sid)); // another thread has closed it meanwhile
    }
    let done = work(&mut set);
    if set.is_over {
        remove(sid);
    }
    done
}

/// Closes a set that several processes have opened so, and all of them close. It is closed also
/// after an error: no process could do more with it. Returns 1, or 0 after an error.
#[must_use]
pub fn close_parallel(name: &str, sid: c_int, opened: &[Opened]) -> c_int {
    with(name, sid, 0, |set| {
        if !opened.contains(&set.opened) || set.is_dup {
            return Err(set.fail("was opened by another function, which has another one to close"));
        }
        set.is_over = true;
        set.close().map(|()| 1)
    })
}

fn report(name: &str, error: &Failure) {
    remember(&format_args!("{name}: {error}"));
    if !called::is_quiet() && std::env::var_os("STRIAE_QUIET").is_none() {
        // Where it would be written may be closed.
        let _ = writeln!(io::stderr(), "striae: {name}: {error}");
    }
    // Last, as the line may have changed it.
    if let Some(error) = error.downcast_ref::<striae::Error>() {
        set_errno_of(error);
    } else if let Some(error) = error.downcast_ref::<Numbered>() {
        set_errno(error.errno);
    } else {
        set_errno(error.downcast_ref::<io::Error>().map_or(libc::EINVAL, errno_of));
    }
}
