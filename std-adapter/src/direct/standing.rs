//! On which rung a file stands, and why.

use super::engine::How;
use crate::shown;
use rustix::io::Errno;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Whether the page cache may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// A file that cannot be read directly is refused.
    Required,
    /// If need be.
    #[default]
    Preferred,
    /// Always: for what is read again and again, the page cache is faster.
    Off,
}

/// How a file is read, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// By `io_uring`, with registered buffers and file, past the page cache.
    Registered,
    /// By `io_uring`, past the page cache.
    Ring,
    /// By Linux AIO, past the page cache.
    Aio,
    /// By threads, past the page cache.
    Threads,
    /// By threads, through the page cache, which drops it at once.
    Uncached,
    /// By threads, through the page cache.
    Buffered,
}

impl Rung {
    /// All, the best first.
    pub const ALL: [Self; 6] =
        [Self::Registered, Self::Ring, Self::Aio, Self::Threads, Self::Uncached, Self::Buffered];

    /// Whether the page cache is passed by.
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(self, Self::Registered | Self::Ring | Self::Aio | Self::Threads)
    }

    /// Whether a ring does the reads.
    pub(super) const fn is_ring(self) -> bool {
        matches!(self, Self::Registered | Self::Ring)
    }

    /// How one read is made, into memory that has this slot.
    pub(super) const fn how(self, slot: Option<u16>) -> How {
        match self {
            Self::Registered => How::Direct(slot),
            Self::Ring | Self::Aio | Self::Threads => How::Direct(None),
            Self::Uncached => How::Uncached,
            Self::Buffered => How::Buffered,
        }
    }

    /// Its name, as the program prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registered => "io_uring with registered buffers",
            Self::Ring => "io_uring",
            Self::Aio => "Linux AIO",
            Self::Threads => "direct reads by threads",
            Self::Uncached => "uncached reads by threads",
            Self::Buffered => "buffered reads by threads",
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A step down the ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rung that was left.
    pub from: Rung,
    /// What was refused there.
    pub why: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}: {}", self.from, self.why)
    }
}

/// Where a file stands; all who read it step down together.
#[derive(Debug)]
pub(super) struct Standing {
    policy: Policy,
    dontcache: bool,
    inside: Mutex<(Rung, Vec<Step>)>,
}

impl Standing {
    pub(super) fn new(policy: Policy, dontcache: bool, top: Rung) -> Self {
        let standing = Self { policy, dontcache, inside: Mutex::new((top, Vec::new())) };
        if policy == Policy::Off {
            standing.inside().0 = standing.first_cached();
        }
        standing
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, (Rung, Vec<Step>)> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    const fn first_cached(&self) -> Rung {
        if self.dontcache { Rung::Uncached } else { Rung::Buffered }
    }

    pub(super) fn rung(&self) -> Rung {
        self.inside().0
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        self.inside().1.clone()
    }

    /// Leaves a rung that refused; whether the policy lets reading go on.
    pub(super) fn step_down(&self, path: &Path, from: Rung, why: &dyn fmt::Display) -> bool {
        let below = match from {
            Rung::Registered => Rung::Ring,
            Rung::Ring => Rung::Aio,
            Rung::Aio => Rung::Threads,
            Rung::Threads => self.first_cached(),
            Rung::Uncached => Rung::Buffered,
            Rung::Buffered => return false,
        };
        if self.policy == Policy::Required && !below.is_direct() {
            return false;
        }
        let mut inside = self.inside();
        if inside.0 < below {
            let step = Step { from, why: why.to_string() };
            inside.1.push(step.clone());
            inside.0 = below;
            drop(inside); // whoever logs may ask where the file stands
            log::warn!("{}: {step}; going on with {below}", shown::path(path));
        }
        true
    }

    /// Whether an error says that this way of reading is not to be had, and not that reading
    /// failed.
    pub(super) const fn is_refusal(errno: Errno) -> bool {
        matches!(
            errno,
            Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::ACCESS
        )
    }
}
