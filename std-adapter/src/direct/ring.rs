//! Reads by io_uring.
#![expect(unsafe_code, reason = "the kernel writes to memory that a queue entry names")]

use super::engine::{Completion, Engine, How, Op, read_or_errno};
use super::handles::Handles;
use super::memory::Memory;
use super::queue::{Kernel, Queue};
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

/// An io_uring instance, used by one thread at a time.
pub(super) struct Ring {
    ring: IoUring,
    handles: Arc<Handles>,
    file: RawFd,
    /// Whether the file is registered as number 0.
    is_registered: bool,
    /// Free slots for registered buffers; `None` if buffers cannot be registered.
    slots: Option<Vec<u16>>,
    /// The bytes that are registered in each slot.
    lengths: Vec<usize>,
    /// The most bytes that are registered at once: they are pinned.
    most: usize,
    queue: Queue,
    /// The number of the process that made the ring. A child of fork(2) has the same ring.
    process: u32,
}

/// Number of slots for registered buffers.
const SLOTS: u16 = 64;

impl Ring {
    /// Makes a ring for up to `depth` simultaneous reads of a file that can be read directly, which
    /// registers buffers of at most `most` bytes in total. If buffers cannot be registered, it also
    /// returns the reason.
    ///
    /// # Errors
    /// The kernel's error: `io_uring` is not available or is forbidden, or there is not enough
    /// memory for it.
    pub(super) fn new(
        handles: Arc<Handles>,
        depth: u32,
        most: usize,
    ) -> io::Result<(Self, Option<io::Error>)> {
        let file = handles.direct.as_ref().ok_or(io::ErrorKind::Unsupported)?.as_fd().as_raw_fd();
        // Not COOP_TASKRUN: a read that one thread began would finish for another thread only after
        // the first thread enters the kernel.
        let ring = IoUring::builder().setup_clamp().build(depth)?;
        let is_registered = ring.submitter().register_files(&[file]).is_ok();
        let why = ring.submitter().register_buffers_sparse(SLOTS.into()).err();
        let slots = why.is_none().then(|| (0..SLOTS).collect());
        let lengths = vec![0; SLOTS.into()];
        let (queue, process) = (Queue::default(), std::process::id());
        let new = Self { ring, handles, file, is_registered, slots, lengths, most, queue, process };
        Ok((new, why))
    }

    /// Registers memory as a buffer, if it is not registered yet and there is room for it.
    ///
    /// # Errors
    /// An error of the kernel, such as more memory than may be locked.
    pub(super) fn register(&mut self, memory: &mut Memory) -> io::Result<()> {
        let all = self.lengths.iter().sum::<usize>().saturating_add(memory.len());
        let is_wanted = memory.slot.is_none() && all <= self.most;
        let slot = self.slots.as_mut().filter(|_| is_wanted).and_then(Vec::pop);
        let Some(slot) = slot else { return Ok(()) };
        let Some(target) = memory.target(0, memory.len()) else { return Ok(()) };
        let buffer = libc::iovec { iov_base: target.start.as_ptr().cast(), iov_len: target.len };
        // SAFETY: `register_buffers_update`: "the buffers must be valid until they are
        // unregistered": the kernel keeps the pages, and only `begin` makes reads that name them;
        // its callers promise that the memory lives.
        let done =
            unsafe { self.ring.submitter().register_buffers_update(slot.into(), &[buffer], None) };
        match done {
            Ok(()) => {
                memory.slot = Some(slot);
                self.note(slot, memory.len());
            }
            Err(_) => self.free([slot]),
        }
        done
    }

    /// Unregisters the buffers of these slots.
    pub(super) fn free(&mut self, slots: impl IntoIterator<Item = u16>) {
        for slot in slots {
            let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            // SAFETY: as above; there is no memory.
            let _ = unsafe {
                self.ring.submitter().register_buffers_update(slot.into(), &[nothing], None)
            }; // what stays registered is replaced by the next one, or goes with the ring
            self.slots.get_or_insert_default().push(slot);
            self.note(slot, 0);
        }
    }

    /// Notes the bytes that are registered in a slot.
    fn note(&mut self, slot: u16, len: usize) {
        if let Some(registered) = self.lengths.get_mut(usize::from(slot)) {
            *registered = len;
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
}

impl Kernel for Ring {
    fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    fn enter(&mut self, some: usize) -> io::Result<()> {
        let done = if some == 0 { self.ring.submit() } else { self.ring.submit_and_wait(some) };
        done.map(drop)
    }

    fn left(&mut self) -> usize {
        self.ring.submission().len()
    }

    fn reap(&mut self) -> Option<Completion> {
        let done = self.ring.completion().next()?;
        Some(Completion::new(done.user_data(), read_or_errno(done.result().into())))
    }

    fn settle(&mut self) {
        std::thread::yield_now(); // the kernel still completes what it took
    }
}

impl Engine for Ring {
    unsafe fn begin(&mut self, op: Op) {
        let entry = self.entry(&op);
        // SAFETY: `SubmissionQueue::push`: "the parameters of the entry (such as buffers) must be
        // valid and must live until the operation is completed": the caller's promise; the file is
        // in `handles`.
        let is_pushed =
            self.queue.is_open() && unsafe { self.ring.submission().push(&entry) }.is_ok();
        self.begun(&op, is_pushed);
    }

    fn wait(&mut self) -> Option<Completion> {
        self.next_done()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return; // the reads, their results and the registered file are those of the parent
        }
        while self.next_done().is_some() {}
        // Without this, the kernel would release what is registered long after the ring is closed,
        // and not before all forks have closed it: until then, the file system cannot be unmounted,
        // and the memory is pinned.
        if self.is_registered {
            let _ = self.ring.submitter().unregister_files();
        }
        if self.slots.is_some() {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("queue", &self.queue)
            .field("handles", &self.handles)
            .finish_non_exhaustive()
    }
}
