//! The interface of the engines that execute reads.

use super::memory::ReadBuffer;
use rustix::io::Errno;

/// A read to execute.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    /// A number that is returned with the result.
    pub(super) token: u64,
    pub(super) offset: u64,
    pub(super) target: ReadBuffer,
    pub(super) how: How,
}

/// How a read is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Past the page cache, into the registered buffer of this number, if any.
    Direct(Option<u16>),
    /// Through the page cache, which drops the data at once.
    Uncached,
    /// Through the page cache.
    Buffered,
}

/// A finished read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) token: u64,
    /// Number of bytes that were read.
    pub(super) result: Result<usize, Errno>,
    /// Whether the engine has refused the read, and will refuse all others.
    pub(super) is_refused: bool,
}

impl Completion {
    pub(super) const fn new(token: u64, result: Result<usize, Errno>) -> Self {
        Self { token, result, is_refused: false }
    }

    pub(super) const fn refused(token: u64, errno: Errno) -> Self {
        Self { token, result: Err(errno), is_refused: true }
    }
}

/// Executes several reads at once. `wait` returns each read that was begun exactly once.
pub(super) trait Engine: Send {
    /// Begins a read.
    ///
    /// # Safety
    /// Until `wait` has returned the read, nobody else reads, writes or frees the target's memory.
    #[expect(unsafe_code, reason = "the memory is written to behind the caller's back")]
    unsafe fn begin(&mut self, op: Op);

    /// Waits for a finished read; `None` if no read is under way.
    fn wait(&mut self) -> Option<Completion>;
}

/// The result of a read from the kernel's number: its bytes, or an errno below zero.
pub(super) fn read_or_errno(said: i64) -> Result<usize, Errno> {
    match (usize::try_from(said), i32::try_from(said.saturating_neg())) {
        (Ok(read), _) => Ok(read),
        (Err(_), errno) => Err(errno.map_or(Errno::IO, Errno::from_raw_os_error)),
    }
}
