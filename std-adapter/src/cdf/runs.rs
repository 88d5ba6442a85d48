//! Reads the runs of a region: those near each other with one read.

use crate::store::bulk::Bulk;
use std::io;
use striae_core::cdf::{Error, Slab};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

/// Runs with a gap of fewer bytes are read with one read, since the cache reads whole pages.
const GAP: u64 = 4096;

/// The most bytes of such a read.
const MOST: u64 = 1 << 18;

/// Runs of at least this length are read without a copy.
const LONG: u64 = 1 << 16;

type Failed = DriveError<io::Error, Error>;

/// Memory for the reads of one thread.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The runs that wait to be read together, and their bytes.
    waiting: Vec<Span>,
    window: Vec<u8>,
}

impl Runs {
    /// Fills `out` with bytes of a region: those after the first `skip`. The region has as many.
    pub(super) fn fill(
        &mut self,
        bulk: &Bulk,
        slab: &Slab<'_>,
        skip: u64,
        mut out: &mut [u8],
    ) -> Result<(), Failed> {
        for run in runs_after(slab, skip, usize_to_u64(out.len())) {
            if !self.is_near(run) {
                out = self.flush(bulk, out)?;
            }
            self.waiting.push(run);
        }
        self.flush(bulk, out).map(drop)
    }

    /// Whether a run is read with those that wait.
    fn is_near(&self, run: Span) -> bool {
        let (Some(first), Some(last)) = (self.waiting.first(), self.waiting.last()) else {
            return true;
        };
        let gap = run.offset().checked_sub(last.end());
        let all = run.end().saturating_sub(first.offset());
        run.len() < LONG && gap.is_some_and(|gap| gap < GAP) && all <= MOST
    }

    /// Reads the runs that wait to the front of `out`, and returns the rest of it.
    fn flush<'o>(&mut self, bulk: &Bulk, mut out: &'o mut [u8]) -> Result<&'o mut [u8], Failed> {
        let (Some(first), Some(last)) = (self.waiting.first(), self.waiting.last()) else {
            return Ok(out);
        };
        if let [run] = self.waiting.as_slice() {
            let (front, rest) = split(out, *run);
            bulk.read_into(run.offset(), front)?;
            self.waiting.clear();
            return Ok(rest);
        }
        let all = Span::between(first.offset(), last.end()).unwrap_or(Span::ZERO);
        self.window.resize(usize::try_from(all.len()).unwrap_or(0), 0);
        bulk.read_into(all.offset(), &mut self.window)?;
        for run in self.waiting.drain(..) {
            let skip = run.offset().saturating_sub(all.offset());
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            let (front, rest) = split(out, run);
            if let Some(bytes) = self.window.get(skip..).and_then(|rest| rest.get(..front.len())) {
                front.copy_from_slice(bytes);
            }
            out = rest;
        }
        Ok(out)
    }
}

/// Splits memory after the bytes of a run.
fn split(out: &mut [u8], run: Span) -> (&mut [u8], &mut [u8]) {
    let len = usize::try_from(run.len()).unwrap_or(usize::MAX).min(out.len());
    out.split_at_mut(len)
}

/// The runs with `len` bytes of a region after the first `skip`; the first and the last one are
/// cut.
fn runs_after(slab: &Slab<'_>, skip: u64, len: u64) -> impl Iterator<Item = Span> {
    let run_len = slab.run(0).map_or(0, Span::len);
    let first = skip.checked_div(run_len).unwrap_or(0);
    let mut skip = skip.checked_rem(run_len).unwrap_or(0);
    let mut left = len;
    (first..slab.count()).map_while(move |number| {
        let run = slab.run(number)?.skip(skip);
        let run = run.part(0, run.len().min(left)).filter(|run| !run.is_empty())?;
        (skip, left) = (0, left.saturating_sub(run.len()));
        Some(run)
    })
}
