//! The queue of reads for a kernel: when they are submitted, how many are waited for, and what
//! happens to them if the kernel refuses.

use super::engine::{Completion, Op};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// A read of at most this many bytes is submitted at once and waited for alone: the device finishes
/// it before others are gathered.
const SHORT: usize = 1 << 14;

/// Longer reads are gathered up to this number: submitting several takes as long as submitting one.
pub(super) const GATHERED: usize = 8;

/// How many times in a row the kernel may take no read and ask for a repetition.
const VAIN: u32 = 1000;

/// The reads of one caller that a kernel executes.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Reads that the kernel has not taken yet, oldest first.
    queued: VecDeque<u64>,
    /// Number of reads that are not done, including queued ones.
    under_way: usize,
    /// How many times in a row a submission failed and the kernel took no read.
    vain: u32,
    /// Whether the last read was at most [`SHORT`] bytes long.
    is_short: bool,
    /// Reads that the kernel will not take.
    left: VecDeque<u64>,
    /// The reason why the kernel takes no more reads.
    refused: Option<Errno>,
}

impl Queue {
    /// Whether reads may still be submitted.
    pub(super) const fn is_open(&self) -> bool {
        self.refused.is_none()
    }

    /// Notes a read that was pushed to the kernel's queue, or found no room there. Returns whether
    /// the queue is to be submitted now.
    fn add(&mut self, op: &Op, is_pushed: bool) -> bool {
        if !is_pushed {
            self.left.push_back(op.token);
            if self.is_open() {
                self.refuse(Errno::BUSY); // it is full: the caller has more under way than it said
            }
            return false;
        }
        self.queued.push_back(op.token);
        self.under_way = self.under_way.saturating_add(1);
        self.is_short = op.target.len <= SHORT;
        // After a submission of which the kernel took none, some reads must finish first.
        self.vain == 0 && (self.is_short || self.queued.len() >= GATHERED)
    }

    /// The number of reads to wait for. Of long reads, it waits for several: the others keep the
    /// device busy meanwhile, and each wakeup costs processor time.
    fn some(&self) -> usize {
        if self.is_short { 1 } else { (self.under_way / GATHERED).max(1) }
    }

    /// Notes a submission after which `left` reads are still queued.
    fn entered(&mut self, left: usize, error: Option<&io::Error>) {
        let taken = self.queued.len().saturating_sub(left);
        self.queued.drain(..taken);
        let is_vain = error.is_some() && left > 0 && taken == 0;
        self.vain = if is_vain { self.vain.saturating_add(1) } else { 0 };
        match error.map(Errno::from_io_error) {
            None => {}
            Some(Some(Errno::INTR)) if self.vain < VAIN => {}
            // Finished reads must be reaped first, or memory is short for a moment.
            Some(Some(Errno::AGAIN | Errno::BUSY)) if self.vain < VAIN => std::thread::yield_now(),
            Some(errno) => self.refuse(errno.unwrap_or(Errno::IO)),
        }
    }

    /// Stops submitting; the kernel never takes the queued reads.
    fn refuse(&mut self, errno: Errno) {
        self.under_way = self.under_way.saturating_sub(self.queued.len());
        self.left.append(&mut self.queued);
        self.refused = Some(errno);
    }

    /// A read that the kernel did not take, as refused.
    fn take_left(&mut self) -> Option<Completion> {
        let errno = self.refused?;
        self.left.pop_front().map(|token| Completion::refused(token, errno))
    }
}

/// The kernel's side of a queue.
pub(super) trait Kernel {
    fn queue(&mut self) -> &mut Queue;

    /// Submits the queued reads, and waits until `some` reads are done.
    ///
    /// # Errors
    /// An error of the kernel.
    fn enter(&mut self, some: usize) -> io::Result<()>;

    /// Number of queued reads that the kernel has not taken.
    fn left(&mut self) -> usize;

    /// A finished read, if there is one.
    fn reap(&mut self) -> Option<Completion>;

    /// Waits for reads that the kernel took before it refused.
    fn settle(&mut self);

    /// Handles a read that was pushed to the kernel's queue, or found no room there.
    fn begun(&mut self, op: &Op, is_pushed: bool) {
        if self.queue().add(op, is_pushed) {
            self.submit(0);
        }
    }

    fn submit(&mut self, some: usize) {
        let error = self.enter(some).err();
        let left = self.left();
        self.queue().entered(left, error.as_ref());
    }

    /// Waits for a finished read; `None` if no read is under way.
    fn next_done(&mut self) -> Option<Completion> {
        loop {
            if let Some(done) = self.reap() {
                let queue = self.queue();
                queue.under_way = queue.under_way.saturating_sub(1);
                return Some(done);
            }
            let queue = self.queue();
            if let Some(done) = queue.take_left() {
                return Some(done);
            }
            if queue.under_way == 0 {
                return None;
            }
            let some = queue.some();
            if queue.is_open() { self.submit(some) } else { self.settle() }
        }
    }
}
