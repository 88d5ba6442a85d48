//! Processes of which one makes another call, or passes another option.

use crate::common::calls::{self, Kind, State};
use crate::common::options;
use std::fmt::Write as _;
use std::path::Path;
use striae_mpi::mpi::Rank;
use striae_mpi::{Code, Collective, Error};

/// A sample of what `differ.rs` does with threads: one rank makes another call, or passes another
/// option. Returns the errors, which all ranks have.
pub(crate) fn meet(comm: &Rank, duplicate: &dyn Fn() -> Rank, folder: &Path) -> String {
    let (rank, size) = (comm.rank(), comm.size());
    calls::prepare(duplicate(), folder).unwrap().free(Ok(())).unwrap();
    let before = calls::snapshot(folder);
    let (mut errors, mut turn) = (String::new(), 0);
    let mut case = |name: String, work: &dyn Fn(Rank) -> Error| {
        comm.agree(Ok(())).unwrap(); // all have left the files
        let error = work(duplicate());
        assert_eq!(error.code(), Code::Differ, "{name}: {error}");
        writeln!(errors, "{name}: {error:?}").unwrap();
    };
    let states = [State::Fresh, State::Sion(Kind::Sealed), State::Sion(Kind::TwoFiles)];
    for state in states.into_iter().chain([State::Sion(Kind::Collected), State::Gsd, State::Blob]) {
        for (call, of_other) in calls::pairs(state) {
            if [call, of_other].contains(&"drop") {
                continue;
            }
            turn = (turn + 1) % size; // another rank each time
            let own = if rank == turn { of_other } else { call };
            case(format!("{state:?} {call} {of_other} {turn}"), &|comm| {
                calls::make(comm, state, own, folder).unwrap()
            });
            comm.agree(Ok(())).unwrap();
            match state {
                State::Fresh => assert!(calls::snapshot(folder) == before, "{call} {of_other}"),
                _ => calls::check(state, folder, size, [call, of_other]),
            }
        }
    }
    for group in options::GROUPS {
        for option in 1..options::count(group) {
            turn = (turn + 1) % size;
            let own = if rank == turn { option } else { 0 };
            case(format!("{group} {option} {turn}"), &|comm| {
                options::call(comm, group, own, folder).unwrap_err()
            });
        }
    }
    errors
}
