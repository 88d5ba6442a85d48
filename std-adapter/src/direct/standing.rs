//! The rung of a file, and the reasons for it.

use super::engine::How;
use crate::shown;
use rustix::io::Errno;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Whether the page cache may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// No: a file that cannot be read directly is refused.
    Required,
    /// Only if direct reading is not possible.
    #[default]
    Preferred,
    /// Always: the page cache is faster for data that are read again and again.
    Off,
}

/// How a file is read, the best way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// By `io_uring` with registered buffers and a registered file, past the page cache.
    Registered,
    /// By `io_uring`, past the page cache.
    Ring,
    /// By Linux AIO, past the page cache.
    Aio,
    /// By threads, past the page cache.
    Threads,
    /// By threads, through the page cache, which drops the data at once.
    Uncached,
    /// By threads, through the page cache.
    Buffered,
}

impl Rung {
    /// All rungs, the best first.
    pub const ALL: [Self; 6] =
        [Self::Registered, Self::Ring, Self::Aio, Self::Threads, Self::Uncached, Self::Buffered];

    /// Whether reads bypass the page cache.
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(self, Self::Registered | Self::Ring | Self::Aio | Self::Threads)
    }

    /// Whether a ring executes the reads.
    pub(super) const fn is_ring(self) -> bool {
        matches!(self, Self::Registered | Self::Ring)
    }

    /// How a read into memory of this slot is executed.
    pub(super) const fn how(self, slot: Option<u16>) -> How {
        match self {
            Self::Registered => How::Direct(slot),
            Self::Ring | Self::Aio | Self::Threads => How::Direct(None),
            Self::Uncached => How::Uncached,
            Self::Buffered => How::Buffered,
        }
    }

    /// The name of the rung in the program's output.
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

/// A step down from a rung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rung that was left.
    pub from: Rung,
    /// The refusal, as text.
    pub why: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}: {}", self.from, self.why)
    }
}

/// The rung of a file. All readers of the file step down together.
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

    /// Steps down from a rung that refused; returns whether the policy allows to continue.
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

    /// Whether an error means that this way of reading is not available, and not that a read
    /// failed.
    pub(super) const fn is_refusal(errno: Errno) -> bool {
        matches!(
            errno,
            Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::ACCESS
        )
    }
}
