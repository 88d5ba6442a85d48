//! When the store fails, the writer says so, and what was committed can still be read; the same
//! writer can try again, and another one can go on.

use super::figures::{ALL, Figures, Rate};
use super::path::{Path, appended, paths};
use super::run::Run;
use super::some;
use striae_core::step::DriveError;
use striae_kit::power::{Again, FailedSync, Fault, MAX_LEN, Model, Op, Trouble};

/// Each operation of a path, failing in each way that it can, once or from then on.
fn faults(run: &Run<'_>) -> Vec<Trouble> {
    let log = run.store.log();
    let faults = log.iter().enumerate().flat_map(|(at, op)| {
        let kept = match op {
            // the last one is an error although all was written
            Op::Write { bytes, .. } => vec![0, bytes.len() / 2, bytes.len()],
            Op::SetSize(_) | Op::Sync => vec![0],
            _ => vec![],
        };
        let fault = move |kept| Fault { at, kept, lasting: (at + kept) % 3 == 0 };
        kept.into_iter().map(move |kept| Trouble::Fault(fault(kept)))
    });
    faults.collect()
}

/// Sizes at which the disk is full in the middle of each write, and before each growth.
fn limits(run: &Run<'_>) -> Vec<Trouble> {
    let log = run.store.log();
    let limits = log.iter().filter_map(|op| match op {
        Op::Write { offset, bytes } => Some(offset + u64::try_from(bytes.len() / 2).unwrap()),
        Op::SetSize(len) => len.checked_sub(1),
        _ => None,
    });
    // What was there before is no news to the disk.
    let mut limits: Vec<_> = limits.filter(|&len| len >= run.start_len()).collect();
    limits.sort_unstable();
    limits.dedup();
    limits.into_iter().map(Trouble::Full).collect()
}

/// A path with a trouble, up to where the writer gives up.
fn run_with<'p>(
    path: &'p Path,
    whole: &Run<'p>,
    trouble: Trouble,
    again: Again,
    figures: &mut Figures,
) -> Run<'p> {
    let mut run = Run::start(path);
    run.again = again;
    if let Trouble::Fault(fault) = trouble {
        let is_cut = |bytes: &[u8]| (1..bytes.len()).contains(&fault.kept);
        let op = &whole.store.log()[fault.at];
        run.is_torn = matches!(op, Op::Write { offset: 0..256, bytes } if is_cut(bytes));
    }
    trouble.befall(&run.store);
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

/// Tries all states of crashes since the error, and goes on with another writer.
pub(crate) fn try_states(run: &mut Run<'_>, figures: &mut Figures) {
    // To try again after a failed sync, a writer needs a store that does, too.
    let failed_sync = if run.again == Again::Never { FailedSync::Clean } else { FailedSync::Dirty };
    let model = Model { failed_sync, exhaustive: 16, random: 4, ..Model::default() };
    figures.crash(run, run.failed_at.unwrap(), &model, Rate::NONE, ALL);
    run.store.limit(MAX_LEN);
    run.store.mend();
    let (live, ops) = (run.store.live().to_vec(), run.store.ops());
    let Some(state) = figures.try_image(run, &live, ops, ops) else { return };
    let (ours, stock) = figures.go_on(run, &live, &state);
    figures.rows[0].went_on += 1;
    figures.rows[0].ours.worse += usize::from(!ours);
    figures.rows[0].stock.worse += usize::from(!stock);
}

fn try_all(troubles: impl Fn(&Run<'_>) -> Vec<Trouble>, again: Again, step: usize) -> Figures {
    let mut figures = Figures::default();
    let paths = some(paths().into_iter().chain(appended()).collect(), step);
    for path in &paths {
        let whole = Run::of(path);
        for trouble in some(troubles(&whole), if again == Again::Never { 1 } else { 7 }) {
            let mut run = run_with(path, &whole, trouble, again, &mut figures);
            figures.paths += 1;
            if run.failed_at.is_some() {
                try_states(&mut run, &mut figures);
            } else {
                figures.bad(|| "no error".to_owned());
            }
            figures.name(&format!("{}, {trouble:?}", path.name));
        }
    }
    figures
}

#[test]
fn after_a_fault_what_was_committed_can_be_read() {
    try_all(faults, Again::Never, 53).conclude("operations that fail", 5000);
}

#[test]
fn when_the_disk_is_full_what_was_committed_can_be_read() {
    try_all(limits, Again::Never, 17).conclude("full disks", 5000);
}

#[test]
fn a_writer_tries_again_after_a_fault() {
    try_all(faults, Again::AtOnce, 61).conclude("operations that fail once", 10_000);
}

#[test]
fn a_writer_tries_again_when_the_disk_is_not_full_any_more() {
    try_all(limits, Again::AtOnce, 23).conclude("disks that are full for a while", 10_000);
}

#[test]
fn a_frame_that_failed_is_given_up_and_written_again() {
    try_all(faults, Again::Anew, 67).conclude("frames that fail once", 5_000);
}

#[test]
fn a_frame_that_found_a_full_disk_is_given_up_and_written_again() {
    try_all(limits, Again::Anew, 37).conclude("frames of disks that are full for a while", 3_000);
}

#[test]
fn a_writer_goes_on_after_a_fault() {
    try_all(faults, Again::Later, 59)
        .conclude("operations that fail, and are not made again", 10_000);
}
