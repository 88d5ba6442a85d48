//! How large an output may be: as the input that exists, not as its header says.
//!
//! Headers claim numbers. An output that is as large as they claim can fill a disk from a few
//! bytes, so its size is computed before its first byte is written, and is compared with
//! [`Demand::limit`].

/// The number of bytes of output for each byte of the input. More is needed only where fill values
/// stand for most elements of an array.
pub const FACTOR: u64 = 16;

/// What an output may always have.
pub const ROOM: u64 = 1 << 20;

/// The size of an output, and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The length of the output in bytes. What stays a hole in it counts, too.
    pub size: u64,
    /// The bytes of the input that exist: neither past its end nor in a hole. If the holes of an
    /// input become holes of the output, they may count as well.
    pub existing: u64,
    /// The bytes that the format adds: header, tables, and padding between what exists.
    pub own: u64,
}

impl Demand {
    /// The largest size that is written without being asked for:
    /// [`FACTOR`] * `existing` + `own` + [`ROOM`].
    #[must_use]
    pub const fn limit(&self) -> u64 {
        let of_input = self.existing.saturating_mul(FACTOR);
        of_input.saturating_add(self.own).saturating_add(ROOM)
    }

    /// Whether the size is at most the limit.
    #[must_use]
    pub const fn is_fair(&self) -> bool {
        self.size <= self.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_does_not_raise_the_limit() {
        let fair = |size, existing, own| Demand { size, existing, own }.is_fair();
        assert!(fair(0, 0, 0) && fair(ROOM, 0, 0) && !fair(ROOM + 1, 0, 0));
        assert!(fair(ROOM + 16 * 10 + 3, 10, 3) && !fair(ROOM + 16 * 10 + 4, 10, 3));
        assert!(!fair(1 << 40, 128, 0) && fair(u64::MAX, u64::MAX, 0));
    }
}
