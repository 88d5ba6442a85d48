//! Compares the elements of blobs with those of a decomposition map.

use super::{BlobLists, Check, Known, Report};
use crate::blob::finding::{FindingKind, Of};
use crate::blob::map::{Assignment, Lists, Map, assign};
use crate::subject::Files;
use alloc::format;
use alloc::vec::Vec;
use core::num::{NonZeroU32, NonZeroU64};
use striae_core::blob::map::Rule;

impl<F: Files + ?Sized> Check<'_, F> {
    /// Says by which rule the set was written, and reports blobs that are not of the map.
    pub(super) fn against_map(
        &self,
        set: &Known,
        map: [(Rule, &Map); 2],
        blobs: &BlobLists,
        report: &mut Report<'_>,
    ) {
        report.file = set.verdict.number;
        let other = |what| FindingKind::OtherMap { what }.into();
        let canonical = set.canonical();
        let [(_, right), _] = map;
        let (given, own) = (right.decompositions().len(), canonical.decompositions.len());
        if given != own {
            let what = format!("its number of decompositions is {given}, the set has {own}");
            return report.add(other(what));
        }
        let totals = canonical.decompositions.iter().map(|one| one.total);
        let totals = right.decompositions().iter().map(|one| one.grid().total()).zip(totals);
        if let Some((id, (given, own))) = (1..).zip(totals).find(|(_, (given, own))| given != own) {
            let id: u64 = id;
            let what = format!("its D{id} is of {given} elements, that of the set of {own}");
            return report.add(other(what));
        }
        let Some(nprocs) = NonZeroU64::new(canonical.nprocs) else {
            return report.add(other("no process wrote the set".into()));
        };
        let lists: Vec<Lists> = blobs.iter().map(|(.., lists)| lists.clone()).collect();
        let Assignment { origin, processes } = assign(map, nprocs, &lists);
        report.summary.origin = Some(origin);
        if origin.matching == 0 && !blobs.is_empty() {
            let ranks = right.nprocs();
            let what = format!(
                "no blob has the elements of a process; it is for {ranks} ranks, the set was \
                 written by {nprocs} processes"
            );
            return report.add(other(what));
        }
        if origin.rule == Rule::FillStarts {
            report.add(FindingKind::FillStarts {}.into());
        }
        let by_rule = map.iter().find(|(rule, _)| *rule == origin.rule);
        let Some((_, map)) = by_rule else { return };
        for ((number, blob, lists), process) in blobs.iter().zip(processes) {
            let (process, false) = process else { continue };
            report.file = *number;
            for (id, (one, found)) in (1..).zip(map.decompositions().iter().zip(lists)) {
                let Some(id) = NonZeroU32::new(id) else { continue };
                let expected = one.of_process(process, nprocs, origin.order);
                let longest = found.len().max(expected.len());
                let mut pairs = (0..longest).map(|at| (found.get(at), expected.get(at)));
                let Some(at) = pairs.position(|(found, expected)| found != expected) else {
                    continue;
                };
                let index = striae_core::store::usize_to_u64(at);
                let (found, expected) = (found.get(at).copied(), expected.get(at).copied());
                let of = Of { id, blob: *blob, index };
                report.add(FindingKind::NotOfMap { of, process, found, expected }.into());
            }
        }
    }
}
