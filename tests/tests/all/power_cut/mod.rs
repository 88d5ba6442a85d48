//! Whenever the power goes, a SIONlib file is as the last commit left it, or as the one that was
//! being made; before the first one, it is cleanly unclosed.

mod check;
mod faults;
mod fixed;
mod hand;
mod path;
mod ranks;
mod run;
mod threads;
mod waiting;

use check::check;
use path::{Act, Path, Session, Shape, paths};
use run::{Run, State};
use std::ops::AddAssign;
use striae_core::sion::Meta1;
use striae_kit::power::{
    Counts, Crash, Lost, MEDIA, Model, PowerStore, Promise, Tear, check_len, describe, sum_of,
};

/// What a writer relies on being written all or nothing: the first sector when it creates a file,
/// and the commit fields.
fn atomic(shape: &Shape) -> Vec<std::ops::Range<u64>> {
    let ntasks = u64::try_from(shape.tasks.len()).unwrap();
    let fields = Meta1::new(&shape.attributes, ntasks).unwrap().layout().commit_fields();
    assert_eq!(fields.offset() / 512, (fields.end() - 1) / 512, "they cross no sector");
    vec![0..512, fields.offset()..fields.end()]
}

/// What was tried.
#[derive(Debug, Default)]
struct Figures {
    paths: usize,
    tried: Counts,
    good: usize,
    /// Files that were written on after the crash, and the states of crashes meanwhile.
    went_on: usize,
    again: Counts,
    good_again: usize,
    /// The first bad state of each path.
    bad: Vec<String>,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.paths += other.paths;
        self.tried += other.tried;
        self.good += other.good;
        self.went_on += other.went_on;
        self.again += other.again;
        self.good_again += other.good_again;
        self.bad.extend(other.bad);
    }
}

impl Figures {
    /// Whether a state of a crash of `run` is good.
    fn try_state<'r>(&mut self, run: &'r Run<'_>, crash: &Crash<'_>) -> Option<&'r State> {
        let versions = run.promises.allowed(crash.begun, crash.ended);
        let checked = check(run.shape, crash.image, versions)
            .and_then(|state| check_len(crash, versions).map(|()| state));
        match checked {
            Ok(state) => Some(state),
            Err(error) => {
                self.bad(|| format!("{}, {:?}", describe(&run.store, crash, &error), run.shape));
                None
            }
        }
    }

    fn bad(&mut self, text: impl FnOnce() -> String) {
        if self.bad.is_empty() {
            self.bad.push(text());
        }
    }
}

/// Every so many states are written on, and every so many of these with a second crash.
const GO_ON: usize = 97;
const CRASH_AGAIN: usize = 10;

/// Tries all crashes of a path.
fn crash(path: &Path, lost: Lost) -> Figures {
    crash_run(path, &Run::of(path), lost)
}

/// Tries all crashes of a path that was written.
fn crash_run(path: &Path, run: &Run<'_>, lost: Lost) -> Figures {
    let mut figures = Figures { paths: 1, ..Figures::default() };
    let tear = Tear::Bytes { atomic: atomic(&path.shape) };
    let model = Model { tear, lost, random: 8, ..Model::default() };
    let mut number = 0;
    figures.tried = run.store.crashes(&model, |crash| {
        number += 1;
        let Some(state) = figures.try_state(run, crash) else { return };
        figures.good += 1;
        if number % GO_ON == 0 {
            go_on(&path.shape, crash.image, state, &mut figures);
        }
    });
    figures.bad.iter_mut().for_each(|bad| bad.insert_str(0, &format!("{}: ", path.name)));
    figures
}

/// How a writer goes on.
const ACTS: &[Act] = &[
    Act::Write(0, 70),
    Act::Commit,
    Act::Write(1, 110),
    Act::Write(3, 40),
    Act::Write(4, 30),
    Act::Close,
];

/// Writes on after a crash, maybe with a second one.
fn go_on(shape: &Shape, image: &[u8], state: &State, figures: &mut Figures) {
    let mut run = Run::new(shape, PowerStore::new(image), state.clone(), 101);
    let session = match state {
        State::Committed(_) => Session::Reopen(ACTS),
        _ => Session::Create(ACTS),
    };
    let went_on = run
        .session(session)
        .map_err(|error| error.to_string())
        .and_then(|()| check(shape, &run.store.live(), run.promises.last()).map(|_| ()));
    figures.went_on += 1;
    if let Err(error) = went_on {
        figures.bad(|| format!("{error}\n  going on, {shape:?}"));
    }
    if figures.went_on.is_multiple_of(CRASH_AGAIN) {
        let model = Model { exhaustive: 64, random: 4, ..Model::default() };
        let mut good = 0;
        let tried = run.store.crashes(&model, |crash| {
            good += usize::from(figures.try_state(&run, crash).is_some());
        });
        figures.again += tried;
        figures.good_again += good;
    }
}

/// Tries all paths, on all cores.
fn crash_all(paths: &[Path], lost: Lost) -> Figures {
    sum_of(paths, |path| crash(path, lost))
}

impl Figures {
    /// Prints them, and fails if a state was bad or there were too few.
    fn conclude(&self, name: &str, floor: usize) {
        let Counts { killed, power_cut, killed_writing, power_cut_writing, .. } = self.tried;
        println!(
            "{name}: {} paths\n\
             states tried: {} (program killed between writes {killed}, in a write {killed_writing}; \
             power cut between writes {power_cut}, in a write {power_cut_writing})\n\
             states good:  {}\n\
             written on after the crash: {} of them, with second crashes: {} tried, {} good",
            self.paths,
            self.tried.total(),
            self.good,
            self.went_on,
            self.again.total(),
            self.good_again,
        );
        assert!(self.bad.is_empty(), "{} paths: {}", self.bad.len(), self.bad.join("\n"));
        assert_eq!(self.good, self.tried.total());
        assert_eq!(self.good_again, self.again.total());
        assert!(self.good >= floor, "too few states: {}", self.good);
    }
}

#[test]
fn after_any_power_cut_the_file_is_as_a_commit_left_it() {
    let paths = paths();
    assert!(paths.len() >= 80);
    crash_all(&paths, Lost::Zeros).conclude("power cuts", 400_000);
}

/// As on a file system that shows what other files left in a block.
#[test]
fn nothing_depends_on_zeros_where_nothing_was_written() {
    let paths: Vec<_> = paths().into_iter().step_by(5).collect();
    crash_all(&paths, Lost::Noise).conclude("power cuts, lost sectors being noise", 50_000);
}

#[test]
fn a_file_keeps_what_the_table_of_media_promises() {
    let paths: Vec<_> = paths().into_iter().step_by(9).collect();
    for medium in MEDIA {
        let (mut states, mut bad) = (0, 0);
        for path in &paths {
            let run = Run::of(path);
            run.store.crashes(&(medium.model)(), |crash| {
                let versions = run.promises.allowed(crash.begun, crash.ended);
                states += 1;
                bad += usize::from(check(run.shape, crash.image, versions).is_err());
            });
        }
        println!("{}: {bad} of {states} states are not as promised", medium.name);
        assert!(states > 300, "{}: {states}", medium.name);
        assert_eq!(medium.sion == Promise::Kept, bad == 0, "{}: {bad}", medium.name);
    }
}

/// A program is killed after any of its operations, another one goes on, and then the power is cut:
/// what the first one did not sync is still not durable.
#[test]
fn what_a_killed_program_left_is_not_taken_for_durable() {
    let model = Model { exhaustive: 64, random: 8, ..Model::default() };
    let mut figures = Figures::default();
    for path in paths().iter().step_by(11) {
        let whole = Run::of(path);
        figures.paths += 1;
        for ops in 1..whole.store.ops() {
            let mut run = whole.killed_after(ops, 101);
            let session = match check(run.shape, &run.store.live(), run.promises.allowed(ops, ops))
            {
                Ok(State::Committed(_)) => Session::Reopen(ACTS),
                Ok(_) => Session::Create(ACTS),
                Err(error) => panic!("{}: {error}", path.name),
            };
            run.session(session).unwrap();
            let mut good = 0;
            let tried = run.store.crashes_since(ops, &model, |crash| {
                good += usize::from(figures.try_state(&run, crash).is_some());
            });
            figures.tried += tried;
            figures.good += good;
        }
    }
    figures.conclude("power cuts after a kill", 60_000);
}
