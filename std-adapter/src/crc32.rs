//! CRC-32 with the help of the processor.

/// The CRC-32 of all bytes so far, as [`striae_core::integrity::crc32`] has it, with the
/// processor's help.
#[must_use]
pub fn crc32(previous: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(previous);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_checksums_are_the_same() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for cut in [0, 1, 7, 64, 500, 999, 1000] {
            let (front, back) = bytes.split_at(cut);
            let fast = super::crc32(super::crc32(0, front), back);
            assert_eq!(fast, striae_core::integrity::crc32(0, &bytes));
        }
    }
}
