//! The walk finds each blob of a process-centric subfile, and refuses data that contradict it.

use super::layout::shares;
use core::num::NonZeroU32;
use proptest::prelude::*;
use striae_core::blob::layout::{Fixed, Share, maps_len, width_of_blob};
use striae_core::blob::walk::Data;
use striae_core::blob::{Error, Part, Walk};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};

const FIRST: u64 = 5;
const FIXED: Fixed = Fixed { first: 9, every: 4 };
const ELEMENTS: [u64; 2] = [3, 10];

/// The blobs as bytes after [`FIRST`] others, and where each one starts.
fn written(blobs: &[[Share; 2]], order: ByteOrder) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut starts) = (vec![0xee; FIRST as usize], vec![]);
    for (p, shares) in blobs.iter().enumerate() {
        starts.push(bytes.len() as u64);
        for share in shares {
            let (nreqs, start, count) =
                (share.nreqs as i32, share.start as i64, share.count as i64);
            match order {
                ByteOrder::Little => {
                    bytes.extend(nreqs.to_le_bytes());
                    bytes.extend([start, count].map(i64::to_le_bytes).concat());
                }
                ByteOrder::Big => {
                    bytes.extend(nreqs.to_be_bytes());
                    bytes.extend([start, count].map(i64::to_be_bytes).concat());
                }
            }
            bytes.extend(vec![0xaa; share.nreqs as usize * 8]);
        }
        let first = if p == 0 { FIXED.first } else { 0 };
        let len =
            first + FIXED.every + shares[0].count * ELEMENTS[0] + shares[1].count * ELEMENTS[1];
        bytes.extend(vec![0xbb; len as usize]);
    }
    (bytes, starts)
}

type Found = Result<(Vec<u64>, Vec<Share>), DriveError<(), Error>>;

fn walk(bytes: &[u8], blobs: &[[Share; 2]], order: ByteOrder) -> Found {
    let sum = |k: usize| blobs.iter().map(|shares| shares[k].count).sum();
    let most = |k: usize| blobs.iter().map(|shares| shares[k].nreqs).max().unwrap_or(0);
    let data = Data {
        span: Span::between(FIRST, bytes.len() as u64).unwrap(),
        order,
        fixed: FIXED,
        elements: &ELEMENTS,
        nelems: &[sum(0), sum(1)],
        max_nreqs: &[most(0), most(1)],
    };
    let (mut starts, mut found) = (vec![0; blobs.len()], vec![Share::default(); blobs.len() * 2]);
    let mut walk = Walk::new(data, &mut starts, &mut found).map_err(DriveError::Format)?;
    drive_read(&mut walk, bytes, &mut [0; 64]).map_err(|error| match error {
        DriveError::Format(error) => DriveError::Format(error),
        error => panic!("{error:?}"),
    })?;
    Ok((starts, found))
}

fn blobs() -> impl Strategy<Value = Vec<[Share; 2]>> {
    let share = prop_oneof![Just((0, 0)), (0_u64..9, 0_u64..4)];
    proptest::collection::vec([share.clone(), share], 1..6).prop_map(|counts| shares(&counts))
}

proptest! {
    #![proptest_config(crate::config(256))]

    #[test]
    fn each_blob_is_found(blobs in blobs(), big: bool) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let (bytes, starts) = written(&blobs, order);
        prop_assert_eq!(walk(&bytes, &blobs, order), Ok((starts, blobs.concat())));
    }

    #[test]
    fn data_that_are_cut_or_too_long_are_refused(blobs in blobs(), at: prop::sample::Index) {
        let (mut bytes, _) = written(&blobs, ByteOrder::Little);
        let cut = FIRST as usize + at.index(bytes.len() - FIRST as usize);
        let error = walk(&bytes[..cut], &blobs, ByteOrder::Little).unwrap_err();
        let is_cut = matches!(error, DriveError::Format(Error::Cut { .. }));
        prop_assert!(is_cut, "{:?}", error);
        let found = bytes.len() as u64 - FIRST;
        bytes.push(0);
        let error = Error::Blobs { found, data_len: found + 1 };
        let result = walk(&bytes, &blobs, ByteOrder::Little);
        prop_assert_eq!(result, Err(DriveError::Format(error)));
    }

    #[test]
    fn any_bytes_are_walked_or_refused(bytes: Vec<u8>, blobs in blobs()) {
        let bytes = [vec![0; FIRST as usize], bytes].concat();
        if let Ok((starts, found)) = walk(&bytes, &blobs, ByteOrder::Little) {
            let mut at = FIRST;
            for (p, row) in (0..).zip(found.chunks(2)) {
                prop_assert_eq!(starts[p as usize], at);
                at += maps_len(row).unwrap() + width_of_blob(FIXED, &ELEMENTS, p, row).unwrap();
            }
            prop_assert_eq!(at, bytes.len() as u64);
        }
    }
}

#[test]
fn a_wrong_number_is_named() {
    let blobs = shares(&[[(2, 1), (4, 2)], [(3, 1), (0, 0)]]);
    let (bytes, starts) = written(&blobs, ByteOrder::Little);
    let second = starts[1] as usize;
    let with = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        match walk(&bytes, &blobs, ByteOrder::Little) {
            Err(DriveError::Format(error)) => error.to_string(),
            result => panic!("{result:?}"),
        }
    };
    let nreqs = with(second, &(-1_i32).to_le_bytes());
    assert_eq!(nreqs, "D1.nreqs of blob 1 is -1, must be at least 0");
    assert_eq!(with(second, &2_i32.to_le_bytes()), "D1.nreqs of blob 1 is 2, must be at most 1");
    let start = with(second + 4, &3_i64.to_le_bytes());
    assert_eq!(start, "D1.blob_start of blob 1 is 3, must be 2");
    let count = with(second + 12, &4_i64.to_le_bytes());
    assert_eq!(count, "D1.blob_count of blob 1 is 4, must be at most 3");
    let count = with(second + 12, &i64::MIN.to_le_bytes());
    assert_eq!(count, format!("D1.blob_count of blob 1 is {}, must be at least 0", i64::MIN));
    assert!(Part::VARIABLES.contains(&Part::BlobCount));
}

#[test]
fn a_wrong_start_is_mended_by_the_counts_before_it() {
    let blobs = shares(&[[(2, 1), (4, 2)], [(3, 1), (0, 0)]]);
    let (mut bytes, starts) = written(&blobs, ByteOrder::Big);
    let place = starts[1] as usize + 4; // of D1.blob_start of blob 1
    bytes[place..place + 8].copy_from_slice(&(-5_i64).to_be_bytes());
    let data = Data {
        span: Span::between(FIRST, bytes.len() as u64).unwrap(),
        order: ByteOrder::Big,
        fixed: FIXED,
        elements: &ELEMENTS,
        nelems: &[5, 4],
        max_nreqs: &[1, 2],
    };
    let (mut found_starts, mut found) = ([0; 2], [Share::default(); 4]);
    let mut walk = Walk::new(data, &mut found_starts, &mut found).unwrap().mend();
    drive_read(&mut walk, &bytes[..], &mut [0; 64]).unwrap();
    let id = NonZeroU32::MIN;
    let error = Error::Negative { id, part: Part::BlobStart, blob: 1, value: -5 };
    assert_eq!(walk.mended(), Some(error));
    assert_eq!((found_starts.to_vec(), found.to_vec()), (starts, blobs.concat()));
}

#[test]
fn memory_of_another_size_is_refused() {
    let data = Data {
        span: Span::ZERO,
        order: ByteOrder::Little,
        fixed: Fixed::default(),
        elements: &ELEMENTS,
        nelems: &[0; 2],
        max_nreqs: &[0; 2],
    };
    for n in [0, 3, 5] {
        let error = Walk::new(data, &mut [0; 2], &mut vec![Share::default(); n]).err();
        assert_eq!(error, Some(Error::Memory { need: 4, room: n as u64 }));
    }
}

#[test]
fn numbers_that_contradict_the_header_are_refused() {
    let blobs = shares(&[[(3, 1), (2, 1)]]);
    let (bytes, _) = written(&blobs, ByteOrder::Little);
    let refused = |elements: [u64; 2], nelems: [u64; 2], max_nreqs: [u64; 2]| {
        let data = Data {
            span: Span::between(FIRST, bytes.len() as u64).unwrap(),
            order: ByteOrder::Little,
            fixed: FIXED,
            elements: &elements,
            nelems: &nelems,
            max_nreqs: &max_nreqs,
        };
        let (mut starts, mut found) = ([0], [Share::default(); 2]);
        let mut walk = Walk::new(data, &mut starts, &mut found).unwrap();
        match drive_read(&mut walk, &bytes[..], &mut [0; 64]) {
            Ok(()) => None,
            Err(DriveError::Format(error)) => Some(error),
            Err(error) => panic!("{error:?}"),
        }
    };
    let [one, two] = [1, 2].map(|id| NonZeroU32::new(id).unwrap());
    assert_eq!(refused(ELEMENTS, [3, 2], [1, 1]), None);
    assert_eq!(refused([u64::MAX, 10], [3, 2], [1, 1]), Some(Error::Size { blob: 0 }));
    let elements = Error::Elements { id: two, found: 2, nelems: 3 };
    assert_eq!(refused(ELEMENTS, [3, 3], [1, 1]), Some(elements));
    let too_large = Error::TooLarge { id: one, part: Part::Nreqs, blob: 0, value: 1, max: 0 };
    assert_eq!(refused(ELEMENTS, [3, 2], [0, 1]), Some(too_large));
}
