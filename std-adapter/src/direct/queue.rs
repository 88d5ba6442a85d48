//! Reads that a kernel takes from a queue: when they are given to it, how many are waited for, and
//! what becomes of them when it refuses.

use super::engine::{Done, Op};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// A read of at most so many bytes is given to the kernel at once, and waited for by itself: the
/// device is done with it before others are gathered.
const SHORT: usize = 1 << 14;

/// Longer reads that are gathered, since to give one to the kernel takes as long as to give it
/// several.
pub(super) const GATHERED: usize = 8;

/// Times in a row that the kernel may take none and say to ask again.
const VAIN: u32 = 1000;

/// The reads of one caller that a kernel does.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those that the kernel has not taken yet, oldest first.
    queued: VecDeque<u64>,
    /// Those that are not done, the queued ones among them.
    under_way: usize,
    /// Times in a row that the kernel was to take some and took none.
    vain: u32,
    /// Whether the last read was short.
    is_short: bool,
    /// Reads that the kernel did not take.
    left: VecDeque<u64>,
    /// Why it takes no more.
    refused: Option<Errno>,
}

impl Queue {
    /// Whether the kernel may still be asked.
    pub(super) const fn is_open(&self) -> bool {
        self.refused.is_none()
    }

    /// Notes a read that was put into the kernel's queue, or found no room there; whether the
    /// kernel is to take what is queued.
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
        // Where it has just taken none, some must come back first.
        self.vain == 0 && (self.is_short || self.queued.len() >= GATHERED)
    }

    /// How many to wait for: of long reads some, since the others keep the device busy meanwhile,
    /// and each time to wake up costs processor time.
    fn some(&self) -> usize {
        if self.is_short { 1 } else { (self.under_way / GATHERED).max(1) }
    }

    /// Notes that the kernel was to take what is queued, and left so many.
    fn entered(&mut self, left: usize, error: Option<&io::Error>) {
        let taken = self.queued.len().saturating_sub(left);
        self.queued.drain(..taken);
        let is_vain = error.is_some() && left > 0 && taken == 0;
        self.vain = if is_vain { self.vain.saturating_add(1) } else { 0 };
        match error.map(Errno::from_io_error) {
            None => {}
            Some(Some(Errno::INTR)) if self.vain < VAIN => {}
            // What is done must be reaped first, or memory is short for a moment.
            Some(Some(Errno::AGAIN | Errno::BUSY)) if self.vain < VAIN => std::thread::yield_now(),
            Some(errno) => self.refuse(errno.unwrap_or(Errno::IO)),
        }
    }

    /// What the kernel has not taken it will never take: nobody asks it again.
    fn refuse(&mut self, errno: Errno) {
        self.under_way = self.under_way.saturating_sub(self.queued.len());
        self.left.append(&mut self.queued);
        self.refused = Some(errno);
    }

    /// One that the kernel did not take.
    fn take_left(&mut self) -> Option<Done> {
        let errno = self.refused?;
        self.left.pop_front().map(|token| Done::refused(token, errno))
    }
}

/// A kernel's side of a queue.
pub(super) trait Kernel {
    fn queue(&mut self) -> &mut Queue;

    /// Gives it what is queued, and waits until so many are done.
    ///
    /// # Errors
    /// The kernel's.
    fn enter(&mut self, some: usize) -> io::Result<()>;

    /// Number of reads of the queue that it has not taken.
    fn left(&mut self) -> usize;

    /// One that is done.
    fn reap(&mut self) -> Option<Done>;

    /// Waits for what it took before it refused.
    fn settle(&mut self);

    /// Notes a read that was put into the kernel's queue, or found no room there.
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

    /// Waits for one that is done; `None` if none is under way.
    fn next_done(&mut self) -> Option<Done> {
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
