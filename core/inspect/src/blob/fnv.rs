//! The hash FNV-1a, of names and headers: it differs for most that differ.

/// The hash of some bytes so far.
pub(super) struct Fnv(pub(super) u64);

impl Fnv {
    /// The hash of a name.
    pub(super) fn of(name: &[u8]) -> u64 {
        let mut hash = Self::default();
        hash.add(name);
        hash.0
    }

    /// The hash of a number, which other bytes follow.
    pub(super) fn new(number: u64) -> Self {
        let mut hash = Self::default();
        hash.add(&number.to_be_bytes());
        hash
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}
