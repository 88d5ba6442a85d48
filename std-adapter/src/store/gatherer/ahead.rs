//! How far ahead a file is written with zeros.
//!
//! fdatasync(2) of a file that has grown makes the file system commit its journal, because the
//! length and the place of the new bytes must be durable, too. If zeros were written there before,
//! only the bytes must be. So a file with short commits grows in steps that are several commits
//! long.

/// Number of commits between two steps.
const COMMITS: u64 = 64;

/// Shortest and longest step, in bytes.
const STEP: std::ops::RangeInclusive<u64> = (1 << 16)..=(1 << 20);

/// Number of consecutive short commits after which more are expected.
const ENOUGH: u32 = 2;

/// The growth of a file from commit to commit.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Length at the last sync.
    synced: u64,
    /// Number of consecutive short commits.
    short: u32,
    step: u64,
}

impl Ahead {
    /// A new state for a file of `len` bytes.
    pub(super) const fn new(len: u64) -> Self {
        Self { synced: len, short: 0, step: 0 }
    }

    /// Records a sync of a file of `len` bytes.
    pub(super) fn synced(&mut self, len: u64) {
        let grown = len.saturating_sub(self.synced);
        self.synced = len;
        if grown == 0 {
            return; // of a header
        }
        let step = grown.saturating_mul(COMMITS);
        self.short = if step <= *STEP.end() { self.short.saturating_add(1) } else { 0 };
        self.step = if self.short < ENOUGH { 0 } else { step.max(*STEP.start()) };
    }

    /// Number of zeros to write after `end`, the end of the file.
    pub(super) fn behind(&self, end: u64) -> Option<usize> {
        let to = end.checked_add(self.step)?.checked_next_multiple_of(4096)?;
        usize::try_from(to.saturating_sub(end)).ok().filter(|_| self.step > 0)
    }

    /// Stops writing ahead, because there is no room.
    pub(super) const fn stop(&mut self) {
        (self.short, self.step) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_short_commits_grows_in_steps() {
        let mut ahead = Ahead::new(5000);
        for len in [5100, 5100, 5200] {
            assert_eq!(ahead.behind(len), None);
            ahead.synced(len);
        }
        assert_eq!(
            ahead.behind(5200),
            Some((5200 + (1_usize << 16)).next_multiple_of(4096) - 5200)
        );
        ahead.synced(5200 + 10_000);
        assert_eq!(ahead.behind(8192), Some((8192 + 640_000_usize).next_multiple_of(4096) - 8192));
        ahead.synced(1 << 20);
        assert_eq!(ahead.behind(1 << 20), None, "long commits");
        ahead.synced((1 << 20) + 1);
        ahead.synced((1 << 20) + 2);
        assert!(ahead.behind((1 << 20) + 2).is_some());
        ahead.stop();
        assert_eq!(ahead.behind((1 << 20) + 2), None);
    }
}
