//! Reads by io_uring.
#![expect(unsafe_code, reason = "the kernel writes to memory that a queue entry names")]

use super::engine::{Done, Engine, How, Op};
use super::handles::Handles;
use super::memory::Memory;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

/// A ring of one thread at a time.
pub(super) struct Ring {
    ring: IoUring,
    handles: Arc<Handles>,
    file: RawFd,
    /// Whether the file is registered, as number 0.
    is_registered: bool,
    /// Slots for registered buffers that are free; `None` if there can be none.
    slots: Option<Vec<u16>>,
    /// Reads in the submission queue that the kernel has not taken yet, oldest first.
    queued: VecDeque<u64>,
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

/// Registered buffers of a ring.
const SLOTS: u16 = 64;

/// A read of at most so many bytes is given to the kernel at once, and waited for by itself: the
/// device is done with it before others are gathered.
const SHORT: usize = 1 << 14;

/// Longer reads that are gathered, since to give one to the kernel takes as long as to give it
/// several.
const GATHERED: usize = 8;

/// Times in a row that the kernel may take none and say to ask again.
const VAIN: u32 = 1000;

impl Ring {
    /// A ring for `depth` reads at once of a file that can be read directly, and why there are no
    /// registered buffers, if that is so.
    ///
    /// # Errors
    /// The kernel's: there is no `io_uring`, it is forbidden, or there is not enough memory for it.
    pub(super) fn new(handles: Arc<Handles>, depth: u32) -> io::Result<(Self, Option<io::Error>)> {
        let file = handles.direct.as_ref().ok_or(io::ErrorKind::Unsupported)?.as_fd().as_raw_fd();
        // Not COOP_TASKRUN: what one thread has begun would come in, for another one that waits for
        // it, only when the first one enters the kernel.
        let ring = IoUring::builder().setup_clamp().build(depth)?;
        let is_registered = ring.submitter().register_files(&[file]).is_ok();
        let why = ring.submitter().register_buffers_sparse(SLOTS.into()).err();
        let slots = why.is_none().then(|| (0..SLOTS).collect());
        let (queued, left) = (VecDeque::new(), VecDeque::new());
        let ring = Self {
            ring,
            handles,
            file,
            is_registered,
            slots,
            queued,
            under_way: 0,
            vain: 0,
            is_short: false,
            left,
            refused: None,
        };
        Ok((ring, why))
    }

    /// Makes memory one of the registered buffers, if it is none yet and there is a slot left.
    ///
    /// # Errors
    /// The kernel's, as when that is more memory than may be locked.
    pub(super) fn register(&mut self, memory: &mut Memory) -> io::Result<()> {
        let slot = self.slots.as_mut().filter(|_| memory.slot.is_none()).and_then(Vec::pop);
        let Some(slot) = slot else { return Ok(()) };
        let Some(target) = memory.target(0, memory.len()) else { return Ok(()) };
        let buffer = libc::iovec { iov_base: target.start.as_ptr().cast(), iov_len: target.len };
        // SAFETY: `register_buffers_update`: "the buffers must be valid until they are
        // unregistered": the kernel keeps the pages, and a read that names them is made by `begin`
        // alone, whose callers promise that the memory lives.
        let done =
            unsafe { self.ring.submitter().register_buffers_update(slot.into(), &[buffer], None) };
        match done {
            Ok(()) => memory.slot = Some(slot),
            Err(_) => self.free([slot]),
        }
        done
    }

    /// Lets memory of these slots go.
    pub(super) fn free(&mut self, slots: impl IntoIterator<Item = u16>) {
        for slot in slots {
            let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            // SAFETY: as above; there is no buffer.
            let _ = unsafe {
                self.ring.submitter().register_buffers_update(slot.into(), &[nothing], None)
            }; // what stays registered is replaced by the next one, or goes with the ring
            self.slots.get_or_insert_default().push(slot);
        }
    }

    fn entry(&self, op: &Op) -> squeue::Entry {
        let start = op.target.start.as_ptr();
        let len = u32::try_from(op.target.len).unwrap_or(u32::MAX); // never: Rules::MAX_IO is less
        let slot = match op.how {
            How::Direct(slot) => slot,
            How::Uncached | How::Buffered => None,
        };
        let entry = match (slot, self.is_registered) {
            (Some(slot), true) => {
                opcode::ReadFixed::new(types::Fixed(0), start, len, slot).offset(op.offset).build()
            }
            (Some(slot), false) => opcode::ReadFixed::new(types::Fd(self.file), start, len, slot)
                .offset(op.offset)
                .build(),
            (None, true) => {
                opcode::Read::new(types::Fixed(0), start, len).offset(op.offset).build()
            }
            (None, false) => {
                opcode::Read::new(types::Fd(self.file), start, len).offset(op.offset).build()
            }
        };
        entry.user_data(op.token)
    }

    /// Gives the kernel what is queued, and waits until one is done; of long reads, until some are:
    /// the others keep the device busy meanwhile, and each time to wake up costs processor time.
    fn enter(&mut self) {
        let some = if self.is_short { 1 } else { (self.under_way / GATHERED).max(1) };
        self.submit(|ring| ring.submit_and_wait(some));
    }

    fn submit(&mut self, submit: impl FnOnce(&IoUring) -> io::Result<usize>) {
        let (queued, error) = (self.queued.len(), submit(&self.ring).err());
        self.pass_queued();
        let is_vain = error.is_some() && queued > 0 && self.queued.len() == queued;
        self.vain = if is_vain { self.vain.saturating_add(1) } else { 0 };
        match error.map(|error| Errno::from_io_error(&error)) {
            None => {}
            Some(Some(Errno::INTR)) if self.vain < VAIN => {}
            // What is done must be reaped first, or memory is short for a moment.
            Some(Some(Errno::AGAIN | Errno::BUSY)) if self.vain < VAIN => std::thread::yield_now(),
            Some(errno) => self.refuse(errno.unwrap_or(Errno::IO)),
        }
    }

    /// Forgets those of the queued ones that the kernel has taken by now.
    fn pass_queued(&mut self) {
        let left = self.ring.submission().len();
        let taken = self.queued.len().saturating_sub(left);
        self.queued.drain(..taken);
    }

    /// What the kernel has not taken it will never take: nobody enters the ring again.
    fn refuse(&mut self, errno: Errno) {
        self.pass_queued();
        self.under_way = self.under_way.saturating_sub(self.queued.len());
        self.left.append(&mut self.queued);
        self.refused = Some(errno);
    }

    fn reap(&mut self) -> Option<Done> {
        let done = self.ring.completion().next()?;
        self.under_way = self.under_way.saturating_sub(1);
        let result = match usize::try_from(done.result()) {
            Ok(read) => Ok(read),
            Err(_) => Err(Errno::from_raw_os_error(done.result().saturating_neg())),
        };
        Some(Done::new(done.user_data(), result))
    }
}

impl Engine for Ring {
    unsafe fn begin(&mut self, op: Op) {
        let entry = self.entry(&op);
        // SAFETY: `SubmissionQueue::push`: "the parameters of the entry (such as buffers) must be
        // valid and must live until the operation is completed": the caller's promise; the file is
        // in `handles`.
        let pushed =
            self.refused.is_none() && unsafe { self.ring.submission().push(&entry) }.is_ok();
        if pushed {
            self.queued.push_back(op.token);
            self.under_way = self.under_way.saturating_add(1);
            self.is_short = op.target.len <= SHORT;
            if self.is_short || self.queued.len() >= GATHERED {
                self.submit(IoUring::submit);
            }
        } else {
            self.left.push_back(op.token); // it is full: the caller has more under way than it said
            self.refused.get_or_insert(Errno::BUSY);
        }
    }

    fn wait(&mut self) -> Option<Done> {
        loop {
            if let Some(done) = self.reap() {
                return Some(done);
            }
            if let (Some(token), Some(errno)) = (self.left.front(), self.refused) {
                let done = Done::refused(*token, errno);
                self.left.pop_front();
                return Some(done);
            }
            if self.under_way == 0 {
                return None;
            }
            match self.refused {
                None => self.enter(),
                Some(_) => std::thread::yield_now(), // the kernel still completes what it took
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.wait().is_some() {}
        // What is registered the kernel lets go long after the ring is closed, and its file system
        // cannot be unmounted until then.
        if self.is_registered {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("under_way", &self.under_way)
            .field("refused", &self.refused)
            .field("handles", &self.handles)
            .finish_non_exhaustive()
    }
}
