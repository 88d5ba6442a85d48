//! Checksums: CRC-32C, the one that processors compute, and the CRC-32 of zlib.

use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};

static CASTAGNOLI: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

static ZLIB: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Computes a CRC as [`crc32c`] and [`crc32`] do; an adapter may have a faster one.
pub type Checksum = fn(u32, &[u8]) -> u32;

/// The CRC-32C of all bytes so far: `previous` is that of the bytes in front of `bytes`, 0 if there
/// are none.
///
/// It is the CRC of iSCSI (RFC 3720) and ext4: polynomial 0x1EDC6F41, reflected, inverted at both
/// ends.
#[must_use]
pub fn crc32c(previous: u32, bytes: &[u8]) -> u32 {
    append(&CASTAGNOLI, previous, bytes)
}

/// The CRC-32 of all bytes so far, as [`crc32c`].
///
/// It is the CRC of zlib, gzip and Ethernet: polynomial 0x04C11DB7, reflected, inverted at both ends.
#[must_use]
pub fn crc32(previous: u32, bytes: &[u8]) -> u32 {
    append(&ZLIB, previous, bytes)
}

fn append(crc: &'static Crc<u32>, previous: u32, bytes: &[u8]) -> u32 {
    // The crate takes the register before its bits are reflected; the end inverted it.
    let mut digest = crc.digest_with_initial((!previous).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn it_goes_on_where_it_was() {
        for cut in 0..9 {
            let (front, back) = b"123456789".split_at(cut);
            assert_eq!(crc32c(crc32c(0, front), back), 0xe306_9283);
            assert_eq!(crc32(crc32(0, front), back), 0xcbf4_3926);
        }
    }
}
