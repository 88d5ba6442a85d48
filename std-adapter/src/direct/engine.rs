//! What executes reads.

use super::memory::Target;
use rustix::io::Errno;

/// A read to be done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    /// Comes back with the result.
    pub(super) token: u64,
    pub(super) offset: u64,
    pub(super) target: Target,
    pub(super) how: How,
}

/// How a read is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Past the page cache, into the registered buffer of this number if there is one.
    Direct(Option<u16>),
    /// Through the page cache, which is to drop it at once.
    Uncached,
    /// Through the page cache.
    Buffered,
}

/// A read that is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) token: u64,
    /// Bytes that were read.
    pub(super) result: Result<usize, Errno>,
    /// Whether the engine has refused to do it, and will refuse all others.
    pub(super) is_refused: bool,
}

impl Done {
    pub(super) const fn new(token: u64, result: Result<usize, Errno>) -> Self {
        Self { token, result, is_refused: false }
    }

    pub(super) const fn refused(token: u64, errno: Errno) -> Self {
        Self { token, result: Err(errno), is_refused: true }
    }
}

/// Executes reads, several at once. Each one that is begun is returned by `wait` once.
pub(super) trait Engine: Send {
    /// Begins a read.
    ///
    /// # Safety
    /// The target is memory that nobody else reads or writes, nor frees, until `wait` has returned
    /// the read.
    #[expect(unsafe_code, reason = "the memory is written to behind the caller's back")]
    unsafe fn begin(&mut self, op: Op);

    /// Waits for one that is done; `None` if none is under way.
    fn wait(&mut self) -> Option<Done>;
}

/// What a kernel says of a read: its bytes, or an errno below zero.
pub(super) fn read_or_errno(said: i64) -> Result<usize, Errno> {
    match (usize::try_from(said), i32::try_from(said.saturating_neg())) {
        (Ok(read), _) => Ok(read),
        (Err(_), errno) => Err(errno.map_or(Errno::IO, Errno::from_raw_os_error)),
    }
}
