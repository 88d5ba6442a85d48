//! The checksum of HDF5's metadata: `lookup3` by Bob Jenkins, with the initial value 0.

/// The checksum of some bytes.
///
/// ```
/// assert_eq!(striae_core::hdf5::lookup3::lookup3(b""), 0xdead_beef);
/// assert_eq!(
///     striae_core::hdf5::lookup3::lookup3(b"Four score and seven years ago"),
///     0x1777_0551,
/// );
/// ```
#[must_use]
pub fn lookup3(bytes: &[u8]) -> u32 {
    let len = bytes.len() & 0xffff_ffff; // HDF5 passes a 32-bit length
    Sum::new(u32::try_from(len).unwrap_or(0)).finish(bytes)
}

/// The checksum of bytes that come in blocks. Their number is known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum([u32; 3]);

impl Sum {
    /// The bytes in a block.
    pub const BLOCK: u64 = 12;

    /// Starts the checksum of `len` bytes.
    #[must_use]
    pub const fn new(len: u32) -> Self {
        Self([0xdead_beef_u32.wrapping_add(len); 3])
    }

    fn add(&mut self, bytes: &[u8]) {
        for (sum, word) in self.0.iter_mut().zip(bytes.chunks(4)) {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            *sum = sum.wrapping_add(word);
        }
    }

    /// Adds a block. It must not be the last one, even if that is complete.
    pub fn block(&mut self, bytes: &[u8; 12]) {
        self.add(bytes);
        let Self([mut a, mut b, mut c]) = *self;
        for [turn_a, turn_b, turn_c] in [[4, 6, 8], [16, 19, 4]] {
            (a, c) = (a.wrapping_sub(c) ^ c.rotate_left(turn_a), c.wrapping_add(b));
            (b, a) = (b.wrapping_sub(a) ^ a.rotate_left(turn_b), a.wrapping_add(c));
            (c, b) = (c.wrapping_sub(b) ^ b.rotate_left(turn_c), b.wrapping_add(a));
        }
        *self = Self([a, b, c]);
    }

    /// The checksum, with the bytes that are left.
    #[must_use]
    pub fn finish(mut self, mut bytes: &[u8]) -> u32 {
        while let Some((block, rest)) = bytes.split_first_chunk().filter(|(_, r)| !r.is_empty()) {
            self.block(block);
            bytes = rest;
        }
        if !bytes.is_empty() {
            self.add(bytes);
            self.mix_last();
        }
        let Self([_, _, c]) = self;
        c
    }

    fn mix_last(&mut self) {
        let Self([mut a, mut b, mut c]) = *self;
        for (turn_c, turn_a, turn_b) in [(14, 11, 25), (16, 4, 14)] {
            c = (c ^ b).wrapping_sub(b.rotate_left(turn_c));
            a = (a ^ c).wrapping_sub(c.rotate_left(turn_a));
            b = (b ^ a).wrapping_sub(a.rotate_left(turn_b));
        }
        c = (c ^ b).wrapping_sub(b.rotate_left(24));
        *self = Self([a, b, c]);
    }
}
