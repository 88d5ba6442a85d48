//! Many requests: the reads that serve all of them.
//!
//! Requests that touch, once they are rounded out to units, and those with a gap that is worth
//! reading through, form a run; a run is cut into reads from its start. So where everything is
//! follows from the runs, and these are all that needs memory: as many as there are requests at
//! most.

use super::error::Error;
use super::rules::Rules;
use crate::sort::sort_by_key;
use crate::span::Span;

/// A part of the file that is read without a gap; memory that [`Plan::new`] fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    start: u64,
    end: u64,
    /// Reads of the runs before it.
    first: u64,
    /// Bytes that these take in a buffer.
    place: u64,
}

impl Run {
    /// One that says nothing yet.
    pub const EMPTY: Self = Self { start: 0, end: 0, first: 0, place: 0 };

    const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Reads of at most `max_io` bytes that it is cut into.
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

    /// The run from its start up to `offset`, cut off where a read begins: the start of the read
    /// that has the byte at `offset`, and its number in the run.
    fn cut(&self, offset: u64, max_io: u64) -> (u64, u64) {
        let skip = offset.saturating_sub(self.start);
        let whole = if skip < max_io { 0 } else { skip.checked_div(max_io).unwrap_or(0) };
        (self.start.saturating_add(whole.saturating_mul(max_io)), whole)
    }
}

/// A read: its offset and its length are aligned, and no other one has a byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Its number, from 0, in the order of offsets.
    pub number: u64,
    /// What to ask for. It may reach behind the end of the file by less than a unit.
    pub span: Span,
    /// Bytes of it that the file has: what a read of all of it returns.
    pub valid: u64,
    /// Where it goes in a buffer of [`Plan::room`] bytes: a multiple of the granule.
    pub place: u64,
}

/// What is left of a read that returned fewer bytes than the file has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Done,
    /// Ask again: `read` into the memory from `skip` bytes on, where it is aligned as before.
    Again {
        /// Bytes that are there for good.
        skip: u64,
        /// What to ask for.
        read: Read,
    },
    /// The file ends at this offset: it is shorter than it was.
    Ended {
        /// The offset.
        offset: u64,
    },
}

impl Read {
    /// What is left to do if the device has returned `got` bytes.
    #[must_use]
    pub fn rest(self, got: u64, rules: &Rules) -> Rest {
        if got >= self.valid {
            return Rest::Done;
        }
        // Devices stop within a unit only where the file does.
        if got == 0 || rules.down(got) != got {
            return Rest::Ended { offset: self.span.offset().saturating_add(got) };
        }
        let skip = got & rules.granule().wrapping_neg();
        let left = self.span.len().saturating_sub(skip);
        let span = self.span.part(skip, left).unwrap_or(Span::ZERO);
        let (valid, place) = (self.valid.saturating_sub(skip), self.place.saturating_add(skip));
        Rest::Again { skip, read: Self { span, valid, place, ..self } }
    }
}

/// A part of a request: where it is in a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of the read.
    pub read: u64,
    /// Bytes of the read before it.
    pub skip: u64,
    /// Bytes of the request before it.
    pub at: u64,
    /// Its length in bytes; never 0.
    pub len: u64,
}

/// Reads that serve all of many requests (`spec/align.md#plan`).
///
/// They are aligned, disjoint, in the order of their offsets, and inside the file rounded up to a
/// unit. At most they read, more than what was asked for, less than two units a request and
/// [`Rules::max_gap`] between two of them.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'m> {
    runs: &'m [Run],
    rules: Rules,
}

impl<'m> Plan<'m> {
    /// Plans for requests in any order, which may overlap. Empty ones need nothing, wherever they
    /// are.
    ///
    /// `memory` has a run for each request. Takes O(n log n).
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::BehindEnd`].
    pub fn new(requests: &[Span], rules: Rules, memory: &'m mut [Run]) -> Result<Self, Error> {
        let (need, have) = (requests.len(), memory.len());
        let runs = memory.get_mut(..need).ok_or(Error::Memory { need, have })?;
        let count = round_out(requests, &rules, runs)?;
        let runs = runs.get_mut(..count).unwrap_or_default();
        sort_by_key(runs, |run| (run.start, run.end));
        let count = join(runs, &rules);
        Ok(Self { runs: runs.get(..count).unwrap_or_default(), rules })
    }

    /// The rules that it keeps to.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Number of reads.
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

    /// Bytes of all reads.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.len()))
    }

    /// Bytes of a buffer that all reads fit in, one behind the other, so that every request is in
    /// one piece there. Where the buffer is aligned, so are the places of the reads.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.place.saturating_add(run.len()))
    }

    /// Where the first byte of a request is in such a buffer; `None` if the plan does not read all
    /// of it. An empty one is at 0: wherever it is in the file, it is in any buffer.
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

    /// A read by its number.
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
    /// it.
    #[must_use]
    pub fn parts(&self, request: Span) -> Option<Parts> {
        let run = self.run_of(request)?;
        Some(Parts { run, request, at: 0, max_io: self.rules.max_io() })
    }

    /// The run that all of a request is in; any one for an empty request.
    fn run_of(&self, request: Span) -> Option<Run> {
        if request.is_empty() {
            return Some(Run::EMPTY);
        }
        let behind = self.runs.partition_point(|run| run.start <= request.offset());
        let run = *self.runs.get(behind.checked_sub(1)?)?;
        (request.end() <= run.end.min(self.rules.file_len())).then_some(run)
    }
}

/// Writes a run for each request that is not empty; returns how many.
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

/// Joins what belongs together of sorted runs, and numbers their reads; returns how many are left.
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
/// gap is short and the last read of `run` can end behind it.
fn is_one(run: &Run, next: &Run, rules: &Rules) -> bool {
    let Some(gap) = next.start.checked_sub(run.end).filter(|&gap| gap > 0) else { return true };
    let (last, _) = run.cut(run.end.saturating_sub(1), rules.max_io());
    let len = next.end.saturating_sub(last);
    gap <= rules.max_gap() && len <= rules.max_io()
}

/// Parts of a request, one a read.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    run: Run,
    request: Span,
    /// Bytes of the request that are passed.
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
