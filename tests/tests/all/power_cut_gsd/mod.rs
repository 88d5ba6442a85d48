//! Whenever the power goes, a GSD file is as the last commit left it, or as the one that was being
//! made, for striae's reader and for gsd's.
//!
//! What is tried by default is a sample; `STRIAE_POWER=all` tries every path, and writes on after
//! every state.

mod check;
mod faults;
mod figures;
mod hand;
mod loggers;
mod path;
mod run;
mod stock;
mod table;
mod waiting;

use figures::{ALL, Figures, Rate, crash_all};
use path::{Path, appended, paths};
use run::{Run, State};
use striae_kit::power::{Lost, Model};

/// Every so many paths, unless all are to be tried.
fn some<T>(all: Vec<T>, step: usize) -> Vec<T> {
    all.into_iter().step_by(if is_all() { 1 } else { step }).collect()
}

fn is_all() -> bool {
    std::env::var("STRIAE_POWER").is_ok_and(|which| which == "all")
}

#[test]
fn after_any_power_cut_a_file_is_as_a_commit_left_it() {
    let paths = some(paths(), 7);
    crash_all(&paths, &Model::bytes(), Rate::usual()).conclude("power cuts", 30_000);
}

#[test]
fn after_any_power_cut_a_file_that_gsd_made_is_as_a_commit_left_it() {
    let paths = some(appended(), 7);
    crash_all(&paths, &Model::bytes(), Rate::usual()).conclude("power cuts, files of gsd", 30_000);
}

#[test]
fn nothing_depends_on_how_much_a_disk_writes_at_once() {
    let model = Model { sector: 4096, exhaustive: 4096, ..Model::default() };
    let paths = some(paths().into_iter().chain(appended()).collect(), 5);
    crash_all(&paths, &model, Rate::usual()).conclude("power cuts, pages of 4096 bytes", 10_000);
}

/// As on a card, which erases a sector to write it. Nothing that is committed shares one with what
/// is written if chunks have sectors of their own; the header does, and is brought back.
#[test]
fn an_erased_sector_costs_no_commit_where_chunks_have_sectors_of_their_own() {
    let model = Model { erased: 12, exhaustive: 0, random: 2, ..Model::default() };
    let own = |path: &Path| path.shape.attributes.align > 1 && !path.shape.attributes.one_sync;
    let paths = some(paths().into_iter().filter(own).collect(), 11);
    crash_all(&paths, &model, Rate::usual()).conclude("power cuts, erased sectors", 5_000);
}

/// As on a file system that shows what other files left in a block.
#[test]
fn nothing_depends_on_zeros_where_nothing_was_written() {
    let model = Model { lost: Lost::Noise, ..Model::bytes() };
    let paths = some(paths().into_iter().chain(appended()).collect(), 29);
    crash_all(&paths, &model, Rate::usual())
        .conclude("power cuts, lost sectors being noise", 20_000);
}

/// A program is killed after any of its operations, another one goes on, and then the power is cut:
/// what the first one did not sync is still not durable.
#[test]
fn what_a_killed_program_left_is_not_taken_for_durable() {
    let model = Model { exhaustive: 64, random: 4, torn: 2, ..Model::default() };
    let mut figures = Figures::default();
    for path in some(paths().into_iter().chain(appended()).collect(), 31) {
        let whole = Run::of(&path);
        figures.paths += 1;
        for ops in 1..whole.store.ops() {
            let mut run = whole.killed_after(ops, 101);
            let live = run.store.live().to_vec();
            let state = figures.try_image(&run, &live, ops, ops);
            let Some(state) = state else { continue };
            let session = figures::on(&state);
            if matches!(state, State::File(_)) {
                run.shape = &path.shape;
            }
            run.session(session).unwrap();
            figures.crash(&run, ops, &model, Rate::NONE, ALL);
        }
        figures.name(&path.name);
    }
    figures.conclude("power cuts after a kill", 10_000);
}
