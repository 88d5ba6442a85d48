//! The largest numbers that any call accepts, where no module of a format has a law about them
//! (`spec/limits.md`).

use striae_core::align::{Alignment, Rules};
use striae_core::field::FieldId;
use striae_core::gsd::{self, Attributes, layout};
use striae_core::hdf5::error::{Error as Hdf5Error, Feature};
use striae_core::hdf5::object::{MOST, Messages, PENDING};
use striae_core::integrity::{MAX_CORRECTED, crc32c, wrong_bit};
use striae_core::source::{Fault, Miss, Source};

#[test]
fn one_wrong_bit_is_found_in_at_most_65536_bytes() {
    for (len, found) in [(65_536, Some((65_535, 4))), (65_537, None)] {
        let right = crc32c(0, &vec![0; len]);
        let mut bytes = vec![0; len];
        bytes[65_535] = 4;
        assert_eq!(wrong_bit(&bytes, right, crc32c), found, "{len}");
    }
    assert_eq!(MAX_CORRECTED, 65_536);
}

/// Attributes that differ from the default in one number.
fn attributes(index_slots: u64, names_len: u64, align: u64) -> Attributes<'static> {
    Attributes { index_slots, names_len, align, ..Attributes::DEFAULT }
}

#[test]
fn a_new_gsd_file_has_blocks_of_bounded_length() {
    let refused = |field: FieldId, value: u64, max: u64, least: Result<u64, gsd::Error>| match least
    {
        Err(gsd::Error::OutOfRange { field: named, value: of, max: most, .. }) => {
            assert_eq!((named, of, most), (field, value, max));
        }
        other => panic!("{other:?}"),
    };
    use gsd::raw::Commit;
    attributes(1 << 40, 1, 1).least_len().unwrap();
    let (slots, list) = (1 << 40, (1 << 31) - 64); // a unit of 64 less, for gsd counts in i32
    refused(Commit::index_reserved, slots + 1, slots, attributes(slots + 1, 1, 1).least_len());
    attributes(1, list, 1).least_len().unwrap();
    refused(Commit::names_len, list + 1, list, attributes(1, list + 1, 1).least_len());
    attributes(1, 1, 1 << 30).least_len().unwrap();
    attributes(1, 1, 1 << 31).least_len().unwrap_err();
}

#[test]
fn an_index_is_padded_for_at_most_2_to_the_20_empty_frames() {
    let most = 1 << 20;
    assert_eq!(layout::padded(5, 5 + most, 1), 5 + most);
    assert_eq!(layout::padded(5, 6 + most, 1), 5);
    assert_eq!(layout::padded(5, u64::MAX, 7), 7);
}

#[test]
fn one_read_is_no_longer_than_linux_makes_it() {
    for align in [1, 512, 4096, 1 << 30] {
        let rules = Rules::new(Alignment::of(align), 1).unwrap();
        assert!(rules.max_io() <= 0x7FFF_F000 && rules.max_io().is_multiple_of(align), "{align}");
        assert!(rules.max_io() + align > 0x7FFF_F000, "{align}");
    }
}

/// An object header, version 1, with `count` continuations: each leads to an empty chunk.
fn continued(count: u64) -> Vec<u8> {
    let (head, message) = (16, 24);
    let chunks = head + count * message;
    let mut bytes = vec![1, 0];
    bytes.extend(u16::try_from(2 * count).unwrap().to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(u32::try_from(count * message).unwrap().to_le_bytes());
    bytes.extend([0; 4]);
    for number in 0..count {
        bytes.extend([16, 0, 16, 0, 0, 0, 0, 0]);
        bytes.extend((chunks + 8 * number).to_le_bytes());
        bytes.extend(8_u64.to_le_bytes());
    }
    bytes.extend(vec![0; usize::try_from(8 * count).unwrap()]); // messages of kind 0, without bytes
    bytes
}

#[test]
fn an_object_header_has_at_most_8_continuations_that_wait() {
    assert_eq!(PENDING, 8);
    for count in [1, 8, 9, 100] {
        let bytes = continued(count);
        let mut messages = Messages::open(&bytes[..], 0).unwrap();
        let end = loop {
            match messages.next(&bytes[..]) {
                Ok(Some(_)) => {}
                end => break end,
            }
        };
        match (count, end) {
            (..=8, Ok(None)) => {}
            (9.., Err(Fault::Format(Hdf5Error::Unsupported { feature, .. }))) => {
                assert_eq!(feature, Feature::Continuations);
            }
            (count, end) => panic!("{count}: {end:?}"),
        }
    }
}

/// Bytes of a file that claims a length, as one on a server can.
struct Claim<'a>(&'a [u8], u64);

impl Source for Claim<'_> {
    fn file_len(&self) -> u64 {
        self.1
    }

    fn some(&self, offset: u64, need: usize, want: u64) -> Result<&[u8], Miss> {
        self.0.some(offset, need, want)
    }
}

#[test]
fn a_ring_of_continuations_ends_whatever_length_the_file_claims() {
    assert_eq!(MOST, 1 << 26);
    // One continuation, to the chunk that has it.
    let mut bytes = continued(1);
    bytes[24..40].copy_from_slice(&[16_u64, 24].map(u64::to_le_bytes).concat());
    for len in [1 << 20, 1 << 26, 1 << 40, u64::MAX] {
        let file = Claim(&bytes, len);
        let mut messages = Messages::open(&file, 0).unwrap();
        let mut steps = 0_u64;
        let end = loop {
            match messages.advance(&file) {
                Ok(_) => steps += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(end, Fault::Format(Hdf5Error::Ring { offset: 16 }));
        // Each of 24 bytes takes two steps.
        assert!(steps <= len.min(MOST) / 12, "{len}: {steps}");
    }
}
