//! Signals that end the program: it removes unfinished output, and then dies of the signal.
#![expect(unsafe_code, reason = "masks of signals, and waiting for one, have no safe wrapper")]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use striae::publish::abandon_all;

/// Ctrl-C, kill(1) without a number, and a closed terminal.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Locked from the arrival of a signal until the process has ended.
static ENDING: Mutex<()> = Mutex::new(());

/// Starts a thread that waits for the signals. Must be called before any other thread is started:
/// later threads then block the signals, so that no system call of theirs is interrupted.
pub(crate) fn start() {
    let signals = SIGNALS.into_iter().filter(|&signal| is_deadly(signal));
    let set = set_of(signals);
    mask(libc::SIG_BLOCK, &set);
    if std::thread::Builder::new().name("striae-signals".into()).spawn(move || wait(&set)).is_err()
    {
        mask(libc::SIG_UNBLOCK, &set); // the signals then end the process at once
    }
}

/// If a signal is ending the program, waits for the end, so that nothing more is printed.
pub(crate) fn hold() {
    drop(ENDING.lock().unwrap_or_else(PoisonError::into_inner));
}

fn wait(set: &libc::sigset_t) {
    let mut signal = 0;
    // SAFETY: sigwait(3): it "suspends execution of the calling thread until one of the signals
    // specified in the signal set becomes pending", and stores its number; both pointers are of
    // values that live.
    while unsafe { libc::sigwait(set, &raw mut signal) } != 0 {}
    let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    abandon_all();
    mask(libc::SIG_UNBLOCK, &set_of([signal]));
    // SAFETY: raise(3) has no condition. The signal's action is the default one: this ends the
    // process.
    unsafe { libc::raise(signal) };
    // The signal does not end the first process of a container; this does.
    std::process::exit(signal.saturating_add(128));
}

/// Whether the signal ends the program. The parent process may have set it to be ignored, as
/// nohup(1) does, or blocked.
fn is_deadly(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: sigaction(2): "If act is NULL, [...] the previous action is saved in oldact", which
    // has room.
    let asked = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigprocmask(2): "If set is NULL, then the signal mask is unchanged [...], but the
    // current value of the signal mask is nevertheless returned in oldset", which has room.
    let masked =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), blocked.as_mut_ptr()) };
    if asked != 0 || masked != 0 {
        return false;
    }
    // SAFETY: both calls succeeded, so they wrote what they were asked for.
    let (action, blocked) = unsafe { (action.assume_init(), blocked.assume_init()) };
    // SAFETY: sigismember(3) reads a set, and a number that is a signal's.
    let is_blocked = unsafe { libc::sigismember(&raw const blocked, signal) } != 0;
    action.sa_sigaction == libc::SIG_DFL && !is_blocked
}

fn set_of(signals: impl IntoIterator<Item = libc::c_int>) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset(3) "initializes the signal set given by set to empty", and fails for no
    // pointer to one.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in signals {
        // SAFETY: sigaddset(3): the set "must be initialized by a call to either sigemptyset() or
        // sigfillset()".
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

fn mask(how: libc::c_int, set: &libc::sigset_t) {
    // SAFETY: pthread_sigmask(3) reads the set, and does not write to where a null pointer is.
    unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) };
}
