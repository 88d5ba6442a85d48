//! [`Plan`] computes the reads that serve many requests.
//!
//! Each request is rounded out to units. Requests that then touch, or whose gap is short enough to
//! read through, form a run. A run is cut into reads from its start. All places follow from the
//! runs, so only the runs need memory: at most as many runs as requests.

use super::error::Error;
use super::rules::Rules;
use crate::sort::sort_by_key;
use crate::span::Span;

/// A part of the file that is read without a gap; the memory that [`Plan::new`] fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    start: u64,
    end: u64,
    /// The number of reads of the runs before this one.
    first: u64,
    /// The bytes that these reads take in a buffer.
    place: u64,
}

impl Run {
    /// An empty run, to initialize memory.
    pub const EMPTY: Self = Self { start: 0, end: 0, first: 0, place: 0 };

    const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The number of reads of at most `max_io` bytes in this run.
    const fn reads(&self, max_io: u64) -> u64 {
        if self.len() <= max_io {
            return 1; // most are, and dividing takes its time
        }
        match self.len().checked_div(max_io) {
            Some(whole) if whole.saturating_mul(max_io) == self.len() => whole,
            Some(whole) => whole.saturating_add(1),
            None => 0,
        }
    }

    /// The read of this run with the byte at `offset`: its start, and its number in the run.
    fn cut(&self, offset: u64, max_io: u64) -> (u64, u64) {
        let skip = offset.saturating_sub(self.start);
        let whole = if skip < max_io { 0 } else { skip.checked_div(max_io).unwrap_or(0) };
        (self.start.saturating_add(whole.saturating_mul(max_io)), whole)
    }
}

/// A read: its offset and length are aligned, and no two reads share a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Read {
    /// The number of the read, from 0, in the order of offsets.
    pub number: u64,
    /// The bytes to read. The span may reach past the end of the file by less than a unit.
    pub span: Span,
    /// The bytes of the span that the file has, which a complete read returns.
    pub valid: u64,
    /// The place of the read in a buffer of [`Plan::room`] bytes: a multiple of the granule.
    pub place: u64,
}

/// The rest of a read that may have returned too few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rest {
    /// There is no rest.
    Done,
    /// Read `read` into the memory from `skip` bytes on, where the memory is aligned as before.
    Again {
        /// The bytes that are complete.
        skip: u64,
        /// The read to do.
        read: Read,
    },
    /// The device has returned nothing, or less than a granule and no whole units, so that no
    /// aligned read can continue. Most devices stop there only at the end of the file: then the
    /// file has become shorter, and ends at this offset or before it.
    Ended {
        /// The offset after the last byte that was returned.
        offset: u64,
    },
}

impl Read {
    /// The rest of the read after the device has returned `got` bytes.
    #[must_use]
    pub fn rest(self, got: u64, rules: &Rules) -> Rest {
        if got >= self.valid {
            return Rest::Done;
        }
        // A device may stop within a unit before the file's end, as FUSE with FOPEN_DIRECT_IO does.
        // If whole granules came, the next read shows whether the file ends there.
        let skip = got & rules.granule().wrapping_neg();
        if got == 0 || (skip == 0 && rules.down(got) != got) {
            return Rest::Ended { offset: self.span.offset().saturating_add(got) };
        }
        let left = self.span.len().saturating_sub(skip);
        let span = self.span.part(skip, left).unwrap_or(Span::ZERO);
        let (valid, place) = (self.valid.saturating_sub(skip), self.place.saturating_add(skip));
        Rest::Again { skip, read: Self { span, valid, place, ..self } }
    }
}

/// A part of a request: its place in a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of the read.
    pub read: u64,
    /// The bytes of the read before the part.
    pub skip: u64,
    /// The bytes of the request before the part.
    pub at: u64,
    /// The length of the part in bytes; never 0.
    pub len: u64,
}

/// The reads that serve many requests (`spec/align.md#plan`).
///
/// They are aligned, disjoint, in the order of their offsets, and inside the file rounded up to a
/// unit. Besides the requested bytes they read less than two units for each request, and at most
/// [`Rules::max_gap`] bytes between two requests.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'m> {
    runs: &'m [Run],
    rules: Rules,
}

impl<'m> Plan<'m> {
    /// Makes a plan for requests in any order. Requests may overlap. Empty requests need no read,
    /// wherever they are.
    ///
    /// `memory` needs a run for each request. The time is O(n log n).
    ///
    /// # Errors
    /// [`Error::Memory`] if `memory` has fewer runs than there are requests; [`Error::BehindEnd`]
    /// if a request ends after the end of the file.
    pub fn new(requests: &[Span], rules: Rules, memory: &'m mut [Run]) -> Result<Self, Error> {
        let (need, have) = (requests.len(), memory.len());
        let runs = memory.get_mut(..need).ok_or(Error::Memory { need, have })?;
        let count = round_out(requests, &rules, runs)?;
        let runs = runs.get_mut(..count).unwrap_or_default();
        sort_by_key(runs, |run| (run.start, run.end));
        let count = join(runs, &rules);
        Ok(Self { runs: runs.get(..count).unwrap_or_default(), rules })
    }

    /// The rules of the plan.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The number of reads.
    #[must_use]
    pub fn len(&self) -> u64 {
        let reads = |run: &Run| run.first.saturating_add(run.reads(self.rules.max_io()));
        self.runs.last().map_or(0, reads)
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The bytes of all reads.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.len()))
    }

    /// The length of a buffer for all reads, one after another, in which every request is in one
    /// piece. If the buffer is aligned, the places of the reads are aligned, too.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.place.saturating_add(run.len()))
    }

    /// The place of a request's first byte in such a buffer; `None` if the plan does not read all
    /// of the request. An empty request is at 0.
    #[must_use]
    pub fn place(&self, request: Span) -> Option<u64> {
        if request.is_empty() {
            return Some(0);
        }
        let run = self.run_of(request)?;
        Some(run.place.saturating_add(request.offset().saturating_sub(run.start)))
    }

    /// All reads.
    pub fn reads(&self) -> impl Iterator<Item = Read> + '_ {
        self.runs
            .iter()
            .flat_map(|run| (0..run.reads(self.rules.max_io())).map(|at| self.read_of(run, at)))
    }

    /// The read with this number, or `None` if there are fewer reads.
    #[must_use]
    pub fn read(&self, number: u64) -> Option<Read> {
        let behind = self.runs.partition_point(|run| run.first <= number);
        let run = self.runs.get(behind.checked_sub(1)?)?;
        let at = number.checked_sub(run.first)?;
        (at < run.reads(self.rules.max_io())).then(|| self.read_of(run, at))
    }

    fn read_of(&self, run: &Run, at: u64) -> Read {
        let max_io = self.rules.max_io();
        let start = run.start.saturating_add(at.saturating_mul(max_io));
        let len = run.end.saturating_sub(start).min(max_io);
        let span = Span::new(start, len).unwrap_or(Span::ZERO);
        let valid = span.end().min(self.rules.file_len()).saturating_sub(start);
        let place = run.place.saturating_add(start.saturating_sub(run.start));
        Read { number: run.first.saturating_add(at), span, valid, place }
    }

    /// The parts of a request in the order of their bytes; `None` if the plan does not read all of
    /// the request.
    #[must_use]
    pub fn parts(&self, request: Span) -> Option<Parts> {
        let run = self.run_of(request)?;
        Some(Parts { run, request, at: 0, max_io: self.rules.max_io() })
    }

    /// The run that contains a request; an empty run for an empty request.
    fn run_of(&self, request: Span) -> Option<Run> {
        if request.is_empty() {
            return Some(Run::EMPTY);
        }
        let behind = self.runs.partition_point(|run| run.start <= request.offset());
        let run = *self.runs.get(behind.checked_sub(1)?)?;
        (request.end() <= run.end.min(self.rules.file_len())).then_some(run)
    }
}

/// Fills a run for each request that is not empty; returns their number.
fn round_out(requests: &[Span], rules: &Rules, runs: &mut [Run]) -> Result<usize, Error> {
    let (mut count, file_len) = (0_usize, rules.file_len());
    for (request, span) in requests.iter().enumerate() {
        if span.is_empty() {
            continue;
        }
        if !span.fits(file_len) {
            return Err(Error::BehindEnd { request, end: span.end(), file_len });
        }
        if let Some(run) = runs.get_mut(count) {
            let (start, end) = (rules.down(span.offset()), rules.up(span.end()));
            *run = Run { start, end, ..Run::EMPTY };
        }
        count = count.saturating_add(1);
    }
    Ok(count)
}

/// Joins sorted runs that are read together, and numbers their reads; returns the number of runs
/// that are left.
fn join(runs: &mut [Run], rules: &Rules) -> usize {
    let Some(&(mut last)) = runs.first() else { return 0 };
    let mut done = 0_usize;
    for next in 1..runs.len() {
        let Some(&run) = runs.get(next) else { break };
        if is_one(&last, &run, rules) {
            last.end = last.end.max(run.end);
        } else {
            put(runs, done, last);
            done = done.saturating_add(1);
            let first = last.first.saturating_add(last.reads(rules.max_io()));
            let len = last.len().saturating_add(rules.granule().saturating_sub(1));
            let place = last.place.saturating_add(len & rules.granule().wrapping_neg());
            last = Run { first, place, ..run };
        }
    }
    put(runs, done, last);
    done.saturating_add(1)
}

fn put(runs: &mut [Run], at: usize, run: Run) {
    if let Some(place) = runs.get_mut(at) {
        *place = run;
    }
}

/// Whether `next`, which does not start before `run`, is read together with it: they touch, or the
/// gap is short and the last read of `run` can be extended over `next`.
fn is_one(run: &Run, next: &Run, rules: &Rules) -> bool {
    let Some(gap) = next.start.checked_sub(run.end).filter(|&gap| gap > 0) else { return true };
    let (last, _) = run.cut(run.end.saturating_sub(1), rules.max_io());
    let len = next.end.saturating_sub(last);
    gap <= rules.max_gap() && len <= rules.max_io()
}

/// An iterator over the parts of a request, one for each read.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    run: Run,
    request: Span,
    /// The bytes of the request that were returned.
    at: u64,
    max_io: u64,
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let left = self.request.len().checked_sub(self.at).filter(|&left| left > 0)?;
        let offset = self.request.offset().saturating_add(self.at);
        let (start, number) = self.run.cut(offset, self.max_io);
        let skip = offset.saturating_sub(start);
        let len = left.min(self.max_io.saturating_sub(skip));
        let read = self.run.first.saturating_add(number);
        let part = Part { read, skip, at: self.at, len };
        self.at = self.at.saturating_add(len);
        Some(part)
    }
}
