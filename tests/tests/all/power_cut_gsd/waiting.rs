//! An asynchronous writer writes what a blocking one does, and a future that is dropped is a call
//! that failed.

use super::faults::try_states;
use super::figures::{ALL, Figures, Rate};
use super::hand::Mode;
use super::path::{Path, appended, paths};
use super::run::Run;
use super::some;
use striae_core::step::DriveError;
use striae_kit::power::{Again, Model, Op};
use striae_kit::waiting::Waits;

fn some_paths(step: usize) -> Vec<Path> {
    some(paths().into_iter().chain(appended()).collect(), step)
}

/// Writes a path, up to where a future is dropped and the writer gives up.
fn run_with<'p>(path: &'p Path, waits: Waits, again: Again, figures: &mut Figures) -> Run<'p> {
    let mut run = Run::start(path);
    (run.again, run.mode) = (again, Mode::Waiting(waits));
    for session in path.sessions {
        match run.session(*session) {
            Ok(()) => {}
            Err(DriveError::Store(_)) => {
                run.failed_at.get_or_insert(run.store.ops());
                break;
            }
            Err(error) => {
                figures.bad(|| error.to_string());
                break;
            }
        }
    }
    run
}

/// The bytes of the file, and what was durable of it, at each sync.
fn at_syncs(run: &Run<'_>) -> Vec<Vec<u8>> {
    let is_sync = |op: &Op| matches!(op, Op::Sync);
    let syncs: Vec<_> = run.store.log().iter().map(is_sync).collect();
    let ops = syncs.iter().enumerate().filter(|(_, is_sync)| **is_sync).map(|(at, _)| at);
    ops.map(|op| run.store.killed_after(op).live().to_vec()).collect()
}

#[test]
fn an_asynchronous_writer_writes_what_a_blocking_one_does() {
    let mut figures = Figures::default();
    for path in &some_paths(5) {
        let blocking = at_syncs(&Run::of(path));
        for seed in 1..3 {
            let run = run_with(path, Waits::new(seed), Again::Never, &mut figures);
            assert!(run.failed_at.is_none());
            assert!(at_syncs(&run) == blocking, "{}", path.name);
            if seed == 1 {
                let model = Model { exhaustive: 4, random: 1, ..Model::default() };
                figures.paths += 1;
                figures.crash(&run, 0, &model, Rate::NONE, ALL);
                figures.name(&path.name);
            }
        }
    }
    figures.conclude("power cuts of an asynchronous writer", 10_000);
}

/// Drops futures of paths at times that they wait.
fn drop_some(again: Again, paths: usize, times: usize) -> Figures {
    let mut figures = Figures::default();
    for path in &some_paths(paths) {
        let waits = Waits::new(77);
        run_with(path, waits.clone(), Again::Never, &mut figures);
        for count in some((0..waits.count()).collect(), times) {
            let waits = Waits::new(77);
            waits.drop_at(count);
            let mut run = run_with(path, waits, again, &mut figures);
            figures.paths += 1;
            match run.failed_at {
                Some(_) => try_states(&mut run, &mut figures),
                None => figures.bad(|| "no future was dropped".to_owned()),
            }
            figures.name(&format!("{}, {count}", path.name));
        }
    }
    figures
}

#[test]
fn after_a_dropped_future_what_was_committed_can_be_read() {
    drop_some(Again::Never, 41, 3).conclude("futures that are dropped", 5000);
}

#[test]
fn a_writer_tries_again_after_a_dropped_future() {
    drop_some(Again::AtOnce, 43, 13).conclude("futures that are dropped, and made again", 5000);
}

#[test]
fn a_frame_of_a_dropped_future_is_given_up_and_written_again() {
    drop_some(Again::Anew, 47, 13).conclude("frames of futures that are dropped", 3000);
}

#[test]
fn a_writer_goes_on_after_a_dropped_future() {
    drop_some(Again::Later, 37, 13).conclude("futures that are dropped, and not made again", 3000);
}
