//! [`Task`]: values of a record to be read. Many of them are read together, subfile by subfile, and
//! what follows each other in a subfile is read at once.

use super::plan::{Group, Origin, Plan};
use super::read::fill_with;
use super::runs;
use super::set::{Opened, Set};
use crate::error::{Error, ErrorKind as AnyError};
use std::collections::BTreeSet;
use striae_core::cdf;
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::Flaw;

/// A gap of as many bytes is read, and not skipped.
const GAP: u64 = 1 << 12;

/// The most bytes that are read at once, unless a group has more: what fits into a cache of the
/// processor or, past the page cache, what a device reads in one turn.
const WINDOW: u64 = 1 << 18;
const DIRECT_WINDOW: u64 = 1 << 22;

/// The most groups that are read at once.
const MOST_GROUPS: usize = 1 << 12;

/// Values of one record to be read.
pub(crate) struct Task<'p> {
    pub(crate) plan: &'p Plan,
    /// Index of the variable.
    pub(crate) variable: usize,
    pub(crate) record: u64,
    /// The place of the first value in the caller's memory.
    pub(crate) at: usize,
    /// What elements get that no subfile has, in big-endian order.
    pub(crate) fill: [u8; 8],
}

/// The memory of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    window: Vec<u8>,
    single: Vec<u8>,
}

/// Groups whose bytes follow each other in a subfile, or nearly.
#[derive(Default)]
struct Pending<'t> {
    /// From the first byte to the last one.
    span: Option<Span>,
    parts: Vec<(Span, &'t Task<'t>, &'t Group)>,
}

impl Pending<'_> {
    /// All of it and the next bytes, if they are to be read at once: at most `most` bytes.
    fn with(&self, next: Span, most: u64) -> Option<Span> {
        let Some(span) = self.span else { return Some(next) };
        let gap = next.offset().checked_sub(span.end())?;
        let all = Span::between(span.offset(), next.end())?;
        let fits = gap <= GAP && all.len() <= most && self.parts.len() < MOST_GROUPS;
        fits.then_some(all)
    }
}

/// What is read now: a subfile, and the order of values in memory.
struct Reading<'s> {
    set: &'s Set,
    number: u32,
    opened: Opened,
    order: ByteOrder,
}

impl Set {
    /// Reads values of decomposed variables into `out`: sets all of a task's elements. Subfile by
    /// subfile, so that each is opened once.
    pub(crate) fn read_tasks(
        &self,
        tasks: &[Task<'_>],
        order: ByteOrder,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let mut plans: Vec<&Plan> = Vec::new();
        for task in tasks {
            if !plans.iter().any(|plan| std::ptr::eq(*plan, task.plan)) {
                plans.push(task.plan);
            }
            if !task.plan.is_full() {
                let width = self.width(task);
                let len = usize::try_from(task.plan.len.saturating_mul(width));
                let room = out.get_mut(task.at..).unwrap_or_default();
                let room = room.get_mut(..len.unwrap_or(usize::MAX)).unwrap_or_default();
                fill_with(room, task.fill, width, order);
            }
        }
        let origins: BTreeSet<_> = plans.iter().flat_map(|plan| plan.origins()).collect();
        for origin in origins {
            let Some(opened) = self.subfile(origin.0)? else {
                for (task, group) in of_origin(tasks, origin) {
                    self.blank((task, group), order, 0, out);
                }
                continue;
            };
            let reading = Reading { set: self, number: origin.0, opened, order };
            reading.read(tasks, origin, out, scratch)?;
        }
        Ok(())
    }

    /// The bytes of a value of a task.
    fn width(&self, task: &Task<'_>) -> u64 {
        self.decomposed_variable(task.variable).map_or(1, |variable| variable.nc_type.size())
    }

    /// Sets the elements of a group after the first `have` ones to the fill value, and returns how
    /// many these are.
    fn blank(
        &self,
        (task, group): (&Task<'_>, &Group),
        order: ByteOrder,
        have: u64,
        out: &mut [u8],
    ) -> u64 {
        let (mut value, width) = (task.fill, self.width(task));
        let value = value.get_mut(..usize::try_from(width).unwrap_or(0)).unwrap_or_default();
        if order == ByteOrder::Little {
            value.reverse();
        }
        task.plan.fill(group, have, value, out.get_mut(task.at..).unwrap_or_default())
    }
}

/// What tasks have in some blobs.
fn of_origin<'t>(
    tasks: &'t [Task<'t>],
    origin: Origin,
) -> impl Iterator<Item = (&'t Task<'t>, &'t Group)> {
    tasks.iter().flat_map(move |task| task.plan.groups(origin).iter().map(move |g| (task, g)))
}

impl Reading<'_> {
    /// Reads what tasks have in some blobs.
    fn read(
        &self,
        tasks: &[Task<'_>],
        origin: Origin,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let memory = usize_to_u64(self.set.options.memory());
        let most = if self.opened.1.is_direct() { DIRECT_WINDOW.min(memory) } else { WINDOW };
        let mut pending = Pending::default();
        for (task, group) in of_origin(tasks, origin) {
            let span = match self.span((task, group), origin.1) {
                Ok(span) => span,
                Err(error) => {
                    self.lose((task, group), 0, error, out)?;
                    continue;
                }
            };
            let all = match pending.with(span, most) {
                Some(all) => all,
                None => {
                    self.read_pending(&mut pending, out, scratch)?;
                    span
                }
            };
            pending.span = Some(all);
            pending.parts.push((span, task, group));
        }
        self.read_pending(&mut pending, out, scratch)
    }

    /// Where a group is in the subfile, if its blob is as sealed.
    fn span(&self, (task, group): (&Task<'_>, &Group), blob: u32) -> Result<Span, AnyError> {
        let (subfile, bulk) = &self.opened;
        let none = || Flaw::Size { name: task.variable.to_string().into() }; // never: it is there
        let variable = self.set.decomposed_variable(task.variable).ok_or_else(none)?;
        if variable.is_record && task.record >= subfile.numrecs {
            let (last, length) = (task.record, subfile.numrecs);
            return Err(Flaw::Cdf(cdf::Error::OutOfShape { dim: 0, last, length }).into());
        }
        subfile.check(bulk.file(), &self.set.canonical, (task.variable, blob))?;
        let width = variable.nc_type.size();
        let span = || {
            let place = (task.record, blob, width);
            let start = subfile.elements(task.variable, variable.decomposition?, place)?;
            let skip = group.first.checked_mul(width)?;
            Span::new(start.checked_add(skip)?, group.count.checked_mul(width)?)
        };
        span().ok_or_else(|| Flaw::Size { name: variable.name.clone() }.into())
    }

    /// Reads groups that are near each other. If that fails, each of them is read alone, so that an
    /// error costs no more than it must.
    fn read_pending(
        &self,
        pending: &mut Pending<'_>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let Some(span) = pending.span.take() else { return Ok(()) };
        let (subfile, bulk) = &self.opened;
        let left = subfile.file_len.saturating_sub(span.offset()).min(span.len());
        let len = usize::try_from(left).unwrap_or(usize::MAX);
        let is_long = scratch.window.len() >= len;
        let has_room = is_long || runs::resize(&mut scratch.window, left).is_ok();
        let window = scratch.window.get_mut(..len).unwrap_or_default();
        let is_read = has_room && bulk.read_into::<cdf::Error>(span.offset(), window).is_ok();
        for (part, task, group) in pending.parts.drain(..) {
            let [start, end] = [part.offset(), part.end()]
                .map(|at| usize::try_from(at.saturating_sub(span.offset())).unwrap_or(usize::MAX));
            let (bytes, read) = match window.get(start..end).filter(|_| is_read) {
                Some(bytes) => (bytes, Ok(())),
                None => {
                    let read = runs::read(bulk, subfile, part, &mut scratch.single);
                    (scratch.single.as_slice(), read)
                }
            };
            let (width, swap) = (self.set.width(task), subfile.order() != self.order);
            let room = out.get_mut(task.at..).unwrap_or_default();
            task.plan.scatter(group, (width, swap), bytes, room);
            if let Err(error) = read {
                let have = usize_to_u64(bytes.len()).checked_div(width).unwrap_or(0);
                self.lose((task, group), have, error, out)?;
            }
        }
        Ok(())
    }

    /// Fills the elements of a group that could not be read: those after the first `have` ones.
    fn lose(
        &self,
        (task, group): (&Task<'_>, &Group),
        have: u64,
        error: impl Into<AnyError>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let filled = self.set.blank((task, group), self.order, have, out);
        self.set.lose(self.number, error.into(), Some(filled))
    }
}
