//! What this process has made out of sight, and would leave behind if it ended now.

use super::hidden::{NEW, REPLACED};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

static STATE: Mutex<State> =
    Mutex::new(State { abandoned: false, busy: 0, next: 0, all: BTreeMap::new() });

/// That nobody is busy any more.
static IDLE: Condvar = Condvar::new();

/// How often removing is tried while threads that are still at work put something in.
const TRIES: u32 = 100;

struct State {
    /// Whether all was given up.
    abandoned: bool,
    /// How often something is just being made, published or removed.
    busy: u32,
    /// The number of what is made next: none is used twice.
    next: u64,
    /// What is to be removed, in the order in which it was made.
    all: BTreeMap<u64, What>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all that this process has made out of sight and not published, for a program that is
/// about to end because of a signal.
///
/// It may be called while other threads are at work: what they publish just now is published first,
/// and from then on this process can publish nothing, nor make anything out of sight: whoever tries
/// gets an error. Files that are open stay open, and lose their names.
///
/// A library leaves signals alone, so this is the program's to call. **Not in a signal handler**,
/// which may not wait for locks; but in a thread that waits for signals. `striae` does so: it
/// blocks SIGINT, SIGTERM and SIGHUP before it starts any thread, lets one wait for them by
/// sigwait(3), and dies of the signal when this function returns.
///
/// On NFS, a file that was removed while it is open keeps its folder, so the hidden folder stays,
/// empty.
pub fn abandon_all() {
    let mut state = state();
    state.abandoned = true;
    while state.busy > 0 {
        state = IDLE.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    let _busy = Busy::new(&mut state); // another call waits for this one
    let all = std::mem::take(&mut state.all);
    drop(state);
    // What was made first may hold what was made later.
    all.into_values().rev().for_each(What::remove);
}

/// While something is made, published or removed: [`abandon_all`] waits until this is dropped.
#[derive(Debug)]
struct Busy;

impl Busy {
    fn new(state: &mut State) -> Self {
        state.busy = state.busy.saturating_add(1);
        Self
    }

    /// # Errors
    /// That all was given up. It never waits: whoever is busy already would wait for himself.
    fn unless_abandoned() -> io::Result<Self> {
        let mut state = state();
        match state.abandoned {
            true => Err(io::Error::other("given up, as is all that this program was making")),
            false => Ok(Self::new(&mut state)),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = state();
        state.busy = state.busy.saturating_sub(1);
        IDLE.notify_all();
    }
}

/// Something to be removed.
#[derive(Debug)]
pub(super) enum What {
    /// A hidden folder with all that is in it, and the lock that says that somebody needs it.
    Hidden(PathBuf, File),
    /// A folder, unless somebody has put something there.
    Folder(PathBuf),
}

impl What {
    /// If it cannot be removed, there is nothing better to do.
    fn remove(self) {
        let (path, lock) = match self {
            Self::Hidden(path, lock) => (path, lock),
            Self::Folder(path) => return drop(fs::remove_dir(path)),
        };
        // By a new name, nobody makes another file in it.
        let mut gone = path.clone().into_os_string();
        gone.push(".gone");
        let gone = PathBuf::from(gone);
        let gone = if fs::rename(&path, &gone).is_ok() { gone } else { path };
        for part in [REPLACED, NEW] {
            remove_all(&gone.join(part));
        }
        drop(lock); // so that NFS removes it at once
        remove_all(&gone);
    }
}

/// Removes a folder, also if somebody is just making something in it.
fn remove_all(folder: &Path) {
    let is_done = |_: &u32| fs::remove_dir_all(folder).is_ok() || !folder.exists();
    (0..TRIES).find(is_done);
}

/// What is removed when this is dropped, or by [`abandon_all`].
#[derive(Debug)]
pub(crate) struct Unfinished(u64);

impl Unfinished {
    /// Makes a folder that is to be filled.
    ///
    /// # Errors
    /// The operating system's; that all was given up.
    pub(crate) fn folder(path: &Path) -> io::Result<Self> {
        Self::new(|| fs::create_dir(path).map(|()| What::Folder(path.to_owned())))
    }

    /// Makes something that is to be removed.
    pub(super) fn new(make: impl FnOnce() -> io::Result<What>) -> io::Result<Self> {
        let _busy = Busy::unless_abandoned()?;
        let what = make()?;
        let mut state = state();
        let id = state.next;
        state.next = id.saturating_add(1);
        state.all.insert(id, what);
        Ok(Self(id))
    }

    /// Lets it be published: [`abandon_all`] waits until what is returned is dropped.
    ///
    /// # Errors
    /// That all was given up.
    pub(super) fn publishing(&self) -> io::Result<Publishing<'_>> {
        Ok(Publishing { _busy: Busy::unless_abandoned()?, _of: PhantomData })
    }

    /// Leaves it where it is.
    pub(crate) fn keep(&self) {
        state().all.remove(&self.0);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Or else it is removed by whoever gives all up.
        let Ok(_busy) = Busy::unless_abandoned() else { return };
        let what = state().all.remove(&self.0);
        what.into_iter().for_each(What::remove);
    }
}

/// That what is published is not given up meanwhile. What it is of lives longer.
#[derive(Debug)]
pub(crate) struct Publishing<'a> {
    _busy: Busy,
    _of: PhantomData<&'a Unfinished>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_nothing_to_do_with_what_is_made_later() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        let kept = Unfinished::folder(&first).unwrap();
        kept.keep();
        let later = Unfinished::folder(&second).unwrap();
        drop(kept);
        assert!(first.exists() && second.exists());
        drop(later);
        assert!(first.exists() && !second.exists());
    }
}
