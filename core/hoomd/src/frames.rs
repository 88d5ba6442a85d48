//! The frames of a trajectory, looked up one after another.

use crate::frame::Frame;
use crate::source::Source;
use crate::trajectory::Trajectory;
use core::ops::{Bound, Range, RangeBounds};
use striae_core::gsd;

impl<F: Source> Trajectory<F> {
    /// The frame with this number.
    ///
    /// # Errors
    /// [`gsd::Error::NoFrame`] if there is no such frame; an error for a damaged index entry; an
    /// error of the source.
    pub fn frame(&self, number: u64) -> Result<Frame<'_, F>, F::Error> {
        let frames = self.len();
        if number >= frames {
            return Err(self.error(gsd::Error::NoFrame { frame: number, frames }));
        }
        Ok(Frame::new(self, number, self.chunks_of(number)?))
    }

    /// Some frames, each looked up when the iterator reaches it; numbers past the last frame are
    /// ignored. [`Iterator::step_by`] and [`Iterator::rev`] look up only the frames that they
    /// return.
    pub fn frames(&self, numbers: impl RangeBounds<u64>) -> Frames<'_, F> {
        let start = match numbers.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match numbers.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        Frames { trajectory: self, numbers: start..end.min(self.len()) }
    }
}

/// An iterator over some frames of a trajectory.
#[derive(Debug)]
pub struct Frames<'a, F> {
    trajectory: &'a Trajectory<F>,
    numbers: Range<u64>,
}

impl<F> Clone for Frames<'_, F> {
    fn clone(&self) -> Self {
        Self { numbers: self.numbers.clone(), ..*self }
    }
}

impl<'a, F: Source> Iterator for Frames<'a, F> {
    type Item = Result<Frame<'a, F>, F::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.numbers.nth(n).map(|number| self.trajectory.frame(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl<F: Source> DoubleEndedIterator for Frames<'_, F> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
        self.numbers.nth_back(n).map(|number| self.trajectory.frame(number))
    }
}
