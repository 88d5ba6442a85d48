//! Which bit is wrong, if one is: a CRC-32C tells.

use crc32c::{crc32c, crc32c_append};

/// Most bytes that are looked at: of 2^32 checksums, so few are those of one wrong bit in them that
/// bytes that are wrong otherwise are hardly ever taken for such.
pub(super) const MAX_LEN: usize = 1 << 16;

/// The byte and the bit of `bytes` that must be inverted so that their CRC-32C is `stored`; `None` if
/// no single one does it, or they are right, or more than [`MAX_LEN`].
pub(super) fn wrong_bit(bytes: &[u8], stored: u32) -> Option<(usize, u32)> {
    let wanted = crc32c(bytes) ^ stored;
    if wanted == 0 || bytes.len() > MAX_LEN {
        return None;
    }
    // A checksum's change does not depend on the other bits: it is that of zeros with one bit set.
    let zero = crc32c(&[0]);
    let mut changes = [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| crc32c(&[1 << bit]) ^ zero);
    for at in (0..bytes.len()).rev() {
        if let Some(bit) = changes.iter().position(|&change| change == wanted) {
            return Some((at, u32::try_from(bit).unwrap_or(0)));
        }
        for change in &mut changes {
            *change = crc32c_append(*change, &[0]) ^ crc32c_append(0, &[0]);
        }
    }
    None
}

/// Inverts the wrong bit; whether there was one, and only one.
pub(super) fn correct(bytes: &mut [u8], stored: u32) -> bool {
    let Some((at, bit)) = wrong_bit(bytes, stored) else { return false };
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1_u8.checked_shl(bit).unwrap_or(0);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_is_found_wherever_it_is_and_two_are_not_taken_for_one() {
        let right: Vec<u8> = (0..400_u32).map(|i| i.wrapping_mul(31).to_le_bytes()[0]).collect();
        let stored = crc32c(&right);
        assert!(!correct(&mut right.clone(), stored));
        for at in 0..right.len() {
            for bit in 0..8 {
                let mut bytes = right.clone();
                bytes[at] ^= 1 << bit;
                let mut two = bytes.clone();
                assert!(correct(&mut bytes, stored));
                assert_eq!(bytes, right);
                two[(at + 7) % 400] ^= 1;
                assert!(!correct(&mut two, stored));
            }
        }
    }
}
