//! The program is told to end, or killed, while it makes something.

mod leftover;
mod work;

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use striae_kit::adapter::names;
use work::{WORKS, Work};

/// A run that is under way.
struct Run(Child);

impl Run {
    /// Whoever runs the tests may ignore signals, as a shell does for what runs in the background.
    fn new(program: Command) -> Self {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", "--default-signal=TERM", "--default-signal=HUP"]);
        command.arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits until `is_there`, or until it has ended, which is said by `false`.
    fn wait_until(&mut self, is_there: impl Fn() -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_there() {
            if self.0.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < end, "it does not come");
            std::thread::yield_now();
        }
        true
    }

    fn end(self) -> Output {
        self.0.wait_with_output().unwrap()
    }
}

/// The hidden folder in a folder, once it is complete.
fn hidden(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    let mut new = entries.map(|path| path.join("new")).filter(|path| path.is_dir());
    new.next()
}

/// When a signal comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// There is a hidden folder.
    Begun,
    /// There is something in it.
    Making,
    /// Something has its name.
    Publishing,
}

impl Moment {
    fn is_now(self, folder: &Path) -> bool {
        match self {
            Self::Begun => hidden(folder).is_some(),
            Self::Making => hidden(folder).is_some_and(|new| {
                std::fs::read_dir(new).is_ok_and(|mut entries| entries.next().is_some())
            }),
            Self::Publishing => {
                folder.is_dir() && names(folder).iter().any(|name| !name.starts_with('.'))
            }
        }
    }
}

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    Nothing,
    /// All, and it died of the signal all the same.
    All,
    /// All, and it was not told to end any more.
    Done,
}

/// Sends signals at a moment; says what came of the run, of which nothing or all must be left.
fn interrupt(work: &Work, input: &Path, moment: Moment, signals: &[Signal]) -> Came {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut run = Run::new(work.command(input, &out));
    if run.wait_until(|| moment.is_now(&out)) {
        signals.iter().for_each(|&signal| run.send(signal));
    }
    let output = run.end();
    let left = if out.is_dir() { names(&out) } else { Vec::new() };
    let context = format!("{} {moment:?}: {output:?}", work.name);
    assert!(output.stderr.is_empty(), "{context}");
    match output.status.signal() {
        Some(number) => {
            assert!(signals.iter().any(|signal| signal.as_raw() == number), "{context}");
            match left.len() {
                0 => {
                    let was_there = work.out.is_some();
                    assert_eq!(out.exists(), was_there, "{context}");
                    Came::Nothing
                }
                files => {
                    assert_eq!(files, work.files, "{context}, {left:?}");
                    Came::All
                }
            }
        }
        None => {
            assert!(output.status.success(), "{context}");
            assert_eq!(left.len(), work.files, "{context}");
            Came::Done
        }
    }
}

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

#[test]
fn whoever_is_told_to_end_leaves_nothing_and_dies_of_the_signal() {
    for (number, work) in WORKS.iter().enumerate() {
        let input = work.input();
        for (moment, signal) in [Moment::Begun, Moment::Making].into_iter().zip(number..) {
            let signals = [SIGNALS[signal % 3]];
            // A run may be faster than the signal: then there is another.
            let mut runs = (0..50).map(|_| interrupt(work, input.path(), moment, &signals));
            assert!(runs.any(|came| came == Came::Nothing), "{} {moment:?}", work.name);
        }
    }
}

#[test]
fn many_files_get_their_names_or_none_of_them() {
    for (number, work) in WORKS.iter().filter(|work| work.files > 1).enumerate() {
        let input = work.input();
        let signals = [SIGNALS[number % 3]];
        // When the first has its name, it is too late to leave nothing.
        let mut runs = (0..50).map(|_| interrupt(work, input.path(), Moment::Publishing, &signals));
        assert!(runs.any(|came| came == Came::All), "{}", work.name);
    }
}

#[test]
fn further_signals_do_not_stop_the_removal() {
    let work = &WORKS[0];
    let input = work.input();
    let signals = [SIGNALS, SIGNALS].concat();
    let mut runs = (0..50).map(|_| interrupt(work, input.path(), Moment::Making, &signals));
    assert!(runs.any(|came| came == Came::Nothing));
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let work = &WORKS[0];
    let input = work.input();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP && exec \"$0\" \"$@\""]);
    let program = work.command(input.path(), &out);
    command.arg(program.get_program()).args(program.get_args());
    let mut run = Run::new(command);
    run.wait_until(|| hidden(&out).is_some());
    run.send(Signal::HUP);
    assert!(run.end().status.success());
    assert_eq!(names(&out).len(), work.files);
}

#[test]
fn a_verb_that_makes_nothing_dies_of_a_signal_as_ever() {
    let input = WORKS[0].input();
    for signal in SIGNALS {
        // It cannot end by itself: nobody reads what it prints, and that is more than a pipe holds.
        let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
        command.args(["ls", "--json"]).arg(input.path().join("in"));
        let mut run = Run::new(command);
        let mut first = [0];
        std::io::Read::read_exact(run.0.stdout.as_mut().unwrap(), &mut first).unwrap();
        run.send(signal);
        assert_eq!(run.0.wait().unwrap().signal(), Some(signal.as_raw()));
    }
}
