//! Any bytes.

use super::{format_error, golden_file, open};
use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::ffrecord::open::Open;
use striae_core::ffrecord::raw::Header;
use striae_core::ffrecord::{Error, Layout};
use striae_core::integrity::crc32;
use striae_core::step::{ReadMachine, ReadStep};
use striae_kit::ffrecord_opening::ffrecord_open;
use zerocopy::IntoBytes;

/// A file as ffrecord writes it.
fn made(samples: &[Vec<u8>]) -> Vec<u8> {
    let n = samples.len();
    let mut tables = i64::try_from(n).unwrap().to_le_bytes().to_vec();
    for sample in samples {
        tables.extend(crc32(0, sample).to_le_bytes());
    }
    let mut offset = 12 + 12 * n;
    for sample in samples {
        tables.extend(i64::try_from(offset).unwrap().to_le_bytes());
        offset += sample.len();
    }
    let mut file = crc32(0, &tables).to_le_bytes().to_vec();
    file.extend(tables);
    file.extend(samples.concat());
    file
}

/// Everything that can be wrong with it, as one error.
fn check_all(bytes: &[u8]) -> Result<(), Error> {
    let file = open(bytes)?;
    file.check_meta(&mut [0; 64], crc32).map_err(format_error)?;
    for sample in file.samples(0..file.n(), [0; 32]) {
        file.check(&sample.map_err(format_error)?, &mut [0; 64], crc32).map_err(format_error)?;
    }
    Ok(())
}

#[test]
fn every_cut_is_found_or_leaves_what_is_in_front_of_it() {
    for name in ["empty.ffr", "folder.ffr", "last_empty.ffr", "no_checksum.ffr"] {
        let whole = golden_file(name);
        for len in 0..whole.len().min(700) {
            let cut = &whole[..len];
            ffrecord_open(cut);
            assert!(check_all(cut).is_err(), "{name} cut at {len}");
        }
    }
}

#[test]
fn every_flipped_bit_is_found_if_the_tables_have_a_checksum() {
    for name in ["empty.ffr", "folder.ffr", "last_empty.ffr"] {
        let whole = golden_file(name);
        check_all(&whole).unwrap();
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << bit;
                ffrecord_open(&bytes);
                assert!(check_all(&bytes).is_err(), "{name}: bit {bit} of byte {place}");
            }
        }
    }
}

#[test]
fn a_number_of_samples_is_refused_unless_the_file_has_room_for_their_tables() {
    let most = 768_614_336_404_564_649_i64; // 12 + 12 most <= i64::MAX
    assert!(12 + 12 * i128::from(most) <= i64::MAX.into());
    assert!(12 + 12 * i128::from(most + 1) > i64::MAX.into());
    assert_eq!(Layout::MAX_SAMPLES, most.unsigned_abs());
    for (n, file_len, is_read) in [
        (0, 12, true),
        (1, 23, false),
        (1, 24, true),
        (-1, 1 << 20, false),
        (i64::MIN, u64::MAX, false),
        (i64::MAX, u64::MAX, false),
        (1 << 40, 1 << 40, false),
        (1 << 40, (12 << 40) + 11, false),
        (1 << 40, (12 << 40) + 12, true),
        (most, i64::MAX.unsigned_abs(), true),
        (most, u64::MAX, true),
        (most + 1, u64::MAX, false),
    ] {
        let header = Header { checksum_meta: 1.into(), n: n.into() };
        let mut open = Open::new(file_len);
        assert_eq!(open.poll(), ReadStep::Read { offset: 0, need: 12, want: 12 });
        match open.feed(header.as_bytes()) {
            Ok(()) => assert!(is_read, "{n} {file_len}"),
            Err(Error::TooSmall { value, min: 0, .. }) => assert!(value == n && n < 0),
            Err(Error::TooLarge { value, max, .. }) => {
                assert!(value == n && n > max && !is_read, "{n} {file_len}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_is_no_ffrecord_file_is_not_taken_for_one() {
    let consistent = |bytes: &[u8]| {
        open(bytes).is_ok_and(|file| file.is_consistent(&mut [0; 32], crc32).unwrap())
    };
    let zeros = vec![0; 4096];
    let ones: Vec<_> = [1u8, 0, 0, 0].repeat(64);
    // A version, then the length of a header, as many formats have them: 1 sample at offset 24.
    let header: Vec<_> =
        [7u64, 1 << 32, 24 << 32, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let like: Vec<u8> = [9u32, 1, 0, 5, 24, 0, 1, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert!(open(&like).is_ok_and(|file| file.sample(0, &mut [0; 16]).is_ok()));
    for foreign in [&b""[..], b"hello, world", &zeros[..12], &zeros, &ones, &header, &like] {
        assert!(!consistent(foreign), "{foreign:?}");
    }
    for dir in ["sion", "gsd"] {
        let dir = format!("{}/../tests/golden/{dir}", env!("CARGO_MANIFEST_DIR"));
        for file in std::fs::read_dir(dir).unwrap() {
            assert!(!consistent(&std::fs::read(file.unwrap().path()).unwrap()));
        }
    }
}

proptest! {
    #![proptest_config(crate::config(256))]

    #[test]
    fn samples_come_back_as_they_were_written(samples in vec(vec(any::<u8>(), 0..200), 0..40)) {
        let bytes = made(&samples);
        check_all(&bytes).unwrap();
        ffrecord_open(&bytes);
        let file = open(&bytes).unwrap();
        let found: Vec<_> = file.samples(0..file.n(), [0; 50]).map(|sample| {
            let mut bytes = vec![0; 200];
            let len = file.read(sample.unwrap().span, &mut bytes).unwrap();
            bytes.truncate(len);
            bytes
        }).collect();
        prop_assert_eq!(found, samples);
        prop_assert!(file.is_consistent(&mut [0; 48], crc32).unwrap());
    }

    #[test]
    fn any_tables_read_as_a_plain_reading_of_them(
        offsets in vec(-10i64..120, 0..8), crcs in vec(any::<u32>(), 8), tail in 0usize..100,
        meta in any::<bool>(),
    ) {
        let mut tables = i64::try_from(offsets.len()).unwrap().to_le_bytes().to_vec();
        tables.extend(crcs.iter().take(offsets.len()).flat_map(|crc| crc.to_le_bytes()));
        tables.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        let checksum = if meta { crc32(0, &tables) } else { 0 };
        let mut bytes = checksum.to_le_bytes().to_vec();
        bytes.extend(tables);
        bytes.resize(bytes.len() + tail, 7);
        ffrecord_open(&bytes);
    }

    #[test]
    fn any_bytes_read_as_a_plain_reading_of_them(bytes in vec(any::<u8>(), 0..100), n in 0u8..8) {
        ffrecord_open(&bytes);
        let mut bytes = bytes;
        if let Some(number) = bytes.get_mut(4..12) {
            number.copy_from_slice(&[n, 0, 0, 0, 0, 0, 0, 0]);
        }
        ffrecord_open(&bytes);
    }
}
