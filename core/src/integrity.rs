//! Checksums: CRC-32C, for which many processors have an instruction, and the CRC-32 of zlib.

#[cfg(not(target_os = "none"))]
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc, Table};

/// How many bytes are taken at once. Each has a table of 1024 bytes, which a web page has to send,
/// and ESP-IDF to keep in flash.
#[cfg(not(target_os = "none"))]
const AT_ONCE: usize = if cfg!(any(target_family = "wasm", target_os = "espidf")) { 1 } else { 16 };

#[cfg(not(target_os = "none"))]
type Tables = Crc<u32, Table<AT_ONCE>>;

#[cfg(not(target_os = "none"))]
static CASTAGNOLI: Tables = Tables::new(&CRC_32_ISCSI);

#[cfg(not(target_os = "none"))]
static ZLIB: Tables = Tables::new(&CRC_32_ISO_HDLC);

// On a device, flash is dearer than time: its table has 64 bytes.
#[cfg(target_os = "none")]
use nibbles::{CASTAGNOLI, ZLIB, append};

/// A function that computes a CRC, with the arguments of [`crc32c`] and [`crc32`]. An adapter may
/// have a faster one.
pub type Checksum = fn(u32, &[u8]) -> u32;

/// The CRC-32C of all bytes so far. `previous` is the CRC-32C of the bytes before `bytes`; 0 if
/// there are none.
///
/// It is the CRC of iSCSI (RFC 3720) and ext4: polynomial 0x1EDC6F41, reflected, inverted at both
/// ends.
#[must_use]
#[cfg_attr(target_os = "none", inline(never))] // a device's code is small
pub fn crc32c(previous: u32, bytes: &[u8]) -> u32 {
    append(&CASTAGNOLI, previous, bytes)
}

/// The CRC-32 of all bytes so far. `previous` is the CRC-32 of the bytes before `bytes`; 0 if there
/// are none.
///
/// It is the CRC of zlib, gzip and Ethernet: polynomial 0x04C11DB7, reflected, inverted at both
/// ends.
#[must_use]
pub fn crc32(previous: u32, bytes: &[u8]) -> u32 {
    append(&ZLIB, previous, bytes)
}

#[cfg(not(target_os = "none"))]
fn append(crc: &'static Tables, previous: u32, bytes: &[u8]) -> u32 {
    // The crate takes the register before its bits are reflected; the end inverted it.
    let mut digest = crc.digest_with_initial((!previous).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

/// CRCs by half bytes.
#[cfg(any(test, target_os = "none"))]
mod nibbles {
    /// The CRCs of half bytes.
    pub(super) type Table = [u32; 16];

    pub(super) static CASTAGNOLI: Table = table(super::POLYNOMIAL);
    pub(super) static ZLIB: Table = table(0xedb8_8320);

    const fn table(polynomial: u32) -> Table {
        let (mut table, mut value) = ([0; 16], 0_u32);
        let mut places: &mut [u32] = &mut table;
        while let Some((place, others)) = places.split_first_mut() {
            let (mut crc, mut bits) = (value, 4_u32);
            while bits > 0 {
                crc = if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
                bits = bits.saturating_sub(1);
            }
            *place = crc;
            (places, value) = (others, value.saturating_add(1));
        }
        table
    }

    pub(super) fn append(table: &'static Table, previous: u32, bytes: &[u8]) -> u32 {
        let step = |crc: u32| {
            let [low, ..] = crc.to_le_bytes();
            table.get(usize::from(low & 0xF)).map_or(0, |&change| crc >> 4 ^ change)
        };
        let crc = bytes.iter().fold(!previous, |crc, &byte| step(step(crc ^ u32::from(byte))));
        !crc
    }
}

/// The CRC-32C of the bytes A followed by the bytes B. `a` is the CRC-32C of A, `b` of B; `len_b`
/// is the length of B in bytes.
///
/// The work is at most 128 multiplications of polynomials, for any length.
#[must_use]
pub const fn crc32c_combine(a: u32, b: u32, len_b: u64) -> u32 {
    shift(a, len_b) ^ b
}

/// The most bytes that [`wrong_bit`] accepts. Up to this length, so few of the 2^32 checksums
/// belong to one wrong bit that other damage is hardly ever mistaken for it.
pub const MAX_CORRECTED: usize = 1 << 16;

/// Finds the one wrong bit of `bytes`: the index of its byte, and the bit as a mask.
///
/// Inverting that bit makes the CRC-32C of `bytes`, which `checksum` computes, equal to `stored`.
/// `None` if no single bit does, if `stored` is already right, or if there are more than
/// [`MAX_CORRECTED`] bytes.
#[must_use]
pub fn wrong_bit(bytes: &[u8], stored: u32, checksum: Checksum) -> Option<(usize, u8)> {
    let wanted = checksum(0, bytes) ^ stored;
    if wanted == 0 || bytes.len() > MAX_CORRECTED {
        return None;
    }
    // A checksum's change does not depend on the other bits: it is that of zeros with one bit set.
    let zero = checksum(0, &[0]);
    let bits = [1, 2, 4, 8, 16, 32, 64, 128];
    let mut changes = bits.map(|bit| checksum(0, &[bit]) ^ zero);
    for at in (0..bytes.len()).rev() {
        if let Some((bit, _)) = bits.iter().zip(&changes).find(|(_, change)| **change == wanted) {
            return Some((at, *bit));
        }
        for change in &mut changes {
            *change = checksum(*change, &[0]) ^ zero;
        }
    }
    None
}

/// The CRC-32C of bytes that are written in parts, in any order and by several writers.
///
/// A CRC is linear: each part's CRC is shifted to its place, and the results are joined by an
/// exclusive or.
///
/// ```
/// use striae_core::integrity::{Crc32cParts, crc32c};
/// let (mut front, mut back) = (Crc32cParts::NONE, Crc32cParts::NONE);
/// back.add(crc32c(0, b"89"), 2, 0);
/// front.add(crc32c(0, b"1234567"), 7, 2);
/// assert_eq!(back.join(front).crc(9), crc32c(0, b"123456789"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Crc32cParts(u32);

impl Crc32cParts {
    /// No parts yet.
    pub const NONE: Self = Self(0);

    /// Adds a part of `len` bytes with the CRC-32C `crc`; `after` bytes follow it.
    pub const fn add(&mut self, crc: u32, len: u64, after: u64) {
        self.0 ^= shift(crc ^ zeros(len), after);
    }

    /// The parts of both together.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    /// The CRC-32C of all `len` bytes; bytes that are in no part count as zeros.
    #[must_use]
    pub const fn crc(self, len: u64) -> u32 {
        self.0 ^ zeros(len)
    }

    /// The parts as one number, for a message to another process. The numbers of two are joined by
    /// an exclusive or.
    #[must_use]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The parts from the number that [`word`](Self::word) returned.
    #[must_use]
    pub const fn from_word(word: u32) -> Self {
        Self(word)
    }
}

/// The CRC-32C of `len` zeros: the register is inverted at the start and at the end.
const fn zeros(len: u64) -> u32 {
    !shift(!0, len)
}

/// The polynomial 0x1EDC6F41, reflected: bit 31 stands for x^0.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `crc` moved `len` bytes to the front: multiplied by x^(8 len).
const fn shift(crc: u32, mut len: u64) -> u32 {
    let (mut result, mut power) = (crc, 1 << 23); // x^8
    while len != 0 {
        if len & 1 == 1 {
            result = multiply(power, result);
        }
        power = multiply(power, power);
        len >>= 1;
    }
    result
}

/// The product of two polynomials modulo [`POLYNOMIAL`].
const fn multiply(mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    while a != 0 {
        if a & 1 << 31 != 0 {
            product ^= b;
        }
        a <<= 1;
        b = if b & 1 == 1 { b >> 1 ^ POLYNOMIAL } else { b >> 1 };
    }
    product
}

#[cfg(test)]
#[allow(clippy::as_conversions, reason = "small numbers")]
mod tests {
    use super::*;

    #[test]
    fn two_crcs_combine_to_that_of_all_bytes() {
        let bytes: [u8; 300] = core::array::from_fn(|i| (i * 7 + i / 5) as u8);
        for cut in 0..=bytes.len() {
            let (front, back) = bytes.split_at(cut);
            let (a, b) = (crc32c(0, front), crc32c(0, back));
            assert_eq!(crc32c_combine(a, b, back.len() as u64), crc32c(0, &bytes));
        }
        // RFC 3720, B.4: so many zeros.
        assert_eq!(Crc32cParts::NONE.crc(32), 0x8a91_36aa);
        // x has order 2^31 - 1: a shift by as many bytes is none.
        assert_eq!(crc32c_combine(0x1234_5678, 0, (1 << 31) - 1), 0x1234_5678);
    }

    #[test]
    fn parts_are_joined_in_any_order() {
        let bytes: [u8; 97] = core::array::from_fn(|i| (i * i) as u8);
        let (mut a, mut b) = (Crc32cParts::NONE, Crc32cParts::NONE);
        for (i, part) in bytes.chunks(10).enumerate().rev() {
            let after = bytes.len() - 10 * i - part.len();
            let parts = if i % 3 == 0 { &mut a } else { &mut b };
            parts.add(crc32c(0, part), part.len() as u64, after as u64);
        }
        let b = Crc32cParts::from_word(b.word());
        assert_eq!(b.join(a).crc(97), crc32c(0, &bytes));
        assert_eq!(a.join(b), b.join(a));
    }

    #[test]
    fn it_is_the_crc_of_rfc_3720() {
        assert_eq!(crc32c(0, b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(0, &[0; 32]), 0x8a91_36aa); // RFC 3720, B.4
        assert_eq!(crc32c(0, &[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(0, b""), 0);
    }

    #[test]
    fn the_other_is_that_of_zlib() {
        assert_eq!(crc32(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(0, &[0; 8]), 0x6522_df69); // zlib.crc32(bytes(8))
        assert_eq!(crc32(0, b""), 0);
    }

    #[test]
    fn a_device_computes_the_same() {
        let bytes: [u8; 300] = core::array::from_fn(|i| (i * 11 + i / 3) as u8);
        for len in 0..bytes.len() {
            let bytes = &bytes[..len];
            assert_eq!(nibbles::append(&nibbles::CASTAGNOLI, 77, bytes), crc32c(77, bytes));
            assert_eq!(nibbles::append(&nibbles::ZLIB, 77, bytes), crc32(77, bytes));
        }
    }

    #[test]
    fn it_goes_on_where_it_was() {
        for cut in 0..9 {
            let (front, back) = b"123456789".split_at(cut);
            assert_eq!(crc32c(crc32c(0, front), back), 0xe306_9283);
            assert_eq!(crc32(crc32(0, front), back), 0xcbf4_3926);
        }
    }
}
