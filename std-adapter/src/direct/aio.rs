//! Reads by Linux AIO: `io_setup(2)`, `io_submit(2)`, `io_getevents(2)`, `io_destroy(2)`.
#![expect(unsafe_code, reason = "the kernel writes to memory that a control block names")]

use super::engine::{Completion, Engine, Op, read_or_errno};
use super::handles::Handles;
use super::queue::{GATHERED, Kernel, Queue};
use libc::{c_long, c_ulong};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use striae_core::store::usize_to_u64;

/// `struct iocb` of `linux/aio_abi.h`. libc defines it only for glibc, without a way to make one.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Block {
    aio_data: u64,
    /// `aio_key`, which the kernel sets, and `aio_rw_flags`: in this order on little-endian hosts,
    /// and in the other order on big-endian hosts.
    key_and_flags: [u32; 2],
    aio_lio_opcode: u16,
    aio_reqprio: i16,
    aio_fildes: u32,
    aio_buf: u64,
    aio_nbytes: u64,
    aio_offset: i64,
    aio_reserved2: u64,
    aio_flags: u32,
    aio_resfd: u32,
}

/// `struct io_event` of `linux/aio_abi.h`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

const _: () = assert!(size_of::<Block>() == 64 && size_of::<Event>() == 32);
const _: () = assert!(std::mem::offset_of!(Block, aio_buf) == 24);

/// `IOCB_CMD_PREAD` of `linux/aio_abi.h`.
const PREAD: u16 = 0;

/// An AIO context, used by one thread at a time.
#[derive(Debug)]
pub(super) struct Aio {
    /// The context's number; `None` after it is destroyed.
    context: Option<c_ulong>,
    /// Keeps the file open.
    _handles: Arc<Handles>,
    file: u32,
    queue: Queue,
    /// Control blocks of the queued reads, oldest first.
    blocks: Vec<Block>,
    /// Tokens of the reads that the kernel has taken.
    taken: Vec<u64>,
    /// Memory for the kernel's events.
    events: Vec<Event>,
    done: VecDeque<Completion>,
    pace: Pace,
}

impl Aio {
    /// Makes a context for up to `depth` simultaneous reads of a file that can be read directly.
    ///
    /// # Errors
    /// The kernel's error: AIO is not available, one of its calls is forbidden, or the contexts of
    /// this machine have too many reads already (`/proc/sys/fs/aio-max-nr`).
    pub(super) fn new(handles: Arc<Handles>, depth: u32) -> io::Result<Self> {
        let file = handles.direct.as_ref().ok_or(io::ErrorKind::Unsupported)?.as_fd().as_raw_fd();
        let file = u32::try_from(file).map_err(io::Error::other)?;
        let mut context: c_ulong = 0;
        // SAFETY: io_setup(2): "ctx_idp must not point to an AIO context that already exists, and
        // must be initialized to 0 prior to the call. On successful creation of the AIO context,
        // *ctx_idp is filled in".
        let made =
            unsafe { libc::syscall(libc::SYS_io_setup, c_ulong::from(depth), &raw mut context) };
        returned(made)?;
        let events = vec![Event::default(); usize::try_from(depth).unwrap_or(1)];
        let mut aio = Self {
            context: Some(context),
            _handles: handles,
            file,
            queue: Queue::default(),
            blocks: Vec::new(),
            taken: Vec::new(),
            events,
            done: VecDeque::new(),
            pace: Pace::default(),
        };
        // These calls show whether a filter forbids them, before a read depends on them. No context
        // has the number 0.
        aio.submit_blocks()?;
        aio.get_events(0)?;
        match destroy(0) {
            Err(Errno::INVAL | Errno::FAULT) | Ok(()) => Ok(aio),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The pace of the latest reads, if they were finished during their submission.
    pub(super) fn take_blocking(&mut self) -> Option<Pace> {
        self.pace.is_blocking().then(|| std::mem::take(&mut self.pace))
    }

    fn context(&self) -> Result<c_ulong, Errno> {
        self.context.ok_or(Errno::NOSYS)
    }

    /// Submits the oldest queued reads to the kernel, which may take only some of them.
    fn submit_blocks(&mut self) -> Result<(), Errno> {
        let context = self.context()?;
        let mut pointers = [std::ptr::null_mut::<Block>(); GATHERED];
        let mut len: c_long = 0;
        for (pointer, block) in pointers.iter_mut().zip(&mut self.blocks) {
            *pointer = block;
            len = len.saturating_add(1);
        }
        let start = Instant::now();
        // SAFETY: io_submit(2): "iocbpp should be an array of nr AIO control blocks": the array has
        // `len` pointers to blocks. The kernel reads them, and writes their `aio_key`, only during
        // the call (fs/aio.c, io_submit_one: `copy_from_user`, `put_user`). "aio_buf is the buffer
        // used to transfer data": the caller of `begin` has promised that it lives until `wait`
        // returns the read, and the kernel is done with it by then.
        let said = unsafe {
            libc::syscall(libc::SYS_io_submit, context, len, pointers.as_mut_ptr().cast_const())
        };
        self.pace.submitted(start.elapsed());
        let taken = returned(said)?.min(self.blocks.len());
        self.taken.extend(self.blocks.drain(..taken).map(|block| block.aio_data));
        Ok(())
    }

    /// Waits until at least `some` of the submitted reads are done, or a signal comes.
    fn get_events(&mut self, some: usize) -> Result<(), Errno> {
        let context = self.context()?;
        let wanted = c_long::try_from(some).unwrap_or(c_long::MAX);
        let room = c_long::try_from(self.events.len()).unwrap_or(c_long::MAX);
        let (events, for_ever) = (self.events.as_mut_ptr(), std::ptr::null::<libc::timespec>());
        let start = Instant::now();
        // SAFETY: io_getevents(2): it reads "up to nr events", and `events` has room for `nr`;
        // "Specifying timeout as NULL means block indefinitely".
        let said = unsafe {
            libc::syscall(libc::SYS_io_getevents, context, wanted, room, events, for_ever)
        };
        let found = match returned(said) {
            Ok(found) => found,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(self.give_up(errno)),
        };
        self.pace.waited(start.elapsed(), self.taken.len(), found);
        for event in self.events.get(..found).unwrap_or_default() {
            if let Some(at) = self.taken.iter().position(|&token| token == event.data) {
                self.taken.swap_remove(at);
                self.done.push_back(Completion::new(event.data, read_or_errno(event.res)));
            }
        }
        Ok(())
    }

    /// Destroys the context, which waits for all submitted reads. Their results are lost: each read
    /// is reported as refused.
    fn give_up(&mut self, errno: Errno) -> Errno {
        self.destroy();
        self.done.extend(self.taken.drain(..).map(|token| Completion::refused(token, errno)));
        errno
    }

    /// Destroys the context. After this call, the kernel writes to no memory.
    fn destroy(&mut self) {
        let Some(context) = self.context.take() else { return };
        match destroy(context) {
            // EINVAL: "The AIO context specified by ctx_id is invalid", as in the child of fork(2).
            // The kernel does not write to the child's memory.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(_) if self.taken.is_empty() => {}
            // Not reached, unless a filter has begun to refuse the call: the kernel could write to
            // memory that has another owner by then.
            Err(_) => std::process::abort(),
        }
    }
}

/// Waits for all reads of a context and destroys it.
fn destroy(context: c_ulong) -> Result<(), Errno> {
    // SAFETY: io_destroy(2): it "will attempt to cancel all outstanding asynchronous I/O operations
    // against ctx_id, will block on the completion of all operations that could not be canceled,
    // and will destroy the ctx_id". It takes a number and no memory.
    returned(unsafe { libc::syscall(libc::SYS_io_destroy, context) }).map(drop)
}

/// The result of a system call, or its error.
fn returned(said: c_long) -> Result<usize, Errno> {
    let errno = || Errno::from_io_error(&io::Error::last_os_error());
    usize::try_from(said).map_err(|_| errno().unwrap_or(Errno::IO))
}

impl Kernel for Aio {
    fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    fn enter(&mut self, some: usize) -> io::Result<()> {
        if !self.blocks.is_empty() {
            match self.submit_blocks() {
                // "Insufficient resources are available": try again after some reads are done.
                Err(Errno::AGAIN) if some > 0 && !self.taken.is_empty() => {}
                done => done?,
            }
        }
        let some = some.min(self.taken.len());
        if some > 0 {
            self.get_events(some)?;
        }
        Ok(())
    }

    fn left(&mut self) -> usize {
        self.blocks.len()
    }

    fn reap(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    fn settle(&mut self) {
        let _ = self.get_events(1); // if that fails, all are done
    }
}

impl Engine for Aio {
    unsafe fn begin(&mut self, op: Op) {
        let is_pushed = self.queue.is_open();
        if is_pushed {
            self.blocks.push(Block {
                aio_data: op.token,
                aio_lio_opcode: PREAD,
                aio_fildes: self.file,
                aio_buf: usize_to_u64(op.target.start.as_ptr().expose_provenance()),
                aio_nbytes: usize_to_u64(op.target.len),
                aio_offset: op.offset.cast_signed(),
                ..Block::default()
            });
        }
        self.begun(&op, is_pushed);
    }

    fn wait(&mut self) -> Option<Completion> {
        self.next_done()
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        while self.next_done().is_some() {}
        self.destroy();
    }
}

/// Measures how long the submission of reads takes, and how long they take after it.
///
/// If a file system has no asynchronous reads, `io_submit` reads itself: each time, all submitted
/// reads are done at the first wait.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Time of the submissions since the last wait.
    latest: Duration,
    /// How many times in a row at least two reads were submitted and all of them were done at the
    /// first wait. The other fields sum up those times: the reads, the time of their submissions,
    /// and the time of the waits.
    times: u32,
    reads: usize,
    submitting: Duration,
    waiting: Duration,
}

impl Pace {
    /// Number of times in a row that counts as no coincidence.
    const TIMES: u32 = 8;

    pub(super) const fn submitted(&mut self, took: Duration) {
        self.latest = self.latest.saturating_add(took);
    }

    /// Notes a wait that took `took`, after which `done` of the `under_way` reads were done.
    pub(super) fn waited(&mut self, took: Duration, under_way: usize, done: usize) {
        let latest = std::mem::take(&mut self.latest);
        if under_way < 2 {
            return; // it tells nothing
        }
        if done < under_way {
            *self = Self::default();
            return;
        }
        self.times = self.times.saturating_add(1);
        self.reads = self.reads.saturating_add(done);
        self.submitting = self.submitting.saturating_add(latest);
        self.waiting = self.waiting.saturating_add(took);
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.times >= Self::TIMES && self.submitting > self.waiting
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { submitting, waiting, reads, .. } = self;
        write!(
            f,
            "io_submit makes reads one by one: {reads} took {submitting:?} there, and {waiting:?} \
             until they were done"
        )
    }
}
