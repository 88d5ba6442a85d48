//! Runs all checks of a map, and reports everything that it finds.

use super::finding::FindingKind;
use super::netcdf::{is_netcdf, read_table, tables};
use super::{Decomposition, each_event, is_text, read_text};
use crate::finding::{Coverage, Found as _, Severity, first_damage};
use crate::report::report;
use crate::subject::{Failed, Subject};
use core::num::NonZeroU32;
use striae_core::blob::find::Run;
use striae_core::blob::map::{Error, Event, Fault, Faults, Grid, Rule, Table};
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

report! {
    FindingKind(Error);
    /// Checks a map and passes each finding to the callback.
    ///
    /// # Errors
    /// An error of the store. Any problem in the contents of the file is a finding.
    pub fn verify;
    /// The size of the verified map, and the number of findings.
    pub struct Summary {
        /// Number of decompositions.
        pub decompositions: u64,
        /// Number of ranks.
        pub nprocs: u64,
        /// Number of requests of all decompositions, without those that fill holes.
        pub requests: u64,
        /// The bytes of a text, which has no checksums; 0 of a netCDF file, whose own summary has
        /// them.
        pub data: Coverage,
    }
}

fn check<S: Subject>(subject: &S, report: &mut Report<'_>) -> Result<(), Failed<S, Error>> {
    if is_text(subject)? {
        let id = NonZeroU32::MIN;
        let read = read_text(subject, id, &mut |error| report.go_on(error))?;
        report.summary.data.add(subject.size().map_err(DriveError::Store)?);
        if let Some((line, offset)) = elements(subject, id, read.grid(), report)? {
            report.add(FindingKind::NoEnd { id, line, offset });
        }
        decomposition(&read, report);
        return Ok(());
    }
    for table in tables(subject)? {
        let read = read_table(subject, &table, Rule::Nreqs, &mut |error| report.go_on(error))?;
        fills(&table, &read, report);
        decomposition(&read, report);
    }
    Ok(())
}

/// The first damage of a netCDF file if it is a map; `None` if it is none, or sound.
///
/// # Errors
/// An error of the store.
pub fn damage_of_netcdf<S: Subject>(subject: &S) -> Result<Option<FindingKind>, Failed<S, Error>> {
    match is_netcdf(subject)? {
        true => first_damage(|each| verify(subject, each)).map_err(DriveError::Store),
        false => Ok(None),
    }
}

/// Reports elements of a text map that are larger than the array. Returns where the last number has
/// no end.
fn elements<S: Subject>(
    subject: &S,
    id: NonZeroU32,
    grid: Grid,
    report: &mut Report<'_>,
) -> Result<Option<(u64, u64)>, Failed<S, Error>> {
    let (mut rank, mut index) = (0, 0_u64);
    let total = grid.total();
    each_event(subject, &mut |event, line| {
        match event {
            Ok(Event::Rank { rank: next, .. }) => (rank, index) = (next, 0),
            Ok(Event::Element { element, offset }) => {
                if total < element {
                    let beyond =
                        FindingKind::Beyond { id, rank, index, line, offset, element, total };
                    report.add(beyond);
                }
                index = index.saturating_add(1);
            }
            // Errors were reported when the map was read.
            Ok(Event::Head { .. } | Event::Dim { .. }) | Err(_) => {}
        }
        Ok(())
    })
}

/// Reports requests that fill holes, and those of no rank.
fn fills(table: &Table, read: &Decomposition, report: &mut Report<'_>) {
    let fills = |rank: &u64| usize_to_u64(read.fills(*rank).len());
    let count = read.ranks().map(|rank| fills(&rank)).fold(0, u64::saturating_add);
    let id = read.id();
    if let Some(first) = read.ranks().find(|rank| fills(rank) != 0) {
        let rank = first.saturating_add(1);
        report.add(FindingKind::Fills { id, rank, count });
    }
    let used = read.count().saturating_add(count);
    if let Some(count) = table.total().checked_sub(used).filter(|&count| count != 0) {
        report.add(FindingKind::Unused { id, count });
    }
}

/// The first damage of a decomposition in memory.
pub(super) fn damage_of(read: &Decomposition) -> Option<FindingKind> {
    let mut first = read.damage.clone();
    let mut each = |_, what: FindingKind| {
        if first.is_none() && what.severity() == Severity::Damage {
            first = Some(what);
        }
    };
    decomposition(read, &mut Report::new(&mut each));
    first
}

/// The finding of a fault of requests; that of a hole counts all holes.
fn of_requests(fault: Fault, (id, grid): (NonZeroU32, Grid)) -> FindingKind {
    let total = grid.total();
    match fault {
        Fault::Empty(request) => FindingKind::Empty { id, request },
        Fault::OutOfArray(request) => FindingKind::Outside { id, request, total },
        Fault::Overlap { first, second } if fault.is_inside_a_rank() => {
            FindingKind::Inside { id, first, second }
        }
        Fault::Overlap { first, second } => FindingKind::Across { id, first, second },
        Fault::Hole { offset, len } => {
            FindingKind::Hole { id, offset, len, count: 1, elements: len }
        }
    }
}

/// Reports all faults of a decomposition's requests.
fn decomposition(read: &Decomposition, report: &mut Report<'_>) {
    let sum = &mut report.summary;
    sum.decompositions = sum.decompositions.saturating_add(1);
    sum.nprocs = read.nprocs;
    sum.requests = sum.requests.saturating_add(read.count());
    let (id, grid) = (read.id(), read.grid());
    let (mut runs, mut holes) = (read.runs(), None);
    for fault in Faults::new(&mut runs, grid) {
        match fault {
            Fault::Hole { offset, len } => {
                let (_, count, elements) = holes.unwrap_or(((offset, len), 0_u64, 0_u64));
                let first = holes.map_or((offset, len), |(first, ..)| first);
                let elements = elements.saturating_add(len);
                holes = Some((first, count.saturating_add(1), elements));
            }
            fault => report.add(of_requests(fault, (id, grid))),
        }
    }
    // Requests that fill holes may overlap none, neither each other nor those of ranks.
    let is_fill = |run: &Run| {
        let real = read.requests(run.place.blob.into());
        usize_to_u64(real.len()) <= run.place.position
    };
    let mut runs = read.runs_with_fills();
    for fault in Faults::new(&mut runs, grid) {
        let is_of_fills = match &fault {
            Fault::Empty(run) | Fault::OutOfArray(run) => is_fill(run),
            Fault::Overlap { first, second } => is_fill(first) || is_fill(second),
            Fault::Hole { .. } => false,
        };
        if is_of_fills {
            report.add(of_requests(fault, (id, grid)));
        }
    }
    if let Some(((offset, len), count, elements)) = holes {
        report.add(FindingKind::Hole { id, offset, len, count, elements });
    }
}
