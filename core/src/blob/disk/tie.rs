//! Ties: what makes a sealed subfile one of its set (`spec/blob.md#seals`).
//!
//! The identity of a set is made of what its writer has written: of the checksums of all blobs. So
//! two runs have different identities if they wrote different values, more records give another
//! identity, and many processes make the same one as one process does, without a clock or a random
//! number.

use crate::blob::raw::SealTie;
use zerocopy::big_endian::U32;

/// What a seal says of the set of its subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tie {
    /// The identity of the set with the records that the seal is of.
    pub set: [u8; 16],
    /// The number of the subfile.
    pub number: u32,
    /// The number of subfiles of the set.
    pub nsubfiles: u32,
}

impl Tie {
    /// The tie of a subfile of a set with these values.
    #[must_use]
    pub fn new(values: Fingerprint, number: u32, nsubfiles: u32) -> Self {
        let [first, second] = values.0;
        let set = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
        Self { set, number, nsubfiles }
    }

    /// The tie as it is stored.
    #[must_use]
    pub const fn stored(self) -> SealTie {
        SealTie {
            set: self.set,
            number: U32::new(self.number),
            nsubfiles: U32::new(self.nsubfiles),
        }
    }
}

impl From<&SealTie> for Tie {
    fn from(stored: &SealTie) -> Self {
        Self { set: stored.set, number: stored.number.get(), nsubfiles: stored.nsubfiles.get() }
    }
}

/// A number of 128 bits that tells what was written to a set from all else: that of each blob,
/// [joined](Self::join) in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// That of a blob: `sums` are the checksums of its canonical variables, over all records. The
    /// first blob of a subfile also has the checksum of the header; others pass 0.
    #[must_use]
    pub fn of_blob(
        (subfile, blob): (u32, u32),
        header_crc: u32,
        sums: impl IntoIterator<Item = u32>,
    ) -> Self {
        let place = u64::from(subfile) << 32 | u64::from(blob);
        let mut words = [mix(0x7374_7269_6165_2031, place), mix(0x7374_7269_6165_2032, place)];
        for sum in [header_crc].into_iter().chain(sums) {
            words = words.map(|word| mix(word, sum.into()));
        }
        Self(words.map(|word| mix(mix(word, 0), 0)))
    }

    /// That of two parts of a set.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a ^ c, b ^ d])
    }

    /// The words for a message to another process. Those of two parts are joined by an exclusive
    /// or.
    #[must_use]
    pub const fn words(self) -> [u64; 2] {
        self.0
    }

    /// The number of these [words](Self::words).
    #[must_use]
    pub const fn from_words(words: [u64; 2]) -> Self {
        Self(words)
    }
}

/// Adds a number to a word: one step of splitmix64, which is not linear, so that what two blobs
/// have in common is not lost when they are joined.
const fn mix(word: u64, number: u64) -> u64 {
    let sum = (word ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let first = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let second = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    second ^ (second >> 31)
}
