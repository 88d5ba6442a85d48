//! Checks the elements of blobs.

use super::{BlobList, BlobLists, Check, Failure, Known, Member, Report};
use crate::blob::container::{memory, room};
use crate::blob::finding::{FindingKind, Of, request_of};
use crate::blob::grammar::{id_of, numbers, request};
use crate::report::Cases;
use crate::subject::{Files, read};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::find::{Place, Run};
use striae_core::blob::map::{Fault, Faults, Grid, Request};
use striae_core::blob::{Error, Part};
use striae_core::cdf::Type;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// The bytes of numbers of this type.
type Column = (Vec<u8>, Type);

/// A decomposition of the set.
#[derive(Clone, Copy)]
struct Decomposition {
    index: usize,
    id: NonZeroU32,
    grid: Grid,
}

impl<F: Files + ?Sized> Check<'_, F> {
    /// Checks the requests of all blobs, and returns them if there is a map.
    pub(super) fn each_request(&self, set: &Known, report: &mut Report<'_>) -> BlobLists {
        let mut lists = BlobLists::new();
        if self.options.map.is_some() {
            let blobs = self.members.iter().flat_map(|Member { number, subfile, .. }| {
                (0..).zip(0..subfile.found).map(|(blob, _)| (*number, blob, Vec::new()))
            });
            let done = room(&mut lists, blobs.clone().count());
            if done.is_ok() {
                lists.extend(blobs);
            }
            done.unwrap_or_else(|error: Failure<F>| report.failed(error));
        }
        let canonical = set.canonical();
        for (index, decomposition) in canonical.decompositions.iter().enumerate() {
            let dim = |&index: &u64| {
                let dim = usize::try_from(index).ok().and_then(|index| canonical.dims.get(index));
                dim.map_or(0, |dim| dim.length)
            };
            let dims: Vec<_> = decomposition.dims.iter().map(dim).collect();
            // A single number is an array of one element.
            let grid = Grid::new(if dims.is_empty() { &[1] } else { &dims });
            let (Some(id), Some(grid)) = (id_of(index), grid) else { continue };
            let own = Decomposition { index, id, grid };
            let (mut runs, mut place) = (Vec::new(), 0_usize);
            for member in &self.members {
                let room = lists.get_mut(place..).unwrap_or_default();
                report.file = member.number;
                let done = self.requests(member, own, (&mut runs, room), report);
                done.unwrap_or_else(|error| report.failed(error));
                place = place.saturating_add(member.subfile.found);
            }
            report.summary.requests =
                report.summary.requests.saturating_add(usize_to_u64(runs.len()));
            report.file = set.verdict.number;
            self.faults(&mut runs, own, report);
        }
        lists
    }

    /// Reads and checks the requests of all blobs of a subfile.
    fn requests(
        &self,
        member: &Member,
        own: Decomposition,
        (runs, lists): (&mut Vec<Run>, &mut [BlobList]),
        report: &mut Report<'_>,
    ) -> Result<(), Failure<F>> {
        let store = self.open(member)?;
        let (mut unsorted, mut crossing, mut most) = (Cases::NONE, Cases::NONE, 0);
        for (blob, number) in (0..).zip(0..member.subfile.found) {
            let before = runs.len();
            let Some(columns) = Self::columns(&store, member, number, own)? else {
                continue;
            };
            let [offsets, lengths] = columns
                .each_ref()
                .map(|(bytes, nc_type)| numbers(bytes, *nc_type, member.subfile.order()));
            let nreqs = member.subfile.share(blob, own.index).nreqs;
            most = most.max(nreqs);
            room(runs, usize::try_from(nreqs).unwrap_or(usize::MAX))?;
            let mut last = None;
            for (position, (offset, len)) in (0..).zip(offsets.zip(lengths)) {
                let request = match request((own.id, blob), [offset, len]) {
                    Ok(request) => request,
                    Err(error) => {
                        report.add(FindingKind::Tables(error).into());
                        continue;
                    }
                };
                let of = Of { id: own.id, blob, index: position };
                if last.is_some_and(|last| request.offset < last) {
                    unsorted.add(of);
                }
                last = Some(request.offset);
                let row = own.grid.row();
                let left = row.get().saturating_sub(request.offset % row);
                if request.len > left {
                    crossing.add(of);
                }
                let place = Place { subfile: member.number, blob, position };
                runs.push(Run { offset: request.offset, len: request.len, place });
            }
            let found = runs.get(before..).unwrap_or_default();
            let value = found.iter().fold(0_u64, |sum, run| sum.saturating_add(run.len));
            let expected = member.subfile.share(blob, own.index).count;
            if value != expected {
                let (id, part) = (own.id, Part::Lengths);
                let error = Error::Differs { id, part, blob, value, expected };
                report.add(FindingKind::Tables(error).into());
            }
            if let Some((.., lists)) = lists.get_mut(number) {
                let mut list = Vec::new();
                room(&mut list, found.len())?;
                list.extend(found.iter().map(request_of));
                lists.push(list);
            }
        }
        report.cases(unsorted, |of, count| FindingKind::Unsorted { of, count }.into());
        report.cases(crossing, |of, count| FindingKind::Crosses { of, count }.into());
        let value = member.max_nreqs.get(own.index).copied().unwrap_or(0);
        if most < value && member.subfile.found == member.subfile.nblobs {
            report.add(FindingKind::MaxNreqs { id: own.id, value, expected: most }.into());
        }
        Ok(())
    }

    /// The offsets and lengths of a blob's requests; `None` if they are not in the file, which is
    /// reported elsewhere.
    fn columns(
        store: &F::Subject,
        member: &Member,
        blob: usize,
        own: Decomposition,
    ) -> Result<Option<[Column; 2]>, Failure<F>> {
        let Some(spans) = member.subfile.requests(blob, own.index) else { return Ok(None) };
        if spans.iter().any(|(span, _)| !span.fits(member.subfile.file_len)) {
            return Ok(None);
        }
        let bytes = |(span, nc_type): (Span, Type)| -> Result<_, Failure<F>> {
            let mut bytes = memory(usize::try_from(span.len()).unwrap_or(usize::MAX))?;
            if !span.is_empty() {
                read(store, span.offset(), &mut bytes)?;
            }
            Ok((bytes, nc_type))
        };
        let [offsets, lengths] = spans.map(bytes);
        Ok(Some([offsets?, lengths?]))
    }

    /// Reports elements outside of the array, in several blobs, and in none.
    fn faults(&self, runs: &mut [Run], own: Decomposition, report: &mut Report<'_>) {
        let Decomposition { id, grid, .. } = own;
        let of = |run: &Run| Of { id, blob: run.place.blob, index: run.place.position };
        let (first_file, mut holes) = (report.file, None);
        for fault in Faults::new(runs, grid) {
            let is_inside = fault.is_inside_a_rank();
            let (run, what) = match fault {
                Fault::Empty(run) => (run, FindingKind::Empty { of: of(&run), offset: run.offset }),
                Fault::OutOfArray(run) => {
                    let total = grid.total();
                    (run, FindingKind::Outside { of: of(&run), run: request_of(&run), total })
                }
                Fault::Overlap { first, second } if is_inside => {
                    let (of, run) = (of(&second), request_of(&second));
                    (second, FindingKind::Inside { of, run, first: first.place.position })
                }
                Fault::Overlap { first, second } => {
                    let (of, run, first_of) = (of(&second), request_of(&second), of(&first));
                    let subfile = first.place.subfile;
                    (second, FindingKind::Across { of, run, first: first_of, subfile })
                }
                Fault::Hole { offset, len } => {
                    let first = Request { offset, len };
                    let (_, count, elements) = holes.get_or_insert((first, 0_u64, 0_u64));
                    (*count, *elements) = (count.saturating_add(1), elements.saturating_add(len));
                    continue;
                }
            };
            report.file = run.place.subfile;
            report.add(what.into());
        }
        report.file = first_file;
        if let Some((run, count, elements)) = holes {
            report.add(FindingKind::Hole { id, run, count, elements }.into());
        }
    }
}
