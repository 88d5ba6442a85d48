//! The list of hidden folders that this process has made and must remove before it ends.

use super::hidden::{NEW, REPLACED};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

static STATE: Mutex<State> =
    Mutex::new(State { abandoned: false, busy: 0, next: 0, all: BTreeMap::new() });

/// Signalled when no thread is busy any more.
static IDLE: Condvar = Condvar::new();

/// How many times a removal is tried while other threads still add files.
const TRIES: u32 = 100;

struct State {
    /// Whether [`abandon_all`] was called.
    abandoned: bool,
    /// Number of threads that are making, publishing or removing something now.
    busy: u32,
    /// The next number; no number is used twice.
    next: u64,
    /// What is to be removed, in the order of creation.
    all: BTreeMap<u64, What>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unpublished output of this process, for a program that is about to end because of a
/// signal.
///
/// Other threads may be at work. A publication that has begun is finished first. From then on, this
/// process cannot publish or begin any output: each attempt returns an error. Open files stay open,
/// but lose their names.
///
/// A library does not handle signals, so the program must call this. **Do not call it in a signal
/// handler**, which must not wait for locks, but in a thread that waits for signals. `striae` does
/// this: it blocks SIGINT, SIGTERM and SIGHUP before it starts any thread, one thread waits for
/// them with sigwait(3), and the program dies of the signal when this function returns.
///
/// On NFS, a file that is removed while it is open keeps its folder, so an empty hidden folder
/// stays.
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

/// Marks this thread as busy: [`abandon_all`] waits until this is dropped.
#[derive(Debug)]
struct Busy;

impl Busy {
    fn new(state: &mut State) -> Self {
        state.busy = state.busy.saturating_add(1);
        Self
    }

    /// # Errors
    /// An error if [`abandon_all`] was called. This never waits: a thread that is busy already
    /// would wait for itself.
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

/// Something that must be removed.
#[derive(Debug)]
pub(super) enum What {
    /// A hidden folder with its contents, and the open lock file that marks it as in use.
    Hidden(PathBuf, File),
    /// A folder, which is removed only if it is empty.
    Folder(PathBuf),
}

impl What {
    /// Removes it. Errors are ignored, because nothing can be done about them.
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

/// Removes a folder, even if another thread is adding files to it.
fn remove_all(folder: &Path) {
    let is_done = |_: &u32| fs::remove_dir_all(folder).is_ok() || !folder.exists();
    (0..TRIES).find(is_done);
}

/// An entry of the list; it is removed when this is dropped, or by [`abandon_all`].
#[derive(Debug)]
pub(crate) struct Unfinished(u64);

impl Unfinished {
    /// Makes a folder that will be filled.
    ///
    /// # Errors
    /// An error of the operating system; an error if [`abandon_all`] was called.
    pub(crate) fn folder(path: &Path) -> io::Result<Self> {
        Self::new(|| fs::create_dir(path).map(|()| What::Folder(path.to_owned())))
    }

    /// Makes something that must be removed later.
    pub(super) fn new(make: impl FnOnce() -> io::Result<What>) -> io::Result<Self> {
        let _busy = Busy::unless_abandoned()?;
        let what = make()?;
        let mut state = state();
        let id = state.next;
        state.next = id.saturating_add(1);
        state.all.insert(id, what);
        Ok(Self(id))
    }

    /// Allows publication: [`abandon_all`] waits until the returned value is dropped.
    ///
    /// # Errors
    /// An error if [`abandon_all`] was called.
    pub(super) fn publishing(&self) -> io::Result<Publishing<'_>> {
        Ok(Publishing { _busy: Busy::unless_abandoned()?, _of: PhantomData })
    }

    /// Keeps the file or folder.
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

/// Keeps [`abandon_all`] waiting while the output is published. The output itself lives longer.
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
