//! When the store fails, the writer says so, and what was committed can still be read; the same
//! writer can try again, and another one can go on.

use super::check::check;
use super::hand::Mode;
use super::path::{Path, paths};
use super::run::{Run, State};
use super::{Figures, atomic, go_on, waiting};
use std::ops::{AddAssign, Range};
use striae_core::sion::Error;
use striae_core::step::DriveError;
use striae_kit::power::{Again, FailedSync, Fault, Model, Op, PowerStore, Trouble};

/// What was tried.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) troubles: usize,
    states: usize,
    pub(crate) figures: Figures,
}

impl AddAssign for Tried {
    fn add_assign(&mut self, other: Self) {
        self.troubles += other.troubles;
        self.states += other.states;
        self.figures += other.figures;
    }
}

/// Each operation of a whole path, failing in each way that it can.
pub(crate) fn faults(run: &Run<'_>) -> Vec<Trouble> {
    let log = run.store.log();
    let atomic = atomic(run.shape);
    let faults = log.iter().enumerate().flat_map(|(at, op)| {
        let kept = match op {
            Op::Write { offset, bytes } => {
                let end = offset + u64::try_from(bytes.len()).unwrap();
                let is_in = |range: &Range<u64>| range.start <= *offset && end <= range.end;
                let half = if atomic.iter().any(is_in) { 0 } else { bytes.len() / 2 };
                vec![0, half, bytes.len()] // the last one is an error although all was written
            }
            Op::SetSize(_) | Op::Sync => vec![0],
            _ => vec![],
        };
        kept.into_iter().map(move |kept| Trouble::Fault(Fault { at, kept, lasting: false }))
    });
    faults.collect()
}

/// Sizes at which the disk is full while a path is written.
pub(crate) fn limits(run: &Run<'_>) -> Vec<Trouble> {
    let ends = run
        .store
        .log()
        .iter()
        .filter_map(|op| match op {
            Op::Write { offset, bytes } => Some(offset + u64::try_from(bytes.len()).unwrap()),
            _ => None,
        })
        .max();
    (0..ends.unwrap()).step_by(61).map(Trouble::Full).collect()
}

/// A path with a trouble, up to where the writer gives up.
fn run_with<'p>(
    path: &'p Path,
    mode: &Mode,
    trouble: Trouble,
    again: Again,
    tried: &mut Tried,
) -> Run<'p> {
    let mut run = Run::new(&path.shape, PowerStore::default(), State::Nothing, 1);
    (run.again, run.mode) = (again, mode.clone());
    trouble.befall(&run.store);
    for session in path.sessions {
        match run.session(*session) {
            Ok(()) => {}
            Err(DriveError::Store(_)) if run.failed_at.is_none() => {
                run.failed_at = Some(run.store.ops());
                break;
            }
            // The only commit failed, and was not made again.
            Err(DriveError::Format(Error::NotClosed { .. })) if again == Again::Later => break,
            Err(error) => {
                tried.figures.bad(|| error.to_string());
                break;
            }
        }
    }
    run
}

/// Tries all states of crashes since the error, and goes on with another writer.
pub(crate) fn try_states(run: &Run<'_>, tried: &mut Tried) {
    // To try again after a failed sync, a writer needs a store that does, too.
    let failed_sync = if run.again == Again::Never { FailedSync::Clean } else { FailedSync::Dirty };
    let model = Model { failed_sync, exhaustive: 32, random: 4, ..Model::default() };
    let figures = &mut tried.figures;
    run.store.crashes_since(run.failed_at.unwrap(), &model, |crash| {
        tried.states += 1;
        figures.good += usize::from(figures.try_state(run, crash).is_some());
    });
    let ops = run.store.ops();
    match check(run.shape, &run.store.live(), run.promises.allowed(ops, ops)) {
        Ok(state) => go_on(run.shape, &run.store.live(), state, figures),
        Err(error) => figures.bad(|| error),
    }
}

fn try_all(troubles: impl Fn(&Run<'_>) -> Vec<Trouble>, again: Again) -> Tried {
    let step = if again == Again::Never { 3 } else { 13 }; // as many states follow as the path has
    let paths: Vec<_> = paths().into_iter().step_by(step).collect();
    try_each(&paths, &Mode::Blocking, troubles, again)
}

/// Tries troubles of these paths.
pub(crate) fn try_each(
    paths: &[Path],
    mode: &Mode,
    troubles: impl Fn(&Run<'_>) -> Vec<Trouble>,
    again: Again,
) -> Tried {
    let mut all = Tried::default();
    let mut bad = Vec::new();
    for path in paths {
        let whole = waiting::run_with(path, mode.clone(), Again::Never);
        for trouble in troubles(&whole) {
            let run = run_with(path, mode, trouble, again, &mut all);
            all.troubles += 1;
            assert!(run.failed_at.is_some(), "{}: no error after {trouble:?}", path.name);
            try_states(&run, &mut all);
            let name = |text| format!("{}, {trouble:?}: {text}", path.name);
            bad.extend(all.figures.bad.drain(..).map(name));
        }
    }
    all.figures.bad = bad;
    all
}

impl Tried {
    pub(crate) fn conclude(&self, name: &str, floor: usize) {
        let Self { troubles, states, figures } = self;
        println!(
            "{name}: {troubles}\n\
             states tried: {states}\n\
             states good:  {}\n\
             written on by another writer: {}",
            figures.good, figures.went_on,
        );
        let bad = &figures.bad;
        assert!(bad.is_empty(), "{} troubles: {}", bad.len(), bad.join("\n"));
        assert_eq!(figures.good, *states);
        assert!(*states >= floor, "too few states: {states}");
    }
}

#[test]
fn after_a_fault_what_was_committed_can_be_read() {
    try_all(faults, Again::Never).conclude("operations that fail", 10_000);
}

#[test]
fn when_the_disk_is_full_what_was_committed_can_be_read() {
    try_all(limits, Again::Never).conclude("full disks", 5000);
}

#[test]
fn a_writer_tries_again_after_a_fault() {
    try_all(faults, Again::AtOnce).conclude("operations that fail once", 40_000);
}

#[test]
fn a_writer_tries_again_when_the_disk_is_not_full_any_more() {
    try_all(limits, Again::AtOnce).conclude("disks that are full for a while", 20_000);
}

#[test]
fn a_writer_goes_on_after_a_fault() {
    try_all(faults, Again::Later).conclude("operations that fail, and are not made again", 40_000);
}
