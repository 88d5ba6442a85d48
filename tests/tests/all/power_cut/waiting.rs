//! An asynchronous writer writes what a blocking one does, and a future that is dropped is a call
//! that failed.

use super::faults::{Tried, try_states};
use super::hand::Mode;
use super::path::{Path, paths};
use super::run::{Run, State};
use super::{Figures, crash_run};
use striae_core::sion::Error;
use striae_core::step::DriveError;
use striae_kit::power::{Again, Lost, PowerStore, sum_of};
use striae_kit::waiting::Waits;

/// Writes a path, up to where a future is dropped.
pub(crate) fn run_with(path: &Path, mode: Mode, again: Again) -> Run<'_> {
    let mut run = Run::new(&path.shape, PowerStore::default(), State::Nothing, 1);
    (run.again, run.mode) = (again, mode);
    for session in path.sessions {
        match run.session(*session) {
            Ok(()) => {}
            Err(DriveError::Store(_)) if run.failed_at.is_none() => {
                run.failed_at = Some(run.store.ops());
                break;
            }
            // The only commit was dropped, and not made again.
            Err(DriveError::Format(Error::NotClosed { .. })) if again == Again::Later => break,
            Err(error) => panic!("{}: {error}", path.name),
        }
    }
    run
}

#[test]
fn an_asynchronous_writer_writes_what_a_blocking_one_does() {
    let figures = sum_of(&paths(), |path| {
        let blocking = Run::of(path);
        let mut figures = Figures::default();
        for seed in 1..4 {
            let waiting = run_with(path, Mode::Waiting(Waits::new(seed)), Again::Never);
            assert!(waiting.failed_at.is_none());
            assert_eq!(*waiting.store.log(), *blocking.store.log(), "{}", path.name);
            if seed == 1 && path.shape.sealed {
                figures += crash_run(path, &waiting, Lost::Zeros);
            }
        }
        figures
    });
    figures.conclude("power cuts of an asynchronous writer", 100_000);
}

/// Drops each future of a path each time that it waits.
fn drop_all(again: Again) -> Tried {
    let step = if again == Again::Never { 5 } else { 13 }; // as many states follow as the path has
    let paths: Vec<_> = paths().into_iter().step_by(step).collect();
    drop_each(&paths, Mode::InParts, again)
}

/// Drops each future of these paths each time that it waits.
pub(crate) fn drop_each(paths: &[Path], mode: fn(Waits) -> Mode, again: Again) -> Tried {
    sum_of(paths, |path| {
        let waits = Waits::new(77);
        run_with(path, mode(waits.clone()), Again::Never);
        let mut tried = Tried::default();
        for count in 0..waits.count() {
            let waits = Waits::new(77);
            waits.drop_at(count);
            let run = run_with(path, mode(waits), again);
            assert!(run.failed_at.is_some(), "{}: not dropped at {count}", path.name);
            tried.troubles += 1;
            try_states(&run, &mut tried);
            let bad = &mut tried.figures.bad;
            bad.iter_mut().for_each(|bad| bad.insert_str(0, &format!("{}, {count}: ", path.name)));
            if !bad.is_empty() {
                break;
            }
        }
        tried
    })
}

#[test]
fn after_a_dropped_future_what_was_committed_can_be_read() {
    drop_all(Again::Never).conclude("futures that are dropped", 10_000);
}

#[test]
fn a_writer_tries_again_after_a_dropped_future() {
    drop_all(Again::AtOnce).conclude("futures that are dropped, and calls made again", 40_000);
}

#[test]
fn a_writer_goes_on_after_a_dropped_future() {
    drop_all(Again::Later).conclude("futures that are dropped, and calls not made again", 40_000);
}
