//! The costs of reading: time, processor time, page cache.
#![expect(unsafe_code, reason = "cachestat(2) has no wrapper")]

use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};
use striae::posix::PosixFile;
use striae_core::store::usize_to_u64;

/// The start of a measurement.
pub(super) struct Start {
    wall: Instant,
    cpu: Duration,
}

impl Start {
    pub(super) fn now() -> Self {
        Self { cpu: cpu(), wall: Instant::now() }
    }

    /// Elapsed time, and the processor time that all threads of the process used since the start.
    pub(super) fn passed(&self) -> (Duration, Duration) {
        (self.wall.elapsed(), cpu().saturating_sub(self.cpu))
    }
}

/// Processor time of the process: user and system, as in getrusage(2).
fn cpu() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(tv_sec), u32::try_from(tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

/// How the use of the page cache is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheBy {
    /// The cached bytes of the file.
    Cachestat,
    /// The cached bytes of all files.
    Meminfo,
}

impl CacheBy {
    /// `Cachestat` if the kernel has it.
    pub(super) fn of(file: &PosixFile) -> Self {
        if cachestat(raw(file)).is_some() { Self::Cachestat } else { Self::Meminfo }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cachestat => "cachestat",
            Self::Meminfo => "meminfo",
        }
    }

    /// Number of cached bytes; 0 if it is not known.
    pub(super) fn bytes(self, file: &PosixFile) -> u64 {
        match self {
            Self::Cachestat => {
                let page = usize_to_u64(rustix::param::page_size());
                cachestat(raw(file)).unwrap_or(0).saturating_mul(page)
            }
            Self::Meminfo => meminfo().unwrap_or(0),
        }
    }
}

/// Drops a file from the page cache, as far as the file system does that.
pub(super) fn drop_cached(file: &PosixFile) {
    // This is only advice; the page cache is measured afterwards.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// `Cached` of /proc/meminfo in bytes.
fn meminfo() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Cached:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(1024))
}

fn raw(file: &PosixFile) -> RawFd {
    use std::os::fd::AsFd;
    file.as_fd().as_raw_fd()
}

/// Number of cached pages of a file; `None` if the kernel cannot tell (before Linux 6.5).
fn cachestat(fd: RawFd) -> Option<u64> {
    /// The number of the system call. The oldest architectures use it for other calls.
    const NUMBER: libc::c_long = 451;
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        return None;
    }
    // struct cachestat_range: off, len (0: to the end). struct cachestat: nr_cache, nr_dirty,
    // nr_writeback, nr_evicted, nr_recently_evicted.
    let range: [u64; 2] = [0; 2];
    let mut stat: [u64; 5] = [0; 5];
    // SAFETY: cachestat(2) reads `range` and writes `stat`. Both are as long as its structures, and
    // it keeps no pointer to them.
    let done = unsafe { libc::syscall(NUMBER, fd, range.as_ptr(), stat.as_mut_ptr(), 0) };
    stat.first().copied().filter(|_| done == 0)
}
